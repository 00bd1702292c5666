import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.cli.grammar import Argument, Command, Group, Option, parse
from jig.errors import UsageError


def nothing(args):
    return 0


SUBMIT = Command(
    "submit",
    "Run a script.",
    nothing,
    (
        Option(("-c", "--run-configuration"), "configuration", "", metavar="NAME"),
        Option(("-t", "--target"), "target", "", metavar="NAME", default="local"),
        Option(("--tag",), "tag", "", metavar="WORD", many=True),
        Option(("-a", "--background"), "background", ""),
        Option(("-x", "--exact"), "exact", ""),
        Option(("--template",), "template", "", metavar="NAME", optional_value="digits"),
        Option(("-ap", "--artifact-path"), "artifact", "", metavar="PATH"),
        Option(("--mode",), "mode", "", choices=("fast", "safe")),
        Option(("--secret-switch",), "secret", "", hidden=True),
    ),
    (Argument("script", "SCRIPT [ARG ...]", "", rest=True),),
)
COPY = Command(
    "copy",
    "Copy.",
    nothing,
    (Option(("-f", "--force"), "force", ""), Option(("-d", "--to"), "to", "", metavar="DIR")),
    (Argument("first", "FIRST", "", required=True), Argument("more", "MORE", "", many=True)),
)
LIST = Command("list", "List.", nothing, listing=True)
BARE = Command("bare", "Bare.", nothing)

words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@pytest.mark.parametrize(
    "line",
    [
        ["-c", "my name"],
        ["-cmy name"],
        ["--run-configuration", "my name"],
        ["--run-configuration=my name"],
        ["-ac", "my name"],
        ["-axcmy name"],
        ["-c", "other", "-c", "my name"],
    ],
)
def test_ways_to_give_a_value(line):
    assert parse(SUBMIT, line).text("configuration") == "my name"


def test_combined_flags_are_all_set():
    args = parse(SUBMIT, ["-axcfast"])
    assert (args.flag("background"), args.flag("exact"), args.text("configuration")) == (True, True, "fast")
    assert not parse(SUBMIT, []).flag("exact")


def test_a_name_of_two_letters_is_not_two_flags():
    args = parse(SUBMIT, ["-ap", "outputs/model"])
    assert (args.text("artifact"), args.flag("background")) == ("outputs/model", False)


@given(words)
def test_any_text_can_be_a_value(value):
    for line in (["-c", value], ["--run-configuration", value], [f"--run-configuration={value}"]):
        assert parse(SUBMIT, line).text("configuration") == value
    if value:
        assert parse(SUBMIT, [f"-c{value}"]).text("configuration") == value


@given(st.lists(words, min_size=1))
def test_after_the_script_every_word_is_the_scripts(rest):
    after = parse(SUBMIT, ["-c", "local", "--", *rest])
    assert (after.many("script"), after.text("configuration")) == (tuple(rest), "local")
    begun = parse(SUBMIT, ["-c", "local", "train.py", *rest])
    assert (begun.many("script"), begun.text("configuration")) == (("train.py", *rest), "local")


def test_options_after_the_script_are_not_ours():
    args = parse(SUBMIT, ["-c", "local", "train.py", "--epochs", "3", "-c", "x", "--", "--help"])
    assert args.text("configuration") == "local"
    assert args.many("script") == ("train.py", "--epochs", "3", "-c", "x", "--", "--help")
    assert not args.flag("help")


def test_a_script_that_starts_with_a_dash():
    assert parse(SUBMIT, ["-c", "a", "--", "-odd.py", "--", "-c", "b"]).many("script") == ("-odd.py", "--", "-c", "b")


def test_a_single_dash_and_an_empty_word_are_arguments():
    assert parse(COPY, ["-", ""]).text("first") == "-"
    assert parse(COPY, ["-", ""]).many("more") == ("",)


def test_options_may_stand_after_arguments():
    args = parse(COPY, ["a", "-f", "b", "--to=c", "d"])
    assert (args.required("first"), args.many("more"), args.flag("force"), args.text("to")) == (
        "a", ("b", "d"), True, "c",
    )  # fmt: skip


def test_two_dashes_end_the_options():
    assert parse(COPY, ["a", "--", "-f", "--"]).many("more") == ("-f", "--")
    assert not parse(COPY, ["a", "--", "-f"]).flag("force")


def test_what_only_stands_behind_two_dashes():
    arguments = (Argument("id", "ID", "Id."), Argument("command", "COMMAND", "Command.", rest=True, dashed=True))
    shell = Command("shell", "Open.", nothing, (Option(("-r",), "run", "Run.", "ID"),), arguments)
    args = parse(shell, ["-r", "1", "--", "ls", "-r", "--", "-h"])
    assert (args.text("run"), args.text("id"), args.many("command")) == ("1", None, ("ls", "-r", "--", "-h"))
    args = parse(shell, ["a", "--", "-x"])
    assert (args.text("id"), args.many("command")) == ("a", ("-x",))
    assert parse(shell, ["--"]).many("command") == ()
    with pytest.raises(UsageError) as caught:
        parse(shell, ["a", "ls"])
    assert caught.value.message == "unexpected argument: 'ls'"
    assert caught.value.hint == "COMMAND stands behind --\nusage: shell [options] [ID] [-- COMMAND ...]"


