import configparser
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.runner.pip_settings import (
    PipSettingsUnreadable,
    file_url_path,
    quick_sections,
    read_settings,
    uv_environment,
    uv_lines,
)

BEST = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
NO_FILES = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}


def added(environ: dict[str, str], *options: str, home: str = "/home/me") -> dict[str, str]:
    """What uv is given beyond the environment itself."""
    environ = {**environ, **NO_FILES}
    return {name: value for name, value in uv_environment(environ, home, options).items() if environ.get(name) != value}


def lines(environ: dict[str, str], *options: str, home: str = "/home/me") -> list[str]:
    return uv_lines({**environ, **NO_FILES}, home, options)


@pytest.fixture
def machine(tmp_path: Path) -> "Machine":
    return Machine(tmp_path)


class Machine:
    """A machine's pip files, with /etc moved to where a test may write."""

    def __init__(self, root: Path) -> None:
        self.home = str(root / "home")
        self.root = root
        self.environ = {"XDG_CONFIG_DIRS": str(root / "xdg")}

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def settings(self, **variables: str) -> dict[str, str]:
        """The settings under names that no other file of the machine could hold."""
        found = read_settings({**self.environ, **variables}, self.home)
        return {name: value for name, value in found.items() if name.startswith("x-")}


@pytest.mark.parametrize(
    ("variables", "given"),
    [
        ({}, {}),
        ({"PIP_INDEX_URL": "https://u:p@h/simple"}, {"UV_DEFAULT_INDEX": "https://u:p@h/simple"}),
        ({"PIP_EXTRA_INDEX_URL": "https://a\n https://b"}, {"UV_INDEX": "https://a https://b"}),
        ({"PIP_TRUSTED_HOST": "a:8080  b"}, {"UV_INSECURE_HOST": "a:8080 b"}),
        ({"PIP_PRE": "1"}, {"UV_PRERELEASE": "allow"}),
        ({"PIP_PRE": "no"}, {}),
        ({"PIP_DEFAULT_TIMEOUT": "180"}, {"UV_HTTP_TIMEOUT": "180"}),
        ({"PIP_TIMEOUT": "7.2"}, {"UV_HTTP_TIMEOUT": "8"}),
        ({"PIP_RETRIES": "9"}, {"UV_HTTP_RETRIES": "9"}),
        ({"PIP_CERT": "/etc/my ca.pem"}, {"SSL_CERT_FILE": "/etc/my ca.pem"}),
        ({"PIP_CERT": "~/ca.pem"}, {"SSL_CERT_FILE": "/home/me/ca.pem"}),
        ({"PIP_CERT": "/etc/ca.pem", "SSL_CERT_FILE": "/other.pem"}, {"SSL_CERT_FILE": "/etc/ca.pem"}),
        ({"PIP_CERT": "/"}, {"SSL_CERT_DIR": "/"}),
        ({"PIP_CLIENT_CERT": "/me.pem"}, {"SSL_CLIENT_CERT": "/me.pem"}),
        ({"REQUESTS_CA_BUNDLE": "/requests.pem"}, {"SSL_CERT_FILE": "/requests.pem"}),
        ({"REQUESTS_CA_BUNDLE": "/requests.pem", "SSL_CERT_FILE": "/other.pem"}, {}),
        (
            {"PIP_PROXY": "u:p@proxy:3128", "https_proxy": "http://other"},
            dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://u:p@proxy:3128"),
        ),
        ({"PIP_INDEX_URL": "", "PIP_PRE": "", "PIP_CERT": ""}, {}),
        ({"PIP_FIND_LINKS": "/wheels", "PIP_NO_INDEX": "1"}, {}),
    ],
)
def test_pips_variables_become_uvs(variables: dict[str, str], given: dict[str, str]) -> None:
    assert added(variables) == {**BEST, **given}


