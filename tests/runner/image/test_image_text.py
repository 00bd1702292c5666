"""What a person reads of how an image is made, and that the Dockerfile makes it, with either builder."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jig.environments.uv import find_uv
from jig.runner.image_text import UV_IMAGE, commands, dockerfile
from tests.engines.small_images import import_files
from tests.runner.image.machine import PYTHON, ImageMachine, wanted
from tests.runner.wheels import make_wheel, serve

BOX = {"base": "python:3.11", "gpus": ""}


def conda(*requirements: str, **more: Any) -> dict[str, Any]:
    channels = ["https://u:pw@h.example/t/tok/main", "https://conda.example/forge"]
    return wanted(*requirements, kind="conda", channels=channels, **{"packages": ["python=3.11", "numpy"], **more})


@pytest.fixture
def uv_image(machine: ImageMachine) -> Iterator[None]:
    """The image that uv's authors offer, made here."""
    import_files(machine.engine, UV_IMAGE, {"uv": Path(str(find_uv())).read_bytes()})
    yield
    machine.engine.docker("rmi", UV_IMAGE)


@pytest.mark.parametrize("buildkit", ["0", "1"], ids=["classic", "buildkit"])
def test_the_dockerfile_makes_the_same(
    machine: ImageMachine, uv_image: None, tmp_path: Path, buildkit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = tmp_path / "context"
    own = make_wheel(context, "own", "3.0", requires=("alpha",))
    with serve(machine.wheels) as index:
        lines = ("alpha==1.0; python_version >= '3'", f"own @ {{files}}/{'0' * 64}/{own.name}")
        request = wanted(*lines, options=(f"--index-url {index.url}/simple",), python=">=3.6")
        (context / "Dockerfile").write_text(dockerfile({"base": PYTHON}, request))
        command = ["docker", "build", "--network", "host", "--tag", "jig-test/dockerfile:1", str(context)]
        env = {**os.environ, "DOCKER_BUILDKIT": buildkit, "PATH": f"/usr/bin:{os.environ['PATH']}"}
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
        )
    assert done.returncode == 0, done.stdout
    try:
        words = ("run", "--rm", "--network", "none", "jig-test/dockerfile:1", "/azureml-envs/env/bin/python", "-c")
        code = "import alpha, own, sys; print(alpha.VERSION, own.VERSION, sys.prefix)"
        assert machine.engine.docker(*words, code) == "1.0 3.0 /azureml-envs/env\n"
    finally:
        machine.engine.docker("rmi", "jig-test/dockerfile:1")


def test_the_dockerfile_of_pip_packages() -> None:
    request = wanted(
        "numpy==2.1.3", "x @ https://me:pw@h.example/x.whl?t=1", options=("--index-url https://u:p@i.example/simple",)
    )
    assert dockerfile(BOX, request) == (
        "# Put in what is left out, where *** stands, by a secret of the builder.\n"
        "FROM python:3.11\n"
        "USER root\n"
        "COPY --from=ghcr.io/astral-sh/uv:latest /uv /usr/local/bin/uv\n"
        "RUN UV_PYTHON_INSTALL_DIR=/azureml-envs/python uv venv /azureml-envs/env \\\n"
        " && printf '%s\\n' \\\n"
        "    '--index-url https://***@i.example/simple' \\\n"
        "    'numpy==2.1.3' \\\n"
        "    'x @ https://***@h.example/x.whl?***' > /tmp/requirements.txt \\\n"
        " && uv pip install --no-cache --python /azureml-envs/env/bin/python -r /tmp/requirements.txt \\\n"
        " && rm /tmp/requirements.txt\n"
        'CMD ["/azureml-envs/env/bin/python"]\n'
    )


def test_the_dockerfile_of_conda_packages() -> None:
    assert dockerfile(BOX, conda("six")) == (
        "# Put in what is left out, where *** stands, by a secret of the builder.\n"
        "FROM python:3.11\n"
        "USER root\n"
        "COPY --from=mambaorg/micromamba:latest /bin/micromamba /usr/local/bin/micromamba\n"
        "RUN micromamba create --yes --override-channels --prefix /azureml-envs/env \\\n"
        "    --channel 'https://***@h.example/t/***/main' \\\n"
        "    --channel 'https://conda.example/forge' \\\n"
        "    'python=3.11' \\\n"
        "    'numpy' \\\n"
        " && micromamba clean --all --yes\n"
        "COPY --from=ghcr.io/astral-sh/uv:latest /uv /usr/local/bin/uv\n"
        "RUN printf '%s\\n' \\\n"
        "    'six' > /tmp/requirements.txt \\\n"
        " && uv pip install --no-cache --python /azureml-envs/env/bin/python -r /tmp/requirements.txt \\\n"
        " && rm /tmp/requirements.txt\n"
        'CMD ["/azureml-envs/env/bin/python"]\n'
    )


def test_the_dockerfile_of_an_old_python() -> None:
    text = dockerfile(BOX, conda("six", packages=["python=3.5.2"]))
    assert "    'python=3.5.2' \\\n    'pip' \\\n" in text and " -m pip install --no-cache-dir -r " in text
    assert "uv" not in text
    assert "RUN printf" not in dockerfile(BOX, conda())


def test_the_dockerfile_of_a_python_that_is_there() -> None:
    assert dockerfile(BOX, {**wanted(), "kind": "user"}) == "FROM python:3.11\n"


def test_the_commands() -> None:
    name, place = "jig-build-{tag}-…", "/azureml-envs/{tag}"
    labels = (
        "'LABEL jig.base={base} jig.build= jig.environment=ab12 jig.home={key} jig.packages={packages} "
        "jig.python=/azureml-envs/{tag}/bin/python jig.python.version={version}'"
    )
    shell = "'{ while IFS= read -r line; do printf '\"'\"'%s\\n'\"'\"' \"$line\"; done; [ $$ = 1 ] && kill -9 -1; } | /bin/sh'"
    assert [(when, " ".join(argv)) for when, argv in commands(BOX, wanted("numpy", python="3.11"))] == [
        ("to look", "docker image inspect --format '{{json .}}' python:3.11 jig-env:{tag}"),
        ("if it is missing", "docker pull python:3.11"),
        (
            "if not built",
            f"docker create --interactive --name {name} --log-driver none --user {{uid}}:{{gid}} --label jig.build={{tag}} "
            "--label jig.home={key} --tmpfs /jig --mount type=bind,src={build},dst=/jig/build "
            "--mount type=bind,src={uv},dst=/jig/uv,readonly --mount type=bind,src={downloads},dst=/jig/cache "
            f"--network=host --entrypoint '' python:3.11 /bin/sh -c {shell}",
        ),
        ("", f"docker start --attach --interactive {name}"),
        ("", f"  its shell: /jig/uv venv --python=3.11 {place}"),
        ("", f"  its shell: /jig/uv pip install --python {place}/bin/python -r /jig/build/requirements.txt"),
        (
            "",
            f"docker commit --message 'jig environment ab12' --change {labels} --change 'USER root' "
            f"--change 'CMD [\"{place}/bin/python\"]' {name} jig-env:{{tag}}",
        ),
        ("", f"docker rm --force --volumes {name}"),
    ]
    assert [argv[-1] for _, argv in commands(BOX, {**wanted(), "kind": "user"})] == ["python:3.11", "python:3.11"]
    assert f"  its shell: cp -a /jig/build{place} {place}" in [" ".join(argv) for _, argv in commands(BOX, conda())]