def test_an_option_that_may_stand_without_its_value():
    assert parse(SUBMIT, []).text("template") is None
    assert parse(SUBMIT, ["--template"]).text("template") == "digits"
    assert parse(SUBMIT, ["--template", "mnist"]).text("template") == "mnist"
    assert parse(SUBMIT, ["--template="]).text("template") == ""
    args = parse(SUBMIT, ["--template", "-a", "train.py"])
    assert (args.text("template"), args.flag("background"), args.many("script")) == ("digits", True, ("train.py",))


def test_defaults_and_repetition():
    args = parse(SUBMIT, ["--tag", "a", "--tag=b"])
    assert (args.text("target"), args.many("target")) == ("local", ("local",))
    assert (args.many("tag"), args.text("tag")) == (("a", "b"), "b")
    assert (args.many("script"), args.text("script"), args.flag("script")) == ((), None, False)


def test_a_listing_takes_output_and_query():
    args = parse(LIST, ["-o", "tsv", "--query", "[].a"])
    assert (args.output, args.query) == ("tsv", "[].a")
    assert (parse(LIST, []).output, parse(LIST, []).query) == (None, None)
    assert (parse(BARE, []).output, parse(BARE, []).query) == (None, None)


def test_help_is_found_whatever_is_missing_or_wrong_after_it():
    assert parse(COPY, ["-h", "--nonsense"]).flag("help")
    assert parse(COPY, ["--help"]).flag("help")


def test_every_command_takes_the_common_options():
    args = parse(BARE, ["--verbose", "--debug"])
    assert (args.flag("verbose"), args.flag("debug"), args.flag("help")) == (True, True, False)


def test_asking_for_what_is_not_declared_is_a_bug():
    for ask in (parse(BARE, []).text, parse(BARE, []).flag, parse(BARE, []).many, parse(BARE, []).required):
        with pytest.raises(KeyError, match="bare declares no option or argument 'nope'"):
            ask("nope")


USAGE_SUBMIT = "usage: jig submit [options] [SCRIPT [ARG ...]]"
USAGE_COPY = "usage: jig copy [options] FIRST [MORE ...]"
SUBMIT_HELP = "`jig submit --help` tells what it takes\n" + USAGE_SUBMIT
COPY_HELP = "`jig copy --help` tells what it takes\n" + USAGE_COPY


@pytest.mark.parametrize(
    ("command", "line", "message", "hint"),
    [
        (SUBMIT, ["--run-config", "x"], "there is no option --run-config",
            "did you mean --run-configuration?\n" + USAGE_SUBMIT),
        (SUBMIT, ["--backgruond=1"], "there is no option --backgruond", "did you mean --background?\n" + USAGE_SUBMIT),
        (SUBMIT, ["-mode"], "there is no option -mode", "did you mean --mode?\n" + USAGE_SUBMIT),
        (SUBMIT, ["--epochs", "3", "train.py"], "there is no option --epochs",
            "options of the script itself stand after its name\n" + USAGE_SUBMIT),
        (SUBMIT, ["--secret-swich"], "there is no option --secret-swich",
            "options of the script itself stand after its name\n" + USAGE_SUBMIT),
        (SUBMIT, ["-az"], "there is no option -z",
            "options of the script itself stand after its name\n" + USAGE_SUBMIT),
        (SUBMIT, ["-c"], "-c needs a value: NAME", SUBMIT_HELP),
        (SUBMIT, ["--mode"], "--mode needs a value: fast|safe", SUBMIT_HELP),
        (SUBMIT, ["--background=yes"], "--background takes no value, but 'yes' was given", SUBMIT_HELP),
        (SUBMIT, ["--mode=fats"], "--mode cannot be 'fats'; it is one of fast, safe",
            "did you mean fast?\n" + USAGE_SUBMIT),
        (SUBMIT, ["--mode", "-a"], "--mode cannot be '-a'; it is one of fast, safe", SUBMIT_HELP),
        (COPY, [], "FIRST is needed", COPY_HELP),
        (BARE, ["it's"], 'unexpected argument: "it\'s"',
            "`jig bare --help` tells what it takes\nusage: jig bare [options]"),
    ],
)  # fmt: skip
def test_mistakes(command, line, message, hint):
    with pytest.raises(UsageError) as caught:
        parse(command, line, f"jig {command.name}")
    assert (caught.value.message, caught.value.hint, caught.value.exit_code) == (message, hint, 2)


def test_a_required_option_that_is_missing():
    with pytest.raises(UsageError) as caught:
        parse(SUBMIT, [], "jig submit").required("configuration")
    assert caught.value.message == "-c/--run-configuration is needed"
    assert caught.value.hint == SUBMIT_HELP
    assert parse(SUBMIT, []).required("target") == "local"


@given(st.lists(words | st.sampled_from(["-c", "--tag", "--", "-a", "--mode=safe", "--template", "-ap", "-h", "x.py"])))
def test_any_line_is_understood_or_is_a_usage_error(line):
    try:
        args = parse(SUBMIT, line)
    except UsageError as error:
        assert error.hint.endswith("usage: submit [options] [SCRIPT [ARG ...]]")
    else:
        assert isinstance(args.text("target"), str)


def test_a_group_finds_by_name_and_alias():
    part = Group("part", "", (LIST,), aliases=("parts",))
    group = Group("noun", "", (COPY, part))
    assert group.find("copy") is COPY
    assert group.find("parts") is part
    assert group.find("part") is part
    assert group.find("cop") is None