@pytest.mark.parametrize(
    ("variables", "given"),
    [
        ({"PIP_INDEX_URL": "https://p", "UV_DEFAULT_INDEX": "https://u"}, BEST),
        ({"PIP_INDEX_URL": "https://p", "UV_INDEX_URL": "https://u"}, BEST),
        ({"PIP_EXTRA_INDEX_URL": "https://p", "UV_INDEX": "https://u"}, BEST),
        ({"PIP_EXTRA_INDEX_URL": "https://p", "UV_EXTRA_INDEX_URL": "https://u"}, BEST),
        ({"PIP_TRUSTED_HOST": "p", "UV_INSECURE_HOST": "u"}, BEST),
        ({"PIP_PRE": "1", "UV_PRERELEASE": "disallow"}, BEST),
        ({"PIP_TIMEOUT": "5", "UV_HTTP_TIMEOUT": "6"}, BEST),
        ({"PIP_TIMEOUT": "5", "UV_REQUEST_TIMEOUT": "6"}, BEST),
        ({"UV_INDEX_STRATEGY": "first-index"}, {}),
    ],
)
def test_what_the_user_set_for_uv_wins(variables: dict[str, str], given: dict[str, str]) -> None:
    assert added(variables) == given


def test_the_index_of_the_conda_file_replaces_every_index() -> None:
    environ = {
        **NO_FILES,
        "PIP_INDEX_URL": "https://p",
        "PIP_EXTRA_INDEX_URL": "https://q",
        "UV_INDEX_URL": "https://u",
        "UV_INDEX": "https://v",
        "UV_EXTRA_INDEX_URL": "https://w",
    }
    given = uv_environment(environ, "/home/me", ("--index-url https://f", "--extra-index-url https://g"))
    assert {name: value for name, value in given.items() if name.startswith("UV_")} == {
        **BEST,
        "UV_NO_CONFIG": "1",
        "UV_DEFAULT_INDEX": "https://f",
        "UV_INDEX": "https://g",
    }


def test_other_options_of_the_conda_file_add_up() -> None:
    variables = {"PIP_EXTRA_INDEX_URL": "https://p", "PIP_TRUSTED_HOST": "p", "PIP_PRE": "0"}
    options = ("--extra-index-url https://a", "--extra-index-url https://b", "--trusted-host f:1", "--pre")
    assert added(variables, *options) == {
        **BEST,
        "UV_INDEX": "https://a https://b https://p",
        "UV_INSECURE_HOST": "f:1 p",
        "UV_PRERELEASE": "allow",
    }
    assert added({"UV_INDEX": "https://u"}, "--extra-index-url https://a") == {
        **BEST,
        "UV_INDEX": "https://a https://u",
    }


def test_variables_in_the_options_are_filled_in() -> None:
    assert added({"TOKEN": "t0k"}, "--index-url https://${TOKEN}@h/${UNSET}/$TOKEN") == {
        **BEST,
        "UV_DEFAULT_INDEX": "https://t0k@h/${UNSET}/$TOKEN",
    }


def test_links_become_lines_of_the_requirements_file() -> None:
    variables = {"PIP_FIND_LINKS": "/srv/wheels,a  ~/w\nrelative https://h/links.html?a=b file:///srv/w"}
    assert lines(variables, "--find-links ~/mine", "--find-links https://f") == [
        "--find-links file:///home/me/mine",
        "--find-links https://f",
        "--find-links file:///srv/wheels%2Ca",
        "--find-links file:///home/me/w",
        "--find-links file:///home/me/relative",
        "--find-links https://h/links.html?a=b",
        "--find-links file:///srv/w",
    ]
    assert lines({**variables, "UV_FIND_LINKS": "/u"}, "--find-links /f") == ["--find-links file:///f"]


@pytest.mark.parametrize(("value", "given"), [("1", ["--no-index"]), ("true", ["--no-index"]), ("0", []), ("", [])])
def test_no_index_becomes_a_line(value: str, given: list[str]) -> None:
    assert lines({"PIP_NO_INDEX": value}) == given
    assert lines({"PIP_NO_INDEX": value}, "--no-index") == ["--no-index"]


