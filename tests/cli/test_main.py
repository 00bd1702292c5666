import json
import os
import signal
import subprocess
import sys

import pytest

import jig
import jig.cli
from jig.cli import ALIASES, NOUNS, SECTIONS, SHORT, find, load, main
from jig.cli.grammar import Command, Group


@pytest.fixture
def said(sample_noun, capsys):
    """Run a command line in this process: its exit code, stdout and stderr."""

    def run(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_version(said):
    assert said("--version") == (0, f"jig {jig.__version__}\n", "")


def test_a_noun_and_its_short_form_are_the_same_command(sample_noun):
    for short, (noun, verb) in SHORT.items():
        command = find([short]).node
        assert isinstance(command, Command)
        assert command is find([noun, verb]).node


def test_every_noun_is_a_group_of_its_name():
    for noun in NOUNS:
        group = load(noun)
        assert isinstance(group, Group)
        assert group.name == noun
    for alias, noun in ALIASES.items():
        assert find([alias]).node is load(noun)


def test_the_overview_has_each_command_once():
    shown = [name for _, names in SECTIONS for name in names]
    assert sorted(shown) == sorted([*NOUNS, *SHORT])


def test_the_overview_names_every_verb(said):
    code, out, err = said("--help")
    assert (code, err) == (0, "")
    words = out.replace(",", " ").replace("(", " ").replace(")", " ").split()
    for noun in jig.cli.NOUNS:
        if noun != "sample":
            assert {noun, *(member.name for member in load(noun).commands)} <= set(words)
    assert said("help")[1] == said("-h")[1] == out


def test_running_a_command(said):
    code, out, err = said("sample", "submit", "-c", "my name", "--tag", "a", "x.py", "--verbose", "-c", "y")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "configuration": "my name", "target": "local", "tags": ["a"], "background": False, "template": None,
        "verbose": False, "script": ["x.py", "--verbose", "-c", "y"],
    }  # fmt: skip
    assert said("go", "-c", "my name", "--tag", "a", "x.py", "--verbose", "-c", "y") == (0, out, "")


def test_common_options_may_stand_before_the_command(said):
    assert json.loads(said("--verbose", "sample", "--debug", "submit")[1])["verbose"] is True


def test_nested_groups_and_their_aliases(said):
    assert said("sample", "parts", "list", "-o", "tsv") == (0, "a b\t1.5\né\t\n", "")
    assert said("sample", "part", "list", "-o", "tsv", "--query", "[0].size") == (0, "1.5\n", "")


def test_the_exit_code_is_the_commands(said):
    assert said("sample", "fail", "code") == (7, "", "")


def test_an_error_is_told_with_its_hint(said):
    assert said("sample", "fail", "jig") == (
        125, "", "error: the thing \\x1b[31mbroke\n  at line 2\n\nhint: mend it\n",
    )  # fmt: skip
    assert said("sample", "fail", "bare") == (125, "", "error: no hint here\n")
    assert said("sample", "fail", "usage") == (2, "", "error: that was wrong\n\nhint: do it right\n")


def test_debug_adds_the_traceback(said):
    code, out, err = said("sample", "fail", "jig", "--debug")
    assert (code, out) == (125, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert "in _fail\n" in err
    assert err.endswith("\nerror: the thing \\x1b[31mbroke\n  at line 2\n\nhint: mend it\n")


def test_a_bug_keeps_its_traceback(said):
    with pytest.raises(ZeroDivisionError, match="a bug: other"):
        said("sample", "fail", "other")


def test_a_broken_pipe_that_is_not_the_output_is_a_bug(said):
    with pytest.raises(BrokenPipeError):
        said("sample", "fail", "pipe")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["sampel", "list"], "there is no command jig sampel; the commands are ", "did you mean sample?"),
        (["submti"], "there is no command jig submti; the commands are ", "did you mean submit?"),
        (["attach", "remote"], "there is no command jig attach; the commands are ",
            "did you mean jig computetarget attach?\nusage: jig COMMAND [options]"),
        (["sample", "lits"], "there is no command jig sample lits; the commands are submit, list, fail, delete, part",
            "did you mean list?\nusage: jig sample COMMAND [options]"),
        (["sample", "part", "x\x1b"], "there is no command jig sample part x\\x1b; the commands are list",
            "usage: jig sample part COMMAND [options]"),
        (["--versoin"], "there is no option jig --versoin; the commands are ", "usage: jig COMMAND [options]"),
        (["sample", "-x", "list"], "there is no option jig sample -x; ", "usage: jig sample COMMAND [options]"),
        (["sample", "list", "--outptu=x"], "there is no option --outptu\n",
            "did you mean --output?\nusage: jig sample list [options]"),
        (["sample", "list", "-o", "jsno"],
            "-o cannot be 'jsno'; it is one of json, jsonc, table, tsv, yaml\n",
            "did you mean json?\nusage: jig sample list [options]"),
        (["help", "nothing-like-it"], "there is no command jig nothing-like-it; ", "usage: jig COMMAND [options]"),
    ],
)  # fmt: skip
def test_a_word_that_leads_nowhere(said, words, message, hint):
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert err.startswith("error: " + message)
    assert f"\n\nhint: {hint}" in err


