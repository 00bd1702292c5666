"""The ssh command line as a value, addresses, and what ssh's own words mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.errors import MachineError, UsageError
from jig.machines import host_key, ssh_command, ssh_errors
from jig.machines.address import Address

BOX = Address("ada", "gpu1")
KEPT = ("ControlMaster=auto", "ControlPersist=600")
ALWAYS = {
    "HostKeyAlias=jig-ada@gpu1",
    'UserKnownHostsFile="/h/known_hosts"',
    "GlobalKnownHostsFile=none",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "VerifyHostKeyDNS=no",
    "HashKnownHosts=no",
    "ConnectTimeout=15",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "LogLevel=ERROR",
}


def options_of(words: "tuple[str, ...]") -> "list[str]":
    return [after for word, after in zip(words, words[1:], strict=False) if word == "-o"]


def test_a_command():
    words = ssh_command.command(BOX, "/h/known_hosts", ssh_command.own_key("/h/key"), "/run/c", "exec python3 x")
    assert words[:2] == ("ssh", "-T")
    assert words[-3:] == ("--", "ada@gpu1", "exec python3 x")
    mine = {
        'IdentityFile="/h/key"',
        "IdentitiesOnly=yes",
        "PubkeyAuthentication=yes",
        "BatchMode=yes",
        *KEPT,
        "ControlPath=/run/c",
    }
    assert set(options_of(words)) == ALWAYS | mine
    assert 'IdentityFile="/h/key"' in words
    assert "-p" not in words


def test_without_a_control_connection_and_with_any_key():
    words = ssh_command.command(BOX, "/h/known_hosts", ssh_command.any_key(), "", "exit")
    assert set(options_of(words)) == ALWAYS | {"BatchMode=yes", "ControlMaster=no", "ControlPath=none"}
    assert not any(word.startswith("IdentityFile") for word in words)


def test_the_control_connection_is_let_go():
    assert ssh_command.leave(BOX, "/run/c")[:3] == ("ssh", "-O", "stop")


def test_a_port_and_another_trust():
    words = ssh_command.options(Address("ada", "gpu1", 2222), "/h/known_hosts", strict="accept-new")
    assert words[-2:] == ("-p", "2222")
    assert "StrictHostKeyChecking=accept-new" in words


def test_the_socket_has_a_short_path(monkeypatch):
    monkeypatch.setenv("JIG_HOME", "/home/" + "long/" * 60)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    path = ssh_command.control_path(BOX, "/k")
    assert len(path) < 60 and path.startswith("/run/user/1000/jig-")
    assert ssh_command.control_path(Address("ada", "gpu2"), "/k") != path
    assert ssh_command.control_path(BOX, "/other") != path


def test_a_long_runtime_folder_is_not_used(monkeypatch):
    """A socket's path has about a hundred bytes: some systems give a temporary folder that is longer."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/" + "1" * 100)
    assert len(ssh_command.control_path(BOX, "/k")) < 90


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("gpu1", "gpu1", None),
        ("gpu1:2222", "gpu1", 2222),
        ("10.0.0.1:22", "10.0.0.1", 22),
        ("::1", "::1", None),
        ("[::1]", "::1", None),
        ("[fe80::1%eth0]:2222", "fe80::1%eth0", 2222),
        ("my-cluster-ssh.azurehdinsight.net", "my-cluster-ssh.azurehdinsight.net", None),
    ],
)
def test_addresses(text, host, port):
    address = Address.parse("ada", text)
    assert (address.host, address.port) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oX=y",
        "a b",
        "a:0",
        "a:65536",
        "a:x",
        "a/b",
        "a'b",
        'a"b',
        "a\nb",
        "[::1]x22",
        "[::1",
        "eve@a",
        "a;b",
        "$(a)",
        "`a`",
        "a\\b",
        "a:²",
    ],
)
def test_no_addresses(text):
    with pytest.raises(UsageError):
        Address.parse("ada", text)


