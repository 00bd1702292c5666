"""Attached machines later on: detached, used by two names, never attached on this computer, with an old file."""

import os

import pytest

from tests.conftest import alive
from tests.ssh.attaching import authorized, two_files
from tests.ssh.conftest import attach_words

OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther other@elsewhere"


# Detached


def test_detach(box, host, project, cli, jig_home, client):
    project.write("a.py", "open('outputs/x', 'w').write('kept')\nprint('ran')")
    run_id = box.submit("a.py").run_id
    said = cli("computetarget", "detach", "box")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"ada@{host.address} is forgotten here, for every project; runs that were brought home stay in the record",
        "deleted aml_config/box.runconfig",
        "deleted aml_config/box.compute",
    ]
    assert two_files(project) == set() and list((jig_home / "machines").iterdir()) == []
    assert alive(str(client.sockets)) == [], "the control connection is closed"
    # What came home stays readable, and nothing else is disturbed by a machine that is not known any more.
    assert [record["run_id"] for record in cli("history", "list", "-o", "json").json()] == [run_id]
    assert cli("logs", run_id).out == "ran\n"
    assert cli("status", run_id, "-o", "json").json()["state"] == "Completed"
    assert cli("history", "info", run_id, "-a", "outputs/x").out == "kept"
    assert cli("experiment", "clean").code == 0


def test_a_run_that_goes_on_there(box, project, cli):
    """Its machine is detached while it runs: that is told, what was seen stays readable, and its copy can go."""
    project.write("a.py", "import time; print('begun', flush=True); time.sleep(999)")
    run_id = box.start("a.py")
    told = f"not ended when it was seen last, and out of reach until you attach it again: {run_id}\n"
    assert told in cli("computetarget", "detach", "box").out
    status = cli("status", run_id, "-o", "json")
    assert status.code == 0 and "is not attached on this computer any more" in status.json()["last_seen"]
    refused = cli("cancel", run_id)
    assert refused.code == 125
    assert "hint: attach it again, under any name:  jig computetarget attach remote -n NAME -a" in refused.err
    assert cli("history", "delete", "-r", run_id).code == 0
    assert cli("history", "list", "-o", "json").json() == []


def test_a_home_that_cannot_be_written_is_told(host, project, cli):
    words = attach_words(host, "--password", host.password, "--jig-home", "/proc/nowhere")
    said = cli(*words)
    assert said.code == 0
    assert (
        "bad  disk: /proc/nowhere cannot be written\n     fix: set jigHome, in the .compute file, to a folder of yours\n"
        in said.out
    )


@pytest.fixture
def keyed(host, project, cli):
    """A machine that was attached as `box` with a password: a key of jig's is there, below another one."""
    host.authorize(OTHER)
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    return authorized(host)[1]


def test_detach_tells_where_the_key_is(keyed, host, project, cli):
    said = cli("computetarget", "detach", "box")
    where = f"~/.ssh/authorized_keys of ada on {host.address}"
    assert said.out.splitlines()[1:3] == [f"the line of jig's key stays in {where}, until you remove it there:", keyed]
    assert authorized(host) == [OTHER, keyed]


def test_detach_removes_the_key(keyed, host, project, cli, jig_home):
    said = cli("computetarget", "detach", "box", "--remove-key")
    assert said.code == 0, said.err
    removed = f"removed the line of jig's key from ~/.ssh/authorized_keys of ada on {host.address}"
    assert said.out.splitlines()[0] == removed and "stays in" not in said.out
    assert authorized(host) == [OTHER]
    assert two_files(project) == set() and list((jig_home / "machines").iterdir()) == []


def test_detach_keeps_everything_when_the_key_cannot_be_removed(keyed, host, project, cli, client):
    client.hang_up()
    host.stop_sshd()
    said = cli("computetarget", "detach", "box", "--remove-key")
    assert said.code == 125 and "Connection refused" in said.err and "without --remove-key" in said.err
    assert two_files(project) == {".compute", ".runconfig"}
    host.start_sshd()
    assert cli("computetarget", "check", "box").code == 0


def test_detach_where_there_is_no_key_of_ours(box, host, cli):
    said = cli("computetarget", "detach", "box", "--remove-key")
    assert said.code == 0 and said.out.startswith(
        f"jig made no key for ada@{host.address}: there is no line to remove\n"
    )
    assert len(authorized(host)) == 1


def test_detach_one_of_two_names_of_a_login(keyed, host, project, cli):
    assert cli(*attach_words(host, name="other")).code == 0
    said = cli("computetarget", "detach", "other", "--remove-key")
    assert said.code == 2 and f"box logs in with the key of ada@{host.address} too" in said.err
    assert two_files(project, "other") == {".compute", ".runconfig"}
    said = cli("computetarget", "detach", "other")
    assert said.code == 0 and f"the key of ada@{host.address} stays: box uses it" in said.out
    assert two_files(project, "other") == set()
    assert cli("computetarget", "check", "box").code == 0