def test_files_are_read_in_pips_order(machine: Machine) -> None:
    machine.write("xdg/pip/pip.conf", "[global]\nx-1 = machine\nx-2 = machine\nx-3 = machine\nx-4 = machine\n")
    assert machine.settings() == dict.fromkeys(("x-1", "x-2", "x-3", "x-4"), "machine")
    machine.write("home/.pip/pip.conf", "[global]\nx-2 = old\nx-3 = old\nx-4 = old\n")
    machine.write("home/.config/pip/pip.conf", "[global]\nx-3 = user\nx-4 = user\n")
    assert machine.settings() == {"x-1": "machine", "x-2": "old", "x-3": "user", "x-4": "user"}
    assert machine.settings(PIP_X_4="variable")["x-4"] == "variable"


def test_the_section_of_the_command_beats_the_general_one(machine: Machine) -> None:
    machine.write("xdg/pip/pip.conf", "[install]\nx-1 = install\n[download]\nx-1 = download\n")
    machine.write("home/.config/pip/pip.conf", "[global]\nx-1 = global\nx-2 = global\n")
    assert machine.settings() == {"x-1": "install", "x-2": "global"}


def test_the_users_folder_may_be_elsewhere(machine: Machine) -> None:
    machine.write("home/.config/pip/pip.conf", "[global]\nx-1 = usual\n")
    machine.write("else where/pip/pip.conf", "[global]\nx-1 = elsewhere\n")
    assert machine.settings(XDG_CONFIG_HOME=str(machine.root / "else where")) == {"x-1": "elsewhere"}


def test_a_named_file_stands_in_for_the_users(machine: Machine) -> None:
    machine.write("xdg/pip/pip.conf", "[global]\nx-1 = machine\nx-2 = machine\n")
    machine.write("home/.config/pip/pip.conf", "[global]\nx-3 = user\n")
    named = machine.write("named.conf", "[global]\nx-2 = named\n")
    assert machine.settings(PIP_CONFIG_FILE=named) == {"x-1": "machine", "x-2": "named"}
    assert machine.settings(PIP_CONFIG_FILE=named + ".gone") == {"x-1": "machine", "x-2": "machine", "x-3": "user"}
    assert machine.settings(PIP_CONFIG_FILE=os.devnull) == {}


def test_an_empty_value_takes_a_setting_back(machine: Machine) -> None:
    machine.write("xdg/pip/pip.conf", "[global]\nx-1 = machine\n")
    machine.write("home/.config/pip/pip.conf", "[global]\nx-1 =\n")
    assert machine.settings() == {}


def test_names_and_values_are_read_as_pip_reads_them(machine: Machine) -> None:
    named = machine.write(
        "pip.conf",
        "[global]\nextra_index_url =\n    https://a/%7Euser\n    # why\n    https://b\nINDEX-URL: https://ü\n"
        "default-timeout = 60\nfind-links = /one\n    /two words\n[freeze]\ntimeout = 10\n",
    )
    environ = {**machine.environ, "PIP_CONFIG_FILE": named}
    given = uv_environment(environ, machine.home)
    assert given["UV_INDEX"] == "https://a/%7Euser https://b"
    assert given["UV_DEFAULT_INDEX"] == "https://ü"
    assert given["UV_HTTP_TIMEOUT"] == "60"
    assert uv_lines(environ, machine.home) == [
        "--find-links file:///one",
        "--find-links file:///two",
        f"--find-links file://{machine.home}/words",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"index-url = https://h\n", "File contains no section headers."),
        (b"[global]\nindex-url = 1\nindex-url = 2\n", "option 'index-url' in section 'global' already exists"),
        (b"[global]\nindex-url = \xff\n", "can't decode byte 0xff"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(machine: Machine, text: bytes, reason: str) -> None:
    path = machine.root / "pip.conf"
    path.write_bytes(text)
    with pytest.raises(PipSettingsUnreadable) as raised:
        uv_environment({**machine.environ, "PIP_CONFIG_FILE": str(path)}, machine.home)
    assert str(raised.value).startswith(f"pip's settings in {path} cannot be read: ")
    assert reason in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"PIP_PRE": "perhaps"}, "pip's setting pre is 'perhaps', and neither yes nor no"),
        ({"PIP_TIMEOUT": "soon"}, "pip's setting timeout is 'soon', and not a number of seconds"),
        ({"PIP_TIMEOUT": "inf"}, "pip's setting timeout is 'inf', and not a number of seconds"),
    ],
)
def test_a_value_that_pip_would_refuse_is_named(variables: dict[str, str], reason: str) -> None:
    with pytest.raises(PipSettingsUnreadable) as raised:
        added(variables)
    assert str(raised.value) == reason


