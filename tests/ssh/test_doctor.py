"""`jig doctor` of a machine over SSH: in one round trip, as the person who logs in there, by that machine's clock."""

import json

import pytest

from tests.engines.box import DockerBox


@pytest.fixture
def gpu_box(box):
    """The machine has a driver with two devices."""
    box.driver = DockerBox(box.host).install_driver()
    return box


def finding(said, what: str) -> "dict[str, str]":
    (found,) = [found for found in said.json() if found["what"] == what]
    return found


def test_one_round_trip(gpu_box, cli, jig_home):
    before = gpu_box.host.commands()
    said = cli("doctor", "-c", "box", "-o", "json")
    assert said.code == 0, said.out + said.err
    assert gpu_box.host.commands() == before + 1
    assert finding(said, "NVIDIA driver")["found"] == "535.1, which serves CUDA up to 12.2"
    assert finding(said, "GPU 1")["found"] == "Pretended K80, compute capability 3.7, 11.2 GiB of 11.2 GiB free"
    assert finding(said, "clock") == {
        "what": "clock", "found": "as here", "status": "ok", "fix": "", "only_gpu": False
    }  # fmt: skip
    (place,) = jig_home.glob("machines/*/facts.json")
    assert [gpu["driver_version"] for gpu in json.loads(place.read_text())["gpus"]] == ["535.1", "535.1"]


def test_devices_that_are_for_a_group(gpu_box, cli):
    gpu_box.host.add_group("video", 44)
    gpu_box.host.run("chgrp 44 /dev/nvidia*; chmod 660 /dev/nvidia0 /dev/nvidia1", user="root").check_returncode()
    said = cli("doctor", "-c", "box", "-o", "json")
    assert said.code == 1
    found = finding(said, "permissions")
    assert found["found"] == "this user may not open /dev/nvidia0 and /dev/nvidia1 (group video, mode 0660)"
    assert found["fix"].startswith("`sudo usermod -aG video $USER` there, then log in again")


def test_a_clock_that_is_wrong(gpu_box, cli, client):
    client.hang_up()
    gpu_box.host.set_clock("-3h")
    said = cli("doctor", "-c", "box", "-o", "json")
    assert said.code == 0, "a GPU run would work"
    found = finding(said, "clock")
    assert found["status"] == "warn" and found["found"].startswith("3 h behind this computer's: ")
    assert found["fix"] == "`sudo timedatectl set-ntp true` on the machine that is wrong"


def test_a_jig_home_that_cannot_be_written(gpu_box, project, cli):
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text() + "jigHome: /usr/jig\n")
    said = cli("doctor", "-c", "box", "-o", "json")
    assert said.code == 1
    assert finding(said, "disk")["found"] == "/usr/jig cannot be written"
    checked = cli("computetarget", "check", "box")
    assert checked.code == 1 and checked.out.endswith("a GPU run would not work here: disk\n")
