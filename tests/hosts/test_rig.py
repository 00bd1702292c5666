"""The rig does what it says, as the plain `ssh` program sees it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import until
from tests.control_group import groups
from tests.hosts.folders import PREFIX, own_folder, sweep
from tests.hosts.host import Host
from tests.hosts.plain_ssh import PlainSsh

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def ssh(tmp_path):
    return PlainSsh(tmp_path / "client")


@pytest.fixture
def open_host(host, ssh):
    """A host that knows our key."""
    host.authorize(ssh.public_key)
    return host


def connect(host: Host, timeout_s: float = 5.0) -> None:
    socket.create_connection((host.address, host.port), timeout_s).close()


def round_trip_s(host: Host) -> float:
    """How long a connection takes, which is one round trip; the best of five, because this machine may be busy."""
    taken = []
    for _ in range(5):
        started = time.monotonic()
        connect(host)
        taken.append(time.monotonic() - started)
    return min(taken)


def devices() -> "set[str]":
    return set(os.listdir("/sys/class/net"))


def device_names(address: str) -> "set[str]":
    """Of a host whose link is slow."""
    number = address.split(".")[2]
    return {f"jig-{number}", f"jig-slow-{number}"}


# A computer of its own


def test_a_host_is_another_computer(open_host, ssh, tmp_path):
    said = ssh(open_host, "uname -n; id -un; id -u; pwd; command -v python3; echo $PATH; ls -A")
    path = "/usr/local/bin:/usr/bin:/bin:/usr/games"
    assert said.stdout.splitlines() == ["box1", "ada", "2001", "/home/ada", "/usr/bin/python3", path, ".ssh"]
    assert said.stderr.splitlines() == [f"Warning: Permanently added '{open_host.address}' (ED25519) to the list of known hosts."]  # fmt: skip
    assert ssh(open_host, f"ls -d {tmp_path} {REPOSITORY} ~/.pyenv").stdout == ""
    assert ssh(open_host, "touch /usr/bin/x").returncode == 1
    assert ssh(open_host, "python3 -c 'import os; print(os.cpu_count() > 0)'").stdout == "True\n"


def test_its_home_is_seen_from_here(open_host, ssh):
    ssh(open_host, "mkdir 'a folder'; echo there > 'a folder/file'")
    assert (open_host.home / "a folder/file").read_text() == "there\n"
    (open_host.home / "a folder/file").write_text("here\n")
    assert ssh(open_host, "cat 'a folder/file'").stdout == "here\n"
    assert open_host.write("b/c/d", b"from here\n").read_bytes() == b"from here\n"
    assert ssh(open_host, "echo more >> b/c/d; cat b/c/d; stat -c '%U %a' b b/c b/c/d").stdout.splitlines() == [
        "from here", "more", "ada 755", "ada 755", "ada 644",
    ]  # fmt: skip


def test_a_terminal(open_host, ssh):
    assert ssh(open_host, "tty", "-tt").stdout == "/dev/pts/0\n"
    open_host.configure(PermitTTY=False)
    assert "PTY allocation request failed" in ssh(open_host, "tty", "-tt").stderr


def test_files_go_over(open_host, ssh, tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(1_000_000))
    to = f"{open_host.user}@{open_host.address}:"
    subprocess.run(["scp", "-q", "-F", ssh.folder / "config", tmp_path / "file", to], check=True, timeout=60)
    assert (open_host.home / "file").read_bytes() == (tmp_path / "file").read_bytes()


def test_run_and_processes(host):
    assert host.run("id -un; pwd; exit 3").stdout == "ada\n/home/ada\n"
    assert host.run("exit 3").returncode == 3
    assert host.run("id -un; pwd", user="root").stdout == "root\n/root\n"
    host.run("setsid sleep 1234 > /dev/null 2>&1 &")
    until(lambda: host.processes() == ["sleep 1234"])
    host.run("kill -KILL -1", user="root")
    until(lambda: host.processes() == [])


def test_orphans_are_collected(host):
    host.run("for i in 1 2 3; do setsid sleep 0.05 > /dev/null 2>&1 & done")
    until(lambda: host.processes() == [])
    states = [place.read_text().rpartition(")")[2].split()[0] for place in host.root.glob("proc/[0-9]*/stat")]
    assert "Z" not in states


def test_users(host, ssh):
    host.add_user("bob", "secret", home="/home/bob the  builder")
    assert ssh(host, "id -u; pwd", user="bob", password="secret").stdout == "2002\n/home/bob the  builder\n"
    host.authorize(ssh.public_key, user="bob")
    assert ssh(host, "pwd", "-oBatchMode=yes", user="bob").returncode == 0
    assert ssh(host, "cat '/home/bob the  builder/.ssh/authorized_keys'", password=host.password).returncode == 1
    with pytest.raises(KeyError, match="no user 'eve'; it has root, sshd, nobody, ada, bob"):
        host.home_of("eve")


def test_a_program_is_missing_or_made_up(open_host, ssh):
    open_host.without("python3*")
    said = ssh(open_host, "python3 -V")
    assert (said.returncode, said.stdout) == (127, "")
    assert Path("/usr/bin/python3").exists()
    open_host.install("nvidia-smi", "#!/bin/sh\necho a GPU\n")
    assert ssh(open_host, "nvidia-smi").stdout == "a GPU\n"


ASK_TIME = """
import os, time
before = time.monotonic()
time.sleep(0.1)
open("new", "w").close()
os.utime("old", (1e9, 1e9))
print(time.time(), before, time.monotonic() - before >= 0.1, abs(time.time() - os.stat("new").st_mtime) < 5, os.stat("old").st_mtime)
"""


def test_a_wrong_clock(open_host, ssh):
    for offset, seconds in (("-3h", -3 * 3600), ("+2d", 2 * 86400), (None, 0)):
        open_host.set_clock(offset)
        said = ssh(open_host, f"touch old; python3 -c '{ASK_TIME}'; stat -c %Y old; date +%s")
        clock, monotonic, *same, date = said.stdout.split()
        assert same == ["True", "True", "1000000000.0", "1000000000"]
        assert float(clock) == pytest.approx(time.time() + seconds, abs=20)
        assert float(date) == pytest.approx(time.time() + seconds, abs=20)
        assert float(monotonic) == pytest.approx(time.monotonic(), abs=20)


def test_a_small_disk(open_host, ssh):
    open_host.write("before", "kept")
    open_host.home_disk("2m")
    said = ssh(open_host, "cat before; head -c 3000000 /dev/zero > big")
    assert (said.returncode, said.stdout) == (1, "kept")
    assert "No space left on device" in said.stderr
    assert (open_host.home / "big").stat().st_size <= 2 << 20
    open_host.reboot()
    assert ssh(open_host, "cat before; ls").stdout == "keptbefore\nbig\n"
    (open_host.home / "big").unlink()
    assert ssh(open_host, "echo fits > small; cat small").stdout == "fits\n"


# Getting in


def test_a_password(host, ssh):
    assert ssh(host, "echo in", password=host.password).stdout == "in\n"
    wrong = ssh(host, "echo in", password=host.password + "x")
    assert (wrong.returncode, wrong.stdout) == (255, "")
    assert "Permission denied (publickey,password,keyboard-interactive)." in wrong.stderr
    host.configure(PasswordAuthentication="no", KbdInteractiveAuthentication=False)
    assert "Permission denied (publickey)." in ssh(host, "echo in", password=host.password).stderr


def test_a_password_through_pam(host, ssh):
    host.configure(UsePAM=True, PasswordAuthentication=False, KbdInteractiveAuthentication=True)
    assert ssh(host, "echo in", password=host.password).stdout == "in\n"
    assert ssh(host, "echo in", password="wrong").returncode == 255


def test_a_key(host, ssh):
    assert ssh(host, "echo in", "-oBatchMode=yes").returncode == 255
    host.authorize(ssh.public_key)
    assert ssh(host, "echo in", "-oBatchMode=yes").stdout == "in\n"
    (host.home / ".ssh/authorized_keys").chmod(0o666)
    assert ssh(host, "echo in", "-oBatchMode=yes").returncode == 255
    assert "bad ownership or modes for file /home/ada/.ssh/authorized_keys" in host.sshd_log()
    host.forget_keys()
    assert ssh(host, "echo in", "-oBatchMode=yes").returncode == 255


def test_a_changed_host_key_is_refused(open_host, ssh):
    assert ssh(open_host, "true").returncode == 0
    known = (ssh.folder / "known_hosts").read_text().splitlines()
    assert f"{open_host.address} {open_host.host_key()}" in known
    before = open_host.host_fingerprint()
    open_host.new_host_key()
    said = ssh(open_host, "echo in")
    assert (said.returncode, said.stdout) == (255, "")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in said.stderr
    assert before != open_host.host_fingerprint()
    assert open_host.host_fingerprint() in said.stderr


@pytest.mark.parametrize("shell", ["/usr/bin/bash", "/usr/bin/tcsh", "/usr/bin/fish"])
def test_shells_and_what_they_print(open_host, ssh, shell):
    open_host.shell(shell)
    ask = "sh -c 'readlink /proc/$PPID/exe'; true"
    assert ssh(open_host, ask).stdout == f"{shell}\n"
    open_host.banner("Ünauthorized use\n\tis 'forbidden' $HOME\n")
    said = ssh(open_host, ask)
    assert said.stdout == f"Ünauthorized use\n\tis 'forbidden' $HOME\n{shell}\n"
    assert said.stderr.splitlines() == ["Ünauthorized use", "\tis 'forbidden' $HOME"]


# The server


def test_a_setting_that_sshd_refuses_changes_nothing(open_host, ssh):
    with pytest.raises(ValueError, match="Bad configuration option: NoSuchThing"):
        open_host.configure(NoSuchThing=1)
    assert ssh(open_host, "echo in").stdout == "in\n"


def test_another_port(open_host, ssh):
    open_host.configure(Port=2222)
    assert open_host.port == 2222
    assert ssh(open_host, "echo in").stdout == "in\n"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((open_host.address, 22))


def test_max_sessions(open_host, ssh):
    open_host.configure(MaxSessions=1)
    share = f"-oControlPath={ssh.folder}/c"
    first = ssh.start(open_host, "echo first; cat", "-M", share)
    assert first.stdout.readline() == "first\n"
    second = ssh(open_host, "echo second", share, "-oBatchMode=yes", "-oProxyCommand=false")
    assert (second.returncode, second.stdout) == (255, "")
    assert "Session open refused by peer" in second.stderr
    first.communicate(timeout=10)
    assert ssh(open_host, "echo alone").stdout == "alone\n"


def test_max_startups(open_host, ssh):
    open_host.configure(MaxStartups="1")
    with socket.create_connection((open_host.address, open_host.port)) as waiting:
        assert waiting.recv(4) == b"SSH-"
        assert ssh(open_host, "echo in").returncode == 255
    until(lambda: ssh(open_host, "echo in").stdout == "in\n")


def test_the_server_stops_while_a_session_goes_on(open_host, ssh):
    session = ssh.start(open_host, "echo on; cat")
    assert session.stdout.readline() == "on\n"
    open_host.stop_sshd()
    assert "Connection refused" in ssh(open_host, "true").stderr
    open_host.start_sshd()
    assert ssh(open_host, "echo in").stdout == "in\n"
    assert session.communicate("still here", timeout=10)[0] == "still here"


def test_the_server_is_killed_while_a_process_goes_on(open_host, ssh):
    session = ssh.start(open_host, "echo on; exec sleep 1234")
    assert session.stdout.readline() == "on\n"
    open_host.kill_sshd()
    assert session.wait(10) == 255
    session.communicate()
    assert open_host.processes() == ["sleep 1234"]
    assert "Connection refused" in ssh(open_host, "true").stderr
    open_host.restart_sshd()
    assert ssh(open_host, "echo in").stdout == "in\n"


# The network


def test_a_cut_is_silent_and_heals(open_host, ssh):
    counting = ssh.start(open_host, "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.02; done")
    assert counting.stdout.readline() == "0\n"
    open_host.cut()
    new = ssh(open_host, "true", "-oConnectTimeout=1")
    assert new.returncode == 255
    assert "Connection timed out" in new.stderr
    assert counting.poll() is None, "the connection is half-open, nobody has been told"
    open_host.mend()
    rest, _ = counting.communicate(timeout=30)
    assert rest.split() == [str(i) for i in range(1, 40)]
    assert ssh(open_host, "echo in").stdout == "in\n"


def test_alive_checks_notice_a_cut(open_host, ssh):
    session = ssh.start(open_host, "echo on; cat", "-oServerAliveInterval=1", "-oServerAliveCountMax=1")
    assert session.stdout.readline() == "on\n"
    open_host.cut()
    assert session.wait(10) == 255
    assert session.communicate()[1].endswith(f"Timeout, server {open_host.address} not responding.\n")


def test_delay(host):
    assert round_trip_s(host) < 0.02
    host.slow(delay_ms=100)
    assert 0.1 <= round_trip_s(host) < 0.2
    host.slow(delay_ms=20)
    assert 0.02 <= round_trip_s(host) < 0.1
    host.cut()
    with pytest.raises(TimeoutError):
        connect(host, 0.3)
    host.mend()
    assert 0.02 <= round_trip_s(host) < 0.1
    host.fast()
    assert round_trip_s(host) < 0.02


def test_loss_and_rate(open_host, ssh):
    def fetch() -> bytes:
        return subprocess.run(ssh.words(open_host, "cat data"), capture_output=True, timeout=60).stdout

    data = os.urandom(1_000_000)
    open_host.write("data", data)
    open_host.slow(delay_ms=0, rate_mbit=16)
    started = time.monotonic()
    assert fetch() == data
    assert time.monotonic() - started >= 0.5
    open_host.slow(delay_ms=1, loss_percent=5)
    assert fetch() == data
    open_host.slow(delay_ms=1, loss_percent=100)
    with pytest.raises(TimeoutError):
        connect(open_host, 0.3)


def test_two_hosts_know_nothing_of_each_other(two_hosts, ssh):
    for host in two_hosts:
        host.authorize(ssh.public_key)
    ask = "uname -n; cat /etc/machine-id /proc/sys/kernel/random/boot_id; ls"
    first, second = (ssh(host, ask).stdout.split() for host in two_hosts)
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)
    assert two_hosts[0].host_key() != two_hosts[1].host_key()
    knock = f"echo > /dev/tcp/{two_hosts[1].address}/22"
    assert "Network is unreachable" in ssh(two_hosts[0], knock).stderr
    two_hosts[0].cut()
    assert ssh(two_hosts[1], "echo in").stdout == "in\n"


def test_a_jump_host(jump, ssh):
    gate, inner = jump
    for host in jump:
        host.authorize(ssh.public_key)
    assert ssh(inner, "true", "-oConnectTimeout=1").returncode == 255
    through = f"-J{gate.user}@{gate.address}"
    assert ssh(inner, "uname -n", through).stdout == "inner\n"
    by_name = ["ssh", "-F", ssh.folder / "config", through, "ada@inner", "uname -n"]
    assert subprocess.run(by_name, capture_output=True, timeout=60).stdout == b"inner\n"
    inner.slow(delay_ms=60)
    started = time.monotonic()
    assert ssh(inner, "uname -n", through).stdout == "inner\n"
    assert time.monotonic() - started > 0.3
    inner.cut()
    assert ssh(inner, "uname -n", through, "-oConnectTimeout=1").returncode == 255
    assert ssh(gate, "uname -n").stdout == "gate\n"


# Its end


def test_a_reboot_ends_every_process(open_host, ssh):
    session = ssh.start(open_host, "setsid sleep 1234 > /dev/null 2>&1 & touch /tmp/t ~/h; echo on; cat")
    assert session.stdout.readline() == "on\n"
    boot_id = ssh(open_host, "cat /proc/sys/kernel/random/boot_id").stdout.strip()
    assert boot_id == open_host.boot_id() != Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert {"cat", "sleep 1234"} <= set(open_host.processes())
    key = open_host.host_key()
    open_host.reboot()
    assert session.wait(10) == 255
    session.communicate()
    assert open_host.processes() == []
    assert ssh(open_host, "cat /proc/sys/kernel/random/boot_id; ls ~ /tmp").stdout.splitlines() == [
        open_host.boot_id(), "/home/ada:", "h", "", "/tmp:",
    ]  # fmt: skip
    assert open_host.boot_id() != boot_id
    assert open_host.host_key() == key


def test_a_power_failure_says_no_goodbye(open_host, ssh):
    session = ssh.start(open_host, "echo on; cat", "-oServerAliveInterval=1", "-oServerAliveCountMax=2")
    assert session.stdout.readline() == "on\n"
    open_host.cut()
    open_host.reboot()
    time.sleep(0.2)
    assert session.poll() is None
    open_host.mend()
    assert session.wait(20) == 255
    session.communicate()


def test_a_frozen_machine_takes_what_is_sent_and_answers_nothing(open_host, ssh):
    session = ssh.start(open_host, "echo on; cat")
    assert session.stdout.readline() == "on\n"
    open_host.freeze()
    connect(open_host)
    assert ssh(open_host, "true", "-oConnectTimeout=1").returncode == 255
    open_host.thaw()
    assert session.communicate("still here", timeout=10)[0] == "still here"


def test_systemd_knows_of_logins(open_host, ssh):
    open_host.boot_systemd(KillUserProcesses="yes")
    left = ssh(open_host, "echo $XDG_RUNTIME_DIR $XDG_SESSION_CLASS; setsid sleep 1234 > /dev/null 2>&1 &")
    assert left.stdout == "/run/user/2001 user\n"
    until(lambda: "sleep 1234" not in open_host.processes(), what="what logind does to processes of a login that ended")
    kernel = Path("/proc/sys/fs/file-max").read_text()
    open_host.reboot()
    assert ssh(open_host, "loginctl show-user ada -p Linger; cat /proc/sys/kernel/random/boot_id").stdout.splitlines() == [
        "Linger=no", open_host.boot_id(),
    ]  # fmt: skip
    assert Path("/proc/sys/fs/file-max").read_text() == kernel


def group_names() -> "set[str]":
    return {place.name for place in groups(f"{PREFIX}*")}


def test_nothing_is_left_of_a_host(host):
    descriptors, before = len(os.listdir("/proc/self/fd")), group_names()
    with own_folder() as folder:
        short = Host("short", folder / "short")
        short.slow()
        short.boot_systemd()
        init, names = short.root.parent, device_names(short.address)
        assert init.exists()
        assert names <= devices()
        assert group_names() - before == {f"{folder.name}-short"}
        short.close()
    assert not init.exists()
    assert not folder.exists()
    assert not names & devices()
    assert group_names() == before
    assert device_names(host.address) & devices()
    assert len(os.listdir("/proc/self/fd")) == descriptors


PROCESS = """
import sys, time
from tests.hosts.folders import own_folder
from tests.hosts.host import Host
with own_folder() as folder:
    host = Host("doomed", folder / "doomed")
    host.slow()
    host.boot_systemd()
    host.run("setsid sleep 4321 > /dev/null 2>&1 &")
    print(folder, host.root.parent.name, host.address, flush=True)
    time.sleep(600)
"""


def test_a_killed_test_process_leaves_nothing(host):
    doomed = subprocess.Popen([sys.executable, "-c", PROCESS], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    folder, init, address = doomed.stdout.readline().split()
    assert address != host.address
    sweep()
    assert Path(folder).is_dir(), "its process lives"
    assert device_names(address) <= devices()
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    until(lambda: not Path(f"/proc/{init}").exists(), what="the end of the host's processes")
    until(lambda: not device_names(address) & devices(), what="the end of its network")
    assert f"{Path(folder).name}-doomed" in group_names()
    sweep()
    assert not Path(folder).exists()
    assert f"{Path(folder).name}-doomed" not in group_names()
    assert host.run("echo here").stdout == "here\n"
