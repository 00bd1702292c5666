"""The conda blocks that people copied from the article: looked over for this computer and for a GPU machine over SSH."""

import json
from pathlib import Path

import pytest

from tests.ssh.conftest import attach_words

SEEDS = sorted((Path(__file__).parents[1] / "environments" / "seeds").glob("*.yml"))
GPU = {"name": "Tesla K80", "uuid": "GPU-1", "driver_version": "470.57", "memory.total": "11441 MiB"}
# What is wrong with each, on a GPU machine: the words of the finding that a newcomer must see.
WORDS = {
    "tensorflow": "no `tensorflow-gpu` for Python 3.5",
    "cntk": "cntk.ai",
    "one-bit": "1-bit",
}


@pytest.fixture
def my_dsvm(host, project, cli, jig_home):
    """Attached as the article says, with a GPU in what was found there."""
    said = cli(*attach_words(host, "--password", host.password, name="my_dsvm", kind="remote"))
    assert said.code == 0, said.err
    (facts,) = jig_home.glob("machines/*/facts.json")
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "gpus": [GPU]}))
    return "my_dsvm"


def test_every_block_is_looked_over(my_dsvm, project, cli, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nobody out there is asked
    assert len(SEEDS) == 15
    for seed in SEEDS:
        project.write("aml_config/conda_dependencies.yml", seed.read_bytes())
        for name in ("local", my_dsvm):
            said = cli("environment", "check", "-c", name, "-o", "json")
            found = said.json()
            wrong = [finding for finding in found if finding["severity"] == "error"]
            assert said.code == (1 if wrong else 0)
            text = json.dumps(found, ensure_ascii=False)
            kind = seed.stem.partition("-")[2]
            assert WORDS[kind] in text, (seed.name, name, text)
            assert all(finding["fix"] for finding in wrong), wrong
