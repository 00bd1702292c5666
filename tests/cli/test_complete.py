"""Completion: what is offered, and real shells that are typed into at a real terminal."""

import fcntl
import json
import os
import pty
import select
import shlex
import subprocess
import termios
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.cli import NOUNS, SHORT
from jig.cli.complete import answer, candidates, for_bash, split
from jig.cli.completion import BASH, FISH, ZSH
from tests.system_packages import need

NAMES = ("plain", "my name", "it's", 'say "hi"', "cost$(touch pwned)", "tick`touch pwned`", "semi;touch pwned",
         "wow!ls", "back\\slash", "é学", "a:b", "key=value", "*star", "-dash", "#hash", "fin!", "last'")  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with names that a shell could trip over, as the current folder."""
    folder = tmp_path / "pro ject"
    (folder / "aml_config").mkdir(parents=True)
    (folder / "sub folder").mkdir()
    for name in NAMES:
        (folder / "aml_config" / f"{name}.runconfig").touch()
    for name in ("a line\nbreak.runconfig", "esc\x1b.runconfig", "local.compute", "gpu box.compute", "notes.txt"):
        (folder / "aml_config" / name).touch()
    (folder / "train it.py").touch()
    monkeypatch.chdir(folder)
    return folder


def offered(*words):
    return [name or about for name, about in candidates(list(words))]


def test_nouns_verbs_and_options(sample_noun):
    assert offered("") == [*SHORT, *NOUNS, "runconfigurations", "computecontext", "help", "--version", "--help"]
    assert offered("sam") == ["sample"]
    assert offered("sample", "") == ["submit", "list", "fail", "delete", "part", "--help"]
    assert candidates(["sample", "pa"]) == [("part", "A part of it.")]
    assert offered("sample", "parts", "l") == ["list"]
    assert offered("help", "sample", "li") == ["list"]
    assert offered("help", "sample", "list", "") == []
    assert offered("nothing", "x") == []
    assert offered("sample", "list", "--") == ["--output", "--query", "--help", "--verbose", "--debug"]
    assert candidates(["sample", "list", "-o"]) == [
        ("-o", "How to write the result; a table at a terminal and json elsewhere, when not given.")
    ]
    assert "--secret-switch" not in offered("go", "--")
    assert offered("sample", "list", "") == []


def test_values(sample_noun, project):
    assert offered("sample", "list", "-o", "js") == ["json", "jsonc"]
    assert offered("sample", "list", "--output=t") == ["--output=table", "--output=tsv"]
    assert offered("go", "-c", "") == sorted(NAMES)
    assert offered("go", "--run-configuration=my") == ["--run-configuration=my name"]
    assert offered("go", "-t", "") == ["gpu box", "local"]
    assert offered("go", "--tag", "") == []
    assert offered("go", "--background=x") == offered("go", "--nope=x") == []
    assert offered("go", "-p", "") == ["dir"]
    assert offered("go", "--project=") == ["dir"]
    assert offered("go", "") == ["file"]
    assert offered("go", "--nonsense", "-c", "pl") == ["plain"]
    assert offered("go", "--", "-") == ["file"]
    assert offered("go", "train.py", "-") == ["file"]
    assert offered("go", "--template", "--ta") == ["--target", "--tag"]


def test_names_come_from_the_nearest_project(sample_noun, project, monkeypatch, tmp_path):
    deep = project / "sub folder" / "deeper"
    deep.mkdir()
    monkeypatch.chdir(deep)
    assert offered("go", "-t", "l") == ["local"]
    monkeypatch.chdir(tmp_path)
    assert offered("go", "-t", "") == []
    assert offered("go", "--project", str(project), "-t", "l") == ["local"]


def test_the_newest_runs(sample_noun, monkeypatch, tmp_path):
    home = tmp_path / "jig"
    monkeypatch.setenv("JIG_HOME", str(home))
    assert offered("sample", "delete", "") == []
    runs = [f"p_{1_000 - number}" for number in range(60)] + ["q_99", "odd"]
    for name in sorted(runs):
        (home / "runs" / name).mkdir(parents=True)
    assert offered("sample", "delete", "") == runs[:50]
    assert offered("sample", "delete", "q") == ["q_99"]
    assert offered("sample", "delete", "od") == ["odd"]
    monkeypatch.delenv("JIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".jig" / "runs" / "other_1").mkdir(parents=True)
    assert offered("sample", "delete", "") == ["other_1"]


def test_templates():
    from jig import templates

    assert candidates(["project", "create", "--template", ""]) == [
        (name, templates.summary(name)) for name in templates.names()
    ]


def test_the_answer_as_text(sample_noun, project, capsys):
    for words, text in (
        (["zsh", "sample", "pa"], "part\tA part of it.\n"),
        (["zsh", "go", "-c", "my"], "my name\n"),
        (["fish", "go", "-c", '"my n'], "my name\n"),
        (["fish", "go", ""], "\tfile\n"),
        (["bash", "my", "jig go -c my"], "my\\ name\n"),
        (["bash", "", "jig go --project="], "\tdir\n"),
        (["bash", "sam", "jig sam"], "sample\n"),
    ):
        assert answer(words) == 0
        assert capsys.readouterr() == (text, "")
    assert answer([]) == 0


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)))
def test_a_line_is_taken_apart_as_a_shell_does(words):
    assert split(shlex.join(words) + " ").words == [*words, ""]


def test_a_line_that_is_still_being_typed():
    for line, words, last, quote in (
        ("", [""], "", ""),
        ("  a  ", ["a", ""], "", ""),
        ("a b", ["a", "b"], "b", ""),
        ("a 'b c", ["a", "b c"], "'b c", "'"),
        ('a x"b \\"\\$\\c', ["a", 'xb "$\\c'], 'x"b \\"\\$\\c', '"'),
        ("a b\\ c\\", ["a", "b c"], "b\\ c\\", ""),
        ("a 'b' ''", ["a", "b", ""], "''", ""),
    ):
        taken = split(line)
        assert (taken.words, taken.last, taken.quote) == (words, last, quote)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1), st.sampled_from(["", "'", '"']))
def test_what_bash_gets_is_one_literal_word(name, quote):
    """Real bash reads back what would stand on its line."""
    from jig.cli.complete import _quoted

    written = quote + _quoted(name, quote)
    if quote and not written[1:].endswith(quote):  # what bash itself does
        written += quote
    done = subprocess.run(["bash", "-c", f"printf '%s' {written}"], capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert (done.stdout.decode(), done.stderr) == (name, b"")


def test_bash_counts_a_word_from_the_last_break(sample_noun, project):
    assert for_bash("js", "jig sample list --output=js") == ["json", "jsonc"]
    assert for_bash("--output=y", "jig sample list --output=y") == ["--output=yaml"]  # where = is no break
    assert for_bash("", "jig go -c a:") == ["b"]
    assert for_bash("my", 'jig go --run-configuration="my') == ["my name"]


PROMPT = "ready> "
START = {
    "bash": ["bash", "--noprofile", "--rcfile", "{rc}", "-i"],
    "zsh": ["zsh", "-i"],
    "fish": ["fish", "-i"],
}
SETTINGS = {
    "bash": ("rc", f"PS1='{PROMPT}'\n{BASH}"),
    "zsh": (".zshrc", f"autoload -Uz compinit && compinit -u\n{ZSH}PROMPT='{PROMPT}'\n"),
    "fish": (
        ".config/fish/config.fish",
        f"set -g fish_greeting\nfunction fish_prompt; echo -n '{PROMPT}'; end\n{FISH}",
    ),
}


class Shell:
    """An interactive shell at a terminal; the `jig` it finds writes down what it was called with."""

    def __init__(self, kind, home, environment):
        self.record = home / "argv.json"
        name, text = SETTINGS[kind]
        settings = home / name
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(text, encoding="utf-8")
        self.terminal, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 200))
        self.process = subprocess.Popen(
            [word.format(rc=settings) for word in START[kind]],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment | {"RECORD_ARGV": str(self.record)},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.seen = b""
        self.read_until(lambda: PROMPT.encode() in self.seen)

    def read_until(self, done):
        end = time.monotonic() + 60
        while not done():
            assert time.monotonic() < end, self.seen.decode(errors="replace")
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.seen += os.read(self.terminal, 65536)

    def enter(self, line):
        """Type a line with a tab at its end, then enter; returns the words that jig was called with."""
        self.record.unlink(missing_ok=True)
        self.seen = b""
        os.write(self.terminal, line.encode() + b"\t")
        os.write(self.terminal, b"\r")
        self.read_until(lambda: PROMPT.encode() in self.seen.partition(b"<recorded>")[2])
        return json.loads(self.record.read_text())

    def close(self):
        os.close(self.terminal)  # hangs up
        self.process.wait(timeout=60)


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request, project, clean_environment):
    need("bash", "zsh", "fish")
    home = project.parent / "home"
    opened = Shell(request.param, home, clean_environment)
    yield opened
    opened.close()


def test_typing_into_a_real_shell(shell, project):
    for typed, expected in (
        ("jig sam", ["sample"]),
        ("jig sample su", ["sample", "submit"]),
        ("jig go --back", ["go", "--background"]),
        ("jig sample list --output=y", ["sample", "list", "--output=yaml"]),
        ("jig sample list -o ya", ["sample", "list", "-o", "yaml"]),
        ("jig nothing x", ["nothing", "x"]),
        ("jig go tr", ["go", "train it.py"]),
        ("jig go train.py --data tr", ["go", "train.py", "--data", "train it.py"]),
        ("jig go --artifact-path=tr", ["go", "--artifact-path=train it.py"]),
        ("jig go --run-configuration=my", ["go", "--run-configuration=my name"]),
        ("jig go --run-configuration=ke", ["go", "--run-configuration=key=value"]),
        ("jig go -c my\\ n", ["go", "-c", "my name"]),
        ("jig go -c a:", ["go", "-c", "a:b"]),
        ("jig go -c \\*s", ["go", "-c", "*star"]),
        ("jig go -c \\#h", ["go", "-c", "#hash"]),
        ("jig go -c a\\ l", ["go", "-c", "a l"]),  # its name has a line break: not offered
    ):
        assert shell.enter(typed) == expected
    for folder in (["--project", "su"], ["--project=su"]):
        found = " ".join(shell.enter("jig go " + " ".join(folder)))
        assert found.rstrip("/").endswith("sub folder")
    assert not (project / "pwned").exists()


@pytest.mark.parametrize("quote", ["", "'", '"'], ids=["bare", "single", "double"])
def test_names_are_inserted_literally_and_never_run(shell, project, quote):
    for name in NAMES:
        if name[0].isalpha():
            assert shell.enter(f"jig go -c {quote}{name[:2]}") == ["go", "-c", name]
    assert shell.enter(f"jig go -c {quote}-d") == ["go", "-c", "-dash"]
    assert not (project / "pwned").exists()


@pytest.mark.parametrize(("shell_name", "script"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)])
def test_the_script_is_what_the_command_prints_and_reads_well(shell_name, script, capsys, tmp_path):
    from jig.cli import main

    need("bash", "zsh", "fish")
    assert main(["completion", shell_name]) == 0
    assert capsys.readouterr() == (script, "")
    file = tmp_path / "script"
    file.write_text(script)
    done = subprocess.run([shell_name, "-n", file], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
