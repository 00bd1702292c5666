import pytest

from jig.environments.pip_list import PipList
from jig.environments.requirement import LineRefused


def read(*entries: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pip = PipList()
    for entry in entries:
        pip.add(entry)
    return pip.requirements, pip.options


def test_requirements_are_sorted_and_counted_once() -> None:
    assert read("torch", "Six", "six # the same", "numpy>=1") == (("numpy>=1", "six", "torch"), ())


@pytest.mark.parametrize("entry", ["", "   ", "# only a comment", "\t# and a tab"])
def test_nothing_is_asked_for_by_a_comment(entry: str) -> None:
    assert read(entry) == ((), ())


def test_a_fragment_is_no_comment() -> None:
    url = "https://h/x.whl#sha256=ab"
    assert read(f"{url}  # pinned") == ((url,), ())


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("--index-url https://h/simple", ("--index-url https://h/simple",)),
        ("--index-url=https://h/simple?a=b", ("--index-url https://h/simple?a=b",)),
        ("-i https://h/simple", ("--index-url https://h/simple",)),
        ("-ihttps://h/simple", ("--index-url https://h/simple",)),
        ("--extra-index-url https://u:p@h/simple", ("--extra-index-url https://u:p@h/simple",)),
        ("--extra-index-url file:///srv/simple", ("--extra-index-url file:///srv/simple",)),
        ("-f /srv/wheels", ("--find-links /srv/wheels",)),
        ("--find-links ~/wheels", ("--find-links ~/wheels",)),
        ("--find-links https://h/links.html", ("--find-links https://h/links.html",)),
        ("--trusted-host h:8080", ("--trusted-host h:8080",)),
        ("--index-url ${INDEX}", ("--index-url ${INDEX}",)),
        ("--pre", ("--pre",)),
        ("--no-index", ("--no-index",)),
        (
            "--pre --extra-index-url 'https://b' -i \"https://a\"",
            ("--index-url https://a", "--extra-index-url https://b", "--pre"),
        ),
    ],
)
def test_options_are_read_as_pip_reads_them(entry: str, options: tuple[str, ...]) -> None:
    assert read(entry) == ((), options)


def test_the_last_index_counts_and_further_ones_keep_their_order() -> None:
    entries = ("-i https://1", "--extra-index-url https://c", "--extra-index-url https://b", "-i https://2")
    assert read(*entries)[1] == (
        "--index-url https://2",
        "--extra-index-url https://c",
        "--extra-index-url https://b",
    )


OTHER_FILE = "only `-r` may name another file"


@pytest.mark.parametrize(
    ("entry", "message", "fix"),
    [
        (
            "-e .",
            "`-e` cannot stand here: an editable install ties the environment to a folder that changes",
            "keep the code in the project folder, where the script can import it, or name a wheel by its URL",
        ),
        (
            "-r more.txt",
            "`-r more.txt`: there is no such file in the project",
            "name it from the conda file's folder",
        ),
        ("-c limits.txt", f"`-c` cannot stand here: {OTHER_FILE}", "write the versions of that file here"),
        (
            "--indx-url https://h",
            "`--indx-url` is not an option that can stand here; these can: --index-url, --extra-index-url, "
            "--find-links, --trusted-host, --no-index, --pre",
            "did you mean `--index-url`?",
        ),
        ("--index-url", "`--index-url` has no value", "write it in the same entry: `--index-url …`"),
        ("--index-url --pre", "`--index-url` has no value", "write it in the same entry: `--index-url …`"),
        (
            "--find-links wheels",
            "`--find-links wheels` is a relative path, and the environment is not built in the project folder",
            "write a URL, or a full path on the machine that runs it",
        ),
        (
            "--find-links '/my wheels'",
            "`--find-links` has a value with a space in it",
            "write %20 for each space, and file:// before a path",
        ),
        ("--pre=yes", "`--pre` takes no value", "write `--pre` alone"),
        (
            "--index-url 'https://h",
            "`--index-url 'https://h` cannot be read: No closing quotation",
            "close the quotation",
        ),
        (
            "six\n--index-url https://evil",
            "an entry holds a line break or another control character",
            "write one entry per line",
        ),
        ("six\x00", "an entry holds a line break or another control character", "write one entry per line"),
    ],
)
def test_what_uv_cannot_be_given_is_refused(entry: str, message: str, fix: str) -> None:
    with pytest.raises(LineRefused) as refused:
        read(entry)
    assert (refused.value.message, refused.value.fix) == (message, fix)


def test_another_file_is_read_in_its_place(tmp_path):
    (tmp_path / "more.txt").write_text("# versions\nnumpy>=1 \\\n  ,<2\n\n-r deeper.txt\n--pre\n")
    (tmp_path / "deeper.txt").write_text("six\n")
    pip = PipList(("/nowhere", str(tmp_path)))
    pip.add("-r more.txt")
    assert (pip.requirements, pip.options) == (("numpy<2,>=1", "six"), ("--pre",))


def test_files_that_name_each_other_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("-r a.txt\n")
    with pytest.raises(LineRefused, match="files that name each other 5 deep"):
        PipList((str(tmp_path),)).add("-ra.txt")


def test_what_a_file_names_is_looked_up_beside_it_first(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/more.txt").write_text("-r base.txt\n")
    (tmp_path / "sub/base.txt").write_text("six\n")
    (tmp_path / "base.txt").write_text("numpy\n")
    pip = PipList((str(tmp_path),))
    pip.add("-r sub/more.txt")
    assert pip.requirements == ("six",)
    pip.add("-r base.txt")
    assert pip.requirements == ("numpy", "six")


def test_a_file_that_is_refused_does_not_make_the_next_one_deeper(tmp_path):
    (tmp_path / "bad.txt").write_text("-e .\n")
    (tmp_path / "good.txt").write_text("six\n")
    pip = PipList((str(tmp_path),))
    for _ in range(6):
        with pytest.raises(LineRefused, match="`-e` cannot stand here"):
            pip.add("-r bad.txt")
    pip.add("-r good.txt")
    assert pip.requirements == ("six",)


def test_a_wheel_of_the_project_goes_by_its_content(tmp_path):
    (tmp_path / "my wheels").mkdir()
    wheel = tmp_path / "my wheels" / "x-1.0-py3-none-any.whl"
    wheel.write_bytes(b"content")
    pip = PipList((str(tmp_path),))
    pip.add("./my wheels/x-1.0-py3-none-any.whl")
    digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    assert pip.requirements == (f"{{files}}/{digest}/x-1.0-py3-none-any.whl",)
    assert pip.files == {digest: f"{tmp_path}/./my wheels/x-1.0-py3-none-any.whl"}