def test_detach_beside_a_file_with_faults(keyed, project, cli):
    """Whether it names the same login cannot be known: nothing is half detached."""
    project.write("aml_config/broken.compute", "type: remoot\n")
    assert cli("computetarget", "detach", "box").code == 125
    assert two_files(project) == {".compute", ".runconfig"}
    assert cli("computetarget", "check", "box").code == 0


# Not attached on this computer


@pytest.mark.parametrize("secret", ["", "password: AzureMlSecret=box#ada#0123456789abcdef0123456789abcdef\n"])
def test_a_machine_that_was_never_attached(project, cli, client, secret):
    text = f"type: remote\naddress: gpu1:2222\nusername: CORP\\ada\njigHome: /scratch/a b\n{secret}"
    project.write("aml_config/box.compute", text)
    project.runconfig("box")
    project.write("a.py", "print(1)")
    command = r"jig computetarget attach remote -n box -a gpu1:2222 -u 'CORP\ada' --jig-home '/scratch/a b'"
    for words in (("submit", "-c", "box", "a.py"), ("computetarget", "check", "box"), ("history", "sync", "-c", "box")):
        said = cli(*words)
        assert said.code == 125 and "box (CORP\\ada@gpu1:2222) is not attached on this computer" in said.err
        assert f"attach it once:  {command}\n" in said.err
        assert ("hint: the password that box.compute names was in the old Workbench's own store; " in said.err) == bool(
            secret
        )
        assert "0123456789abcdef" not in said.err
    assert cli("history", "list", "-o", "json").json() == []
    assert client.calls() == []


def test_an_old_file_with_a_secret(project, cli, host):
    text = f"type: remotedocker\naddress: {host.address}\nusername: ada\npassword: AzureMlSecret=abc-123\n"
    text += "baseDockerImage: microsoft/mmlspark:plus-0.9.9\n"
    project.write("aml_config/box.compute", text)
    project.runconfig("box")
    said = cli("computetarget", "check", "box")
    command = f"jig computetarget attach remotedocker -n box -a {host.address} -u ada"
    assert said.code == 125 and command in said.err and "abc-123" not in said.err
    # Attaching the same name keeps the file, and works from then on.
    again = cli(*attach_words(host, "--password", host.password, kind="remotedocker"))
    assert again.code == 0 and "attached box again; its files are as they were" in again.out
    assert (project.path / "aml_config/box.compute").read_text() == text
    for verb, code in (("check", 1), ("show", 0)):  # one that has no Docker, and is to run containers, is not well
        said = cli("computetarget", verb, "box")
        assert said.code == code and "abc-123" not in said.out
        assert (
            said.err
            == "note: box.compute holds AzureMlSecret=… of the old Workbench; it is not used, and can be deleted\n"
        )


def test_a_file_with_a_password(keyed, project, cli):
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text() + "password: hunter2\n")
    said = cli("computetarget", "show", "box", "-o", "json")
    assert said.json()["address"] and "hunter2" not in said.out
    assert said.err == "note: box.compute holds a password; it is not used, and can be deleted\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("remotedocker",), "box.compute says `type: remote`, not remotedocker"),
        (("remote", "--jig-home", "/elsewhere"), "box.compute says `jigHome: /scratch/ada`, not /elsewhere"),
    ],
)
def test_attaching_again_changes_no_file(host, project, cli, client, words, told):
    project.write(
        "aml_config/box.compute", f"type: remote\naddress: {host.address}\nusername: ada\njigHome: /scratch/ada\n"
    )
    said = cli(*attach_words(host, *words[1:], kind=words[0]))
    assert said.code == 2 and told in said.err
    assert client.calls() == []


def test_attaching_again_looks_where_the_file_says(host, project, cli):
    host.write("big/x", "")
    project.write(
        "aml_config/box.compute", f"type: remote\naddress: {host.address}\nusername: ada\njigHome: ~/big/jig\n"
    )
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0 and "free for /home/ada/big/jig\n" in said.out


def test_the_folder_of_the_sockets_is_ours(box, host, project, cli, client, monkeypatch, tmp_path):
    """In /tmp anybody may make a folder of that name first: what waits there must not be spoken to."""
    client.hang_up()
    (folder,) = client.sockets.glob("jig-*")
    os.chown(folder, 12345, 12345)
    folder.chmod(0o777)
    project.write("a.py", "print('past them')")
    said = box.submit("a.py")
    assert list(folder.iterdir()) == [], "a socket was put where somebody else rules"
    assert "past them\n" in said.out or "belongs to somebody else" in said.err
    os.chown(folder, os.getuid(), os.getgid())
