"""A run in a container, made again: its packages and its base image."""

import json

from tests.containers.conftest import BASE, DONE
from tests.runner.wheels import make_wheel


def rows(told: dict) -> dict:
    return {row["what"]: (row["then"], row["now"], row["verdict"]) for row in told["rows"]}


def test_made_again_in_the_same_image(managed, cli, docker_host, jig_home, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_NO_CACHE", "1")
    base = "jig-test/moves:2"
    managed.docker.target(base, userManagedEnvironment=False)
    docker_host.docker("tag", BASE, base)
    try:
        said = cli("submit", "-c", "docker", "a.py")
        assert DONE in said.out, said.out + said.err
        had = json.loads((jig_home / "runs" / said.run_id / "environment.json").read_text())
        base_id = docker_host.docker("image", "inspect", "--format", "{{.Id}}", base).strip()
        assert had["pip"] == ["alpha==1.0"] and had["base"]["id"] == base_id and had["base"]["name"] == base
        make_wheel(tmp_path / "wheels", "alpha", "1.1")
        told = cli("experiment", "reproduce", "-r", said.run_id, "-o", "json").json()
        found = rows(told)
        assert found["packages"] == ("1", "1", "same")
        assert found["base image"] == (base_id[:19], base_id[:19], "same")
        assert cli("logs", "-f", told["run_id"]).out.startswith("1.0 ")
        docker_host.docker("tag", "jig-test/conda:1", base)
        told = cli("experiment", "reproduce", "-r", said.run_id, "-o", "json").json()
        found = rows(told)
        assert found["base image"][2] == "different" and found["base image"][0] == base_id[:19]
        assert found["packages"][2] == "same"
        assert cli("logs", "-f", told["run_id"]).code == 0
    finally:
        docker_host.docker("rmi", base)
