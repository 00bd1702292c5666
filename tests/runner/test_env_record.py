"""What an environment has, package by package: read off what uv prints, written down, handed to runs."""

import errno
import json
import os

import pytest

from jig.runner import env_record
from jig.runner.uv_output import Said


def quiet(text: str) -> None:
    pass


def test_what_uv_installed():
    said = Said(quiet, quiet)
    said.hear(
        b"Resolved 3 packages in 1ms\nInstalled 3 packages in 2ms\n + alpha==1.0\n ~ beta==2.0+cpu\n - gamma==1.0\n"
    )
    said.hear(b" + delta==3.0 (from https://user:hush@example.com/delta-3.0.whl?token=hush)\n + half")
    assert said.installed == [
        "alpha==1.0",
        "beta==2.0+cpu",
        "delta==3.0 (from https://***@example.com/delta-3.0.whl?***)",
    ]


@pytest.mark.parametrize("records", [[], [{"name": "zlib", "odd": '"conda": []'}, {"name": "x"}]])
def test_the_record_is_json(records):
    told = {"kind": "conda", "base": {"name": '"conda": []'}}
    text = env_record.make(told, "Linux", ["b==1", "a==2"], records)
    found = json.loads(text)
    assert found.pop("built") > 1e9
    assert found == {**told, "platform": "Linux", "pip": ["a==2", "b==1"], "conda": records}
    assert text.count("\n") == len(found) + 3 + (len(records) + 1 if records else 0)


def test_a_run_gets_a_second_name_of_it(tmp_path):
    place = tmp_path / "packages.json"
    place.write_text("{}")
    (tmp_path / "run").mkdir()
    env_record.keep(str(place), str(tmp_path / "run"))
    assert os.path.samefile(place, tmp_path / "run/environment.json")
    env_record.keep(str(tmp_path / "nothing"), str(tmp_path))
    assert not (tmp_path / "environment.json").exists()


def test_on_another_disk_a_copy(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr(os, "link", refuse)
    place = tmp_path / "packages.json"
    place.write_text('{"pip": []}')
    (tmp_path / "run").mkdir()
    env_record.keep(str(place), str(tmp_path / "run"))
    assert env_record.read(str(tmp_path / "run/environment.json")) == {"pip": []}
    assert os.listdir(tmp_path / "run") == ["environment.json"]


def test_a_torn_one_is_none(tmp_path):
    (tmp_path / "a").write_text('{"pip": [')
    (tmp_path / "b").write_text("[]")
    assert [env_record.read(str(tmp_path / name)) for name in "abc"] == [{}, {}, {}]