def test_an_address_can_be_written_down_and_read_again():
    for text in ("gpu1", "gpu1:2222", "::1", "[::1]:22", "[::1:22]:22", "[fe80::1%eth0]:22"):
        address = Address.parse("ada", text)
        assert (address.place, Address.parse("ada", address.place)) == (text, address)
    assert Address.parse("ada", "::1:22").slug != Address.parse("ada", "[::1]:22").slug
    assert len(Address.parse("ada", "gpu" * 80).slug) < 200


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_address_is_one_word_that_is_no_option(user, host):
    try:
        address = Address.parse(user, host)
    except UsageError:
        return
    word = ssh_command.destination(address)[1]
    assert not word.startswith("-") and not any(c.isspace() for c in word)
    slug = address.slug
    assert "/" not in slug and slug not in (".", "..") and slug.isascii() and slug.isprintable()


@given(
    *[
        st.tuples(
            st.text(alphabet="ab@.-:_é", min_size=1),
            st.text(alphabet="ab@.-_é", min_size=1),
            st.none() | st.integers(1, 65535),
        )
    ]
    * 2
)
def test_two_logins_never_share_a_folder(one, two):
    first, second = Address(*one), Address(*two)
    assert (first.slug == second.slug) == (str(first) == str(second))


CHANGED = """@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
The fingerprint for the ED25519 key sent by the remote host is
SHA256:found.
Please contact your system administrator.
Host key for jig-ada@gpu1 has changed and you have requested strict checking.
Host key verification failed.
"""


def test_a_changed_key_is_told_with_both_fingerprints():
    error = ssh_errors.explain("box", 255, CHANGED, "SHA256:pinned")
    assert isinstance(error, ssh_errors.HostKeyChanged)
    assert error.message.splitlines()[1:] == ["  pinned  SHA256:pinned", "  found   SHA256:found"]


def test_a_key_that_changed_on_the_way_is_not_the_machines():
    error = ssh_errors.explain("box", 255, CHANGED.replace("jig-ada@gpu1", "gate"), "SHA256:pinned")
    assert type(error) is ssh_errors.Unreachable and "a jump host on the way there" in error.message


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", ()),
        ("proxyjump none\\n", ()),
        ("user ada\\nproxyjump gate\\n", (("gate", "ssh gate"),)),
        ("proxyjump eve@[gate]:2222\\n", (("eve@gate", "ssh -p 2222 eve@gate"),)),
        ("proxyjump a,eve@[::1]:22\\n", (("a", "ssh a"), ("eve@::1", "ssh -J a eve@::1"))),
    ],
)
def test_jump_hosts(tmp_path, monkeypatch, settings, expected):
    (tmp_path / "ssh").write_text(f"#!/bin/sh\n[ \"$*\" = '-G -- ada@gpu1' ] && printf '{settings}'\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert host_key.jumps(BOX) == expected


@pytest.mark.parametrize(
    ("code", "said", "kind", "words"),
    [
        (255, "ada@gpu1: Permission denied (publickey,password).", ssh_errors.LoginRefused, "refused the login"),
        (255, "Received disconnect from gpu1: Too many authentication failures", ssh_errors.LoginRefused, "Too many"),
        (127, "bash: line 1: exec: python3: not found", MachineError, "there is no python3 on box"),
        (
            255,
            "ssh: connect to host gpu1 port 22: Connection timed out",
            ssh_errors.Unreachable,
            "Connection timed out",
        ),
        (255, "", ssh_errors.Unreachable, "cannot be reached"),
        (1, "ImportError: no module named json", MachineError, "ImportError: no module named json"),
        (2, "tar: .jig: Cannot mkdir: No space left on device", MachineError, "No space left on device"),
        (
            2,
            "tar: .jig: Cannot mkdir: Permission denied\ntar: Exiting",
            MachineError,
            "Cannot mkdir: Permission denied",
        ),
    ],
)
def test_what_ssh_said(code, said, kind, words):
    error = ssh_errors.explain("box", code, said, "")
    assert type(error) is kind and words in error.message
    assert ("refused the login" in error.message) == (kind is ssh_errors.LoginRefused)
