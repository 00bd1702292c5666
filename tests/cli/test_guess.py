"""Words that are no commands: what the hint says was meant."""

import pytest

from jig.cli import guess


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("compare", "jig history compare"),
        ("export", "jig history export"),
        ("delete", "jig history delete or jig asset delete or jig runconfiguration delete"),
        ("run", "jig submit"),
        ("ls", "jig history list"),
        ("kill", "jig cancel"),
        ("init", "jig project create"),
        ("sumbit", "submit"),
        ("histroy list", "history"),
        ("history ls", "list"),
        ("history rm", "delete"),
        ("history show", "info"),
        ("computetarget add", "attach"),
        ("computetarget rm", "detach"),
        ("experiment lgos", "logs"),
    ],
)
def test_what_was_meant(cli, words, meant):
    said = cli(*words.split())
    assert said.code == 2 and f"hint: did you mean {meant}?\n" in said.err


def test_nothing_like_it(cli):
    assert "hint: usage: jig COMMAND [options]\n" in cli("xylophone").err


@pytest.mark.parametrize("meant", sorted(set(guess.ELSEWHERE.values())))
def test_what_is_named_exists(cli, meant):
    assert cli(*meant.split(), "--help").code == 0