def test_the_environment_itself_is_kept() -> None:
    environ = {**NO_FILES, "HOME": "/home/me", "PIP_INDEX_URL": "https://p"}
    before = dict(environ)
    assert uv_environment(environ, "/home/me") == {**environ, **BEST, "UV_DEFAULT_INDEX": "https://p"}
    assert environ == before


def test_constraints_are_passed_on() -> None:
    assert added({"PIP_CONSTRAINT": "~/c.txt /srv/d.txt https://h/e.txt"}) == {
        **BEST,
        "UV_CONSTRAINT": "/home/me/c.txt /srv/d.txt https://h/e.txt",
    }
    assert added({"PIP_CONSTRAINT": "/p", "UV_CONSTRAINT": "/u"}) == BEST


def test_how_packages_may_be_built_becomes_lines() -> None:
    assert lines({"PIP_ONLY_BINARY": ":all:", "PIP_NO_BINARY": "six,numpy"}) == [
        "--only-binary :all:",
        "--no-binary six",
        "--no-binary numpy",
    ]


def test_the_order_of_indexes_in_uvs_own_file_wins(machine: Machine) -> None:
    machine.write("home/.config/uv/uv.toml", "# mine\nindex-strategy = 'first-index'\n")
    assert "UV_INDEX_STRATEGY" not in uv_environment(machine.environ, machine.home)
    assert (
        uv_environment({**machine.environ, "UV_NO_CONFIG": "1"}, machine.home)["UV_INDEX_STRATEGY"]
        == BEST["UV_INDEX_STRATEGY"]
    )
    named = machine.write("else.toml", "")
    given = uv_environment({**machine.environ, "UV_CONFIG_FILE": named}, machine.home)
    assert given["UV_INDEX_STRATEGY"] == BEST["UV_INDEX_STRATEGY"]


INI = ["[global]", "[install]", "[a b]", "[DEFAULT]", "key = v", "key: v", " key=v", "  more", "x-y_z=a=b:c", "# c"]
INI += ["; c", "   # c", "", "   ", "Key = V", "no value", "=v", ":v", "a = ", "b =", "\tt", "k = v # in", "[x]y", "[]"]
INI += ["o : p = q", "o = p : q", "e = x ; y", "[global] # c", " [install]", "[install", "x]", "ü = é", "n\u00a0 = 1"]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(INI), max_size=8))
def test_files_are_read_quickly_as_configparser_reads_them(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "quick.conf"
    path.write_text("\n".join(["[global]", "first = 1", *rows]), encoding="utf-8")
    found = quick_sections(str(path))
    if found is not None:
        parser = configparser.RawConfigParser()
        parser.read(path, encoding="utf-8")
        assert found == {name: dict(parser.items(name)) for name in parser.sections()}


def test_an_ordinary_file_is_read_quickly(tmp_path: Path) -> None:
    path = tmp_path / "pip.conf"
    path.write_text("[global]\n# mine\nindex-url = https://h\nfind-links =\n    /a\n    /b\n\n[install]\npre: yes\n")
    assert quick_sections(str(path)) == {
        "global": {"index-url": "https://h", "find-links": "\n/a\n/b"},
        "install": {"pre": "yes"},
    }


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_paths_are_spelled_as_in_urls(path: str) -> None:
    assert file_url_path(path) == quote(path)