def test_a_command_line_that_stops_short(said):
    code, out, err = said("sample")
    assert (code, out) == (2, "")
    assert err == said("sample", "--help")[1]
    assert said()[::2] == (2, said("--help")[1])


def run(program, words, environment, **wish):
    wish.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([program, *words], stderr=subprocess.PIPE, env=environment, text=True, **wish)


@pytest.mark.parametrize("kind", ["flood", "raw-flood"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(program, clean_environment, kind, unbuffered):
    environment = clean_environment | {"PYTHONUNBUFFERED": unbuffered}
    process = subprocess.Popen(
        [program, "sample", "fail", kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 141)
    process.stderr.close()


def test_a_reader_that_was_never_there_is_no_error(program, clean_environment):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(program, ["sample", "list"], clean_environment, stdout=writing)
    assert (done.returncode, done.stderr) == (141, "")
    both = subprocess.run([program, "sample", "fail", "jig"], stdout=writing, stderr=writing, env=clean_environment)
    assert both.returncode == 141
    os.close(writing)


def test_a_full_disk_is_told(program, clean_environment):
    for words in (["sample", "list"], ["sample", "fail", "flood"]):
        with open("/dev/full", "w") as full:
            done = run(program, words, clean_environment, stdout=full)
        assert (done.returncode, done.stderr) == (
            125,
            "error: nothing more could be written: No space left on device\n"
            "\n"
            "hint: make room on the disk that jig, or the output of this command, is written to\n",
        )


@pytest.mark.parametrize("streams", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_closed_streams(program, clean_environment, streams):
    script = f'"$0" sample fail jig {streams}'
    done = subprocess.run(["sh", "-c", script, program], env=clean_environment, capture_output=True, text=True)
    told = "" if "2>" in streams else "error: the thing \\x1b[31mbroke\n  at line 2\n\nhint: mend it\n"
    assert (done.returncode, done.stdout, done.stderr) == (125, "", told)


def test_an_interrupt_ends_quietly(program, clean_environment):
    done = run(program, ["sample", "fail", "interrupt"], clean_environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "so far\n", "")
    process = subprocess.Popen(
        [program, "sample", "fail", "raw-flood"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment
    )
    assert process.stdout is not None
    process.stdout.read(1)  # it runs
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"")


def test_text_that_cannot_be_encoded_is_escaped(program, clean_environment):
    done = run(program, ["sample", "fail", "text"], clean_environment | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "\\xe9 \\udcff\n", "")
    done = run(program, ["sample", "fail", "text"], clean_environment | {"PYTHONIOENCODING": "utf-8"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "é \\udcff\n", "")


LOADED = """
import sys
before = set(sys.modules)
from jig.cli import main
main(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def loaded(*words):
    source = os.path.dirname(os.path.dirname(jig.__file__))
    environment = {"PYTHONPATH": source, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-c", LOADED, *words]
    return set(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.split())


def test_only_what_is_needed_is_imported():
    assert loaded("--version") == {"__future__", "jig", "jig.cli"}
    assert loaded("completion", "bash") == {
        "__future__", "jig", "jig.cli", "jig.cli.completion", "jig.cli.grammar", "jig.errors",
    }  # fmt: skip
    slow = {"typing", "re", "enum", "json", "dataclasses", "subprocess", "shutil", "inspect", "yaml", "jmespath"}
    assert not loaded("submit", "--help") & slow
    assert not loaded("__complete", "zsh", "submit", "-") & slow
