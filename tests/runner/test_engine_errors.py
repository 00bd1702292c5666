"""What docker, sudo, registries and NVIDIA's tools really print (of several versions) becomes a sentence and a fix."""

import pytest

from jig.runner.engine import explain
from jig.runner.engine_errors import ELSEWHERE, GROUP, OVER_SSH, START, all_tried, own_words
from jig.runner.engine_refusals import BRING, DRIVER, LOGIN, ROOT, TOOLKIT, WITHOUT

OCI = "docker: Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
HOOK = (
    OCI
    + "error during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: "
)
OLD_HOOK = "docker: Error response from daemon: OCI runtime create failed: container_linux.go:380: starting container process caused: process_linux.go:545: container init caused: Running hook #0:: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: "
SEE = "\nSee 'docker run --help'.\n"
RUN = "\n\nRun 'docker run --help' for more information\n"
CANCELED = 'time="2026-11-16T17:18:15Z" level=error msg="error waiting for container: context canceled"\n'
SOCKET = "unix:///var/run/docker.sock"
NOT_ALLOWED = f'permission denied while trying to connect to the Docker daemon socket at {SOCKET}: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.24/info": dial unix /var/run/docker.sock: connect: permission denied\n'

REACH = [
    (f"Cannot connect to the Docker daemon at {SOCKET}. Is the docker daemon running?\n",
     "not-running", "the Docker engine is not running (nobody answers at /var/run/docker.sock)", START),
    (f"failed to connect to the docker API at {SOCKET}; check if the path is correct and if the daemon is running: dial unix /var/run/docker.sock: connect: no such file or directory",
     "not-running", "the Docker engine is not running (nobody answers at /var/run/docker.sock)", START),
    ("Cannot connect to the Docker daemon at tcp://127.0.0.1:1. Is the docker daemon running?\n",
     "not-running", "no Docker engine answers at tcp://127.0.0.1:1",
     "start the engine there, correct DOCKER_HOST, or unset it for the engine of this machine"),
    ("WARNING: Error loading config file: open /root/.docker/config.json: permission denied\n" + NOT_ALLOWED,
     "permission", "this user may not use the Docker engine (/var/run/docker.sock: permission denied)", GROUP),
    (f"permission denied while trying to connect to the docker API at {SOCKET}\n",
     "permission", "this user may not use the Docker engine (/var/run/docker.sock: permission denied)", GROUP),
    ("sudo: a password is required\n", "permission", "docker cannot be started through sudo: it asks for a password", GROUP),
    ("sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper\nsudo: a password is required\n",
     "permission", "docker cannot be started through sudo: it asks for a password", GROUP),
    ("Sorry, user ada is not allowed to execute '/usr/bin/docker image inspect x' as root on gpu1.\n",
     "permission", "docker cannot be started through sudo: this user may not start docker with it", GROUP),
    ("sudo: docker: command not found\n",
     "permission", "docker cannot be started through sudo: it does not find the program docker", GROUP),
    ('error during connect: Get "http://nohost.invalid:2375/v1.50/images/x/json": dial tcp: lookup nohost.invalid on 10.0.0.53:53: no such host\n',
     "not-running", "there is no host named nohost.invalid, where the engine should be",
     "correct DOCKER_HOST, or unset it for the engine of this machine"),
    ('error during connect: Get "http://10.9.9.9:2375/v1.50/info": dial tcp 10.9.9.9:2375: i/o timeout\n',
     "not-running", 'the Docker engine cannot be reached (docker says: Get "http://10.9.9.9:2375/v1.50/info": dial tcp 10.9.9.9:2375: i/o timeout)',
     "`docker info` must answer; DOCKER_HOST and `docker context ls` say where the engine is looked for"),
    ("Failed to initialize: unable to resolve docker endpoint: invalid bind address format: foo://x\n",
     "not-running", "foo://x is not the address of an engine", "set DOCKER_HOST to one such as unix:///var/run/docker.sock, or unset it"),
    ('error during connect: Get "http://docker.example.com/v1.50/info": command [ssh -o ConnectTimeout=30 -T -l ada -p 1 -- 127.0.0.1 docker system dial-stdio] has exited with exit status 255, make sure the URL is valid, and Docker 18.09 or later is installed on the remote host: stderr=ssh: connect to host 127.0.0.1 port 1: Connection refused\n\n',
     "not-running", "the engine cannot be reached over ssh (ssh: connect to host 127.0.0.1 port 1: Connection refused)",
     "the ssh command must work without a question: try `ssh HOST docker version` with the host of DOCKER_HOST"),
    ('Failed to initialize: unable to resolve docker endpoint: context "nope": context not found: open /root/.docker/contexts/meta/ca37/meta.json: no such file or directory\n',
     "not-running", "there is no docker context named nope",
     "`docker context ls` lists them: `docker context use default`, and unset DOCKER_CONTEXT where it is set"),
    ("Error response from daemon: client version 1.99 is too new. Maximum supported API version is 1.41\n",
     "refused", "the docker program is too new for this engine: it speaks version 1.99, and the engine 1.41 at most",
     "set DOCKER_API_VERSION=1.41, or unset it where it is set; or bring the engine up to date"),
    ("Error response from daemon: client version 1.24 is too old. Minimum supported API version is 1.44, please upgrade your client to a newer version\n",
     "refused", "the docker program is too old for this engine: it speaks version 1.24, and the engine 1.44 and newer",
     "install a newer docker program; where DOCKER_API_VERSION is set, unset it"),
    ("unable to resolve docker endpoint: open /root/.docker/ca.pem: no such file or directory\n",
     "not-running", "the connection to the engine is to be encrypted, and there is no /root/.docker/ca.pem for that",
     "unset DOCKER_TLS_VERIFY and DOCKER_TLS, or set DOCKER_CERT_PATH to the folder of ca.pem, cert.pem and key.pem"),
    ('error during connect: Get "https://10.0.0.1:2376/v1.24/info": x509: certificate signed by unknown authority\n',
     "permission", "the engine and this machine do not accept each other's certificates (docker says: Get \"https://10.0.0.1:2376/v1.24/info\": x509: certificate signed by unknown authority)",
     "DOCKER_CERT_PATH must be the folder with the ca.pem, cert.pem and key.pem that belong to this engine"),
    ("Error response from daemon: Client sent an HTTP request to an HTTPS server.\n",
     "not-running", "the engine and the docker program do not agree on whether their connection is encrypted (docker says: Client sent an HTTP request to an HTTPS server)",
     "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH for an engine with TLS, and unset both for one without"),
    ('time="2026-11-16T17:18:15Z" level=error msg="error waiting for container: unexpected EOF"\n',
     "not-running", "the Docker engine went away in the middle of it",
     "`docker info` shows whether it runs again; then submit again"),
]  # fmt: skip

GPU = [
    ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n' + CANCELED,
     'the engine cannot give a container a GPU (docker says: could not select device driver "" with capabilities: [[gpu]])', TOOLKIT),
    ('docker: Error response from daemon: could not select device driver "cdi" with capabilities: []' + RUN,
     'the engine cannot give a container a GPU (docker says: could not select device driver "cdi" with capabilities: [])', TOOLKIT),
    ("docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all" + RUN,
     "the engine has no description of a GPU named all",
     "let NVIDIA's container toolkit write it: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`" + ROOT),
    ("docker: nvidia.com/gpu=all is not an absolute path." + SEE,
     "the docker program is too old for this way to give a container a GPU",
     "install a docker program of version 25 or newer; " + WITHOUT),
    ("docker: Error response from daemon: Unknown runtime specified nvidia." + SEE, "the engine has no runtime named nvidia", TOOLKIT),
    ("docker: Error response from daemon: unknown or invalid runtime name: nvidia" + RUN, "the engine has no runtime named nvidia", TOOLKIT),
    ("unknown flag: --gpus" + SEE, "the docker program is too old to know --gpus",
     "install a docker program of version 19.03 or newer; " + WITHOUT),
    ('docker: Error response from daemon: error gathering device information while adding custom device "/dev/nvidia0": no such file or directory.\n',
     "the machine of the engine has no device /dev/nvidia0", DRIVER),
    (OLD_HOOK + "initialization error: nvml error: driver not loaded: unknown.\n", "the NVIDIA driver of the machine is not loaded", DRIVER),
    (HOOK + "initialization error: driver rpc error: failed to process request: unknown" + RUN,
     "NVIDIA's container toolkit cannot speak with the driver (docker says: nvidia-container-cli: initialization error: driver rpc error: failed to process request)",
     "`nvidia-smi` must work on the machine itself; a restart of the machine brings the two together" + ROOT),
    (HOOK + "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown.\n",
     "the machine lacks libraries of the NVIDIA driver (docker says: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory)",
     DRIVER),
    (HOOK + "initialization error: nvml error: driver/library version mismatch: unknown.\n",
     "the NVIDIA driver was updated while the old one is still loaded", "restart the machine" + ROOT),
    (OLD_HOOK + "initialization error: cuda error: no cuda-capable device is detected: unknown.\n",
     "the NVIDIA driver finds no GPU (docker says: nvidia-container-cli: initialization error: cuda error: no cuda-capable device is detected)",
     "`nvidia-smi -L` on the machine must list one: a GPU may have fallen off its bus, which a restart repairs" + ROOT),
    (HOOK + "device error: 3: unknown device: unknown.\n", "the machine has no GPU 3",
     "ask for fewer: `nvidia-smi -L` on the machine lists those there are"),
    (HOOK + "requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version, or use an earlier cuda container: unknown.\n",
     "the image needs a newer NVIDIA driver than the machine has (cuda>=12.4)",
     "take a base image for an older CUDA, or let the administrator update the driver"),
    (HOOK + "mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown.\n",
     "the engine has no right to hand out the GPU (docker says: nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted)",
     "for an engine without root: `sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place`, and restart the engine" + ROOT),
    (HOOK + "detection error: nvml error: unknown error: unknown" + RUN,
     "NVIDIA's container toolkit failed (detection error: nvml error: unknown error)",
     "`nvidia-smi` on the machine and `sudo nvidia-container-cli info` show what is wrong" + ROOT),
]  # fmt: skip

IMAGES = [
    ('Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.53:53: no such host\n',
     'the engine does not reach the registry of the image (docker says: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.53:53: no such host)', BRING),
    ('Error response from daemon: Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)\n',
     'the engine does not reach the registry of the image (docker says: Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers))', BRING),
    ('Error response from daemon: Get "https://registry-1.docker.io/v2/": proxyconnect tcp: dial tcp: lookup proxy: no such host via http://ada:hunter2@proxy:3128\n',
     'the engine does not reach the registry of the image (docker says: Get "https://registry-1.docker.io/v2/": proxyconnect tcp: dial tcp: lookup proxy: no such host via http://proxy:3128)', BRING),
    ("Error response from daemon: manifest for python:nope not found: manifest unknown: manifest unknown\n", "the registry has no image python:nope", LOGIN),
    ("Error response from daemon: pull access denied for microsoft/mmlspark, repository does not exist or may require 'docker login': denied: requested access to the resource is denied\n",
     "there is no image microsoft/mmlspark to be had: it does not exist, or it is not public", LOGIN),
    ("Error response from daemon: toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and upgrading: https://www.docker.com/increase-rate-limit\n",
     "the registry refuses more downloads for now", "wait, or `docker login` there: who is logged in may download more"),
    ('Error response from daemon: Get "https://reg.corp/v2/": x509: certificate signed by unknown authority\n',
     'the engine does not trust the certificate of the registry (docker says: Get "https://reg.corp/v2/": x509: certificate signed by unknown authority)',
     "put the certificate of its authority at /etc/docker/certs.d/REGISTRY/ca.crt; where it is out of date, look at the clock of the machine"),
    ('Error response from daemon: Get "https://reg.corp/v2/": http: server gave HTTP response to HTTPS client\n',
     "the registry does not speak https", "name it in insecure-registries of /etc/docker/daemon.json, and `sudo systemctl restart docker`"),
    ('Error response from daemon: Head "https://reg.corp/v2/x/manifests/1": no basic auth credentials\n',
     'the registry does not let this user have the image (docker says: Head "https://reg.corp/v2/x/manifests/1": no basic auth credentials)',
     "`docker login REGISTRY` there: the registry is what stands before the first / of the image's name"),
    ('error getting credentials - err: exec: "docker-credential-desktop": executable file not found in $PATH, out: ``\n',
     'docker cannot ask for its stored password (docker says: error getting credentials - err: exec: "docker-credential-desktop": executable file not found in $PATH, out: ``)',
     "remove the line credsStore or credHelpers from ~/.docker/config.json there"),
    ("no matching manifest for linux/arm64/v8 in the manifest list entries\n",
     "this image does not exist for the machine's processor (linux/arm64/v8)", "take a base image that is made for it"),
    ("invalid reference format: repository name (library/Foo) must be lowercase\n",
     "this is no name of an image (docker says: invalid reference format: repository name (library/Foo) must be lowercase)",
     "write baseDockerImage as NAME or NAME:TAG in small letters, such as python:3.11-slim"),
    ("docker: Error response from daemon: No such image: nope:1." + SEE, "the engine has no image nope:1", "`docker pull nope:1` there, or correct baseDockerImage"),
    ("Error response from daemon: no such image: nope:1: No such image: nope:1\n", "the engine has no image nope:1", "`docker pull nope:1` there, or correct baseDockerImage"),
]  # fmt: skip

OTHERS = [
    ("failed to register layer: Error processing tar file(exit status 1): write /usr/lib/x: no space left on device\n",
     "disk-full", "the disk of the Docker engine is full (docker says: failed to register layer: Error processing tar file(exit status 1): write /usr/lib/x: no space left on device)",
     "make room: `docker system df` shows what is used; `jig experiment clean` removes what jig made, and `docker system prune` what nobody uses"),
    ('docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /nowhere/x.' + SEE,
     "mount", "the machine of the engine has no folder /nowhere/x",
     "the engine is on another machine or in a virtual one: share the folder with it, or set `sharedVolumes: false`"),
    ("docker: Error response from daemon: Mounts denied: \nThe path /scratch/x is not shared from the host and is not known to Docker.\n",
     "mount", "Docker Desktop may not see this folder (docker says: Mounts denied: The path /scratch/x is not shared from the host and is not known to Docker)",
     "in Docker Desktop: Settings, Resources, File sharing, add the folder; or set `sharedVolumes: false`"),
    ("docker: Error response from daemon: error while creating mount source path '/scratch/x': mkdir /scratch: read-only file system." + SEE,
     "mount", "the engine cannot use the folder /scratch/x (docker says: error while creating mount source path '/scratch/x': mkdir /scratch: read-only file system)",
     "an engine from a snap sees only your home: keep the folders there, or set `sharedVolumes: false`"),
    ('docker: Error response from daemon: invalid mount config for type "bind": invalid mount path: \'rel\' mount path must be absolute.' + SEE,
     "mount", "the engine does not accept a folder that is to be mounted (docker says: invalid mount config for type \"bind\": invalid mount path: 'rel' mount path must be absolute)",
     "write nativeSharedDirectory as a full path without commas and quotes"),
    ('docker: Error response from daemon: Conflict. The container name "/jig-x" is already in use by container "0166". You have to remove (or rename) that container to be able to reuse that name.' + SEE,
     "refused", "there is already a container named jig-x", "`docker rm -f jig-x` removes it"),
    ("Error: No such container: jig-x\n", "refused", "there is no container jig-x any more", "submit again"),
    (OCI + 'exec: "python3": executable file not found in $PATH: unknown.\n', "refused", "the image has no program python3",
     "set pythonLocation to the full path of a Python in the image, or take another base image"),
    (OCI + 'exec: "/x": stat /x: no such file or directory: unknown' + RUN, "refused", "the image has no program /x",
     "set pythonLocation to the full path of a Python in the image, or take another base image"),
    ("unknown flag: --pull" + SEE, "refused", "the docker program does not know the option --pull",
     "install a newer docker program: `docker version` shows which there is"),
    ("docker: Error response from daemon: network bridge not found.\n" + CANCELED,
     "refused", "the engine cannot connect a container to its network (docker says: network bridge not found)",
     "`sudo systemctl restart docker` lays its network anew"),
    ('Error response from daemon: conflict: unable to remove repository reference "b:warm" (must force) - container fa8b is using its referenced image 12\n',
     "refused", 'the image is in use (docker says: conflict: unable to remove repository reference "b:warm" (must force) - container fa8b is using its referenced image 12)',
     "end the containers that use it: `docker ps -a` lists them"),
    ("docker: Error response from daemon: cgroups: cgroup mountpoint does not exist: unknown.\n" + CANCELED,
     "refused", "the engine and the control groups of the machine do not fit together (docker says: cgroups: cgroup mountpoint does not exist)",
     "update the engine, or restart the machine"),
    ("docker: Error response from daemon: Minimum memory limit allowed is 6MB." + SEE,
     "refused", "the Docker engine refused: Minimum memory limit allowed is 6MB", "`docker info` shows whether the engine is well"),
    ("", "refused", "docker failed and did not say why", "`docker info` shows whether the engine is well"),
]  # fmt: skip

CASES = (
    REACH
    + [(said, "gpu", *rest) for said, *rest in GPU]
    + [(said, "no-image", *rest) for said, *rest in IMAGES]
    + OTHERS
)


@pytest.mark.parametrize("said, code, reason, hint", CASES, ids=[case[2][:60] for case in CASES])
def test_explain(said, code, reason, hint):
    failed = explain(said)
    assert (failed.code, failed.reason, failed.hint) == (code, reason, hint)
    assert str(failed) == reason


def test_every_sentence_is_one_line():
    assert [case[2] for case in CASES if "\n" in case[2] or case[2].endswith(".")] == []


def test_long_words_keep_their_beginning_and_their_end():
    said = own_words("docker: Error response from daemon: " + "a" * 500 + " the cause.")
    assert said == "a" * 100 + " … " + "a" * 190 + " the cause"


def test_all_that_was_tried_is_told(monkeypatch):
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    failed = all_tried([("docker", NOT_ALLOWED), ("sudo", "sudo: a password is required\n")], SOCKET)
    assert failed.code == "permission"
    assert failed.reason == (
        "this user may not use the Docker engine (/var/run/docker.sock: permission denied), and not through sudo either: it asks for a password"
    )
    assert failed.hint == GROUP


def test_when_sudo_gets_there_the_engine_is_to_blame():
    gone = f"Cannot connect to the Docker daemon at {SOCKET}. Is the docker daemon running?\n"
    assert all_tried([("sudo", gone)], SOCKET).reason == explain(gone).reason


def test_an_engine_of_the_users_own_is_pointed_at(tmp_path, monkeypatch):
    (tmp_path / "docker.sock").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    failed = all_tried([("docker", REACH[0][0])], SOCKET)
    assert failed.hint == f"this user has an engine of its own: set DOCKER_HOST=unix://{tmp_path}/docker.sock"


def test_where_the_engine_is_looked_for_is_told(tmp_path, monkeypatch):
    address = f"unix://{tmp_path}/s"
    gone = f"Cannot connect to the Docker daemon at {address}. Is the docker daemon running?\n"
    monkeypatch.setenv("DOCKER_HOST", address)
    assert all_tried([("docker", gone)], address).hint == ELSEWHERE % f"DOCKER_HOST is set to {address}" + START
    monkeypatch.delenv("DOCKER_HOST")
    assert all_tried([("docker", gone)], address).hint.startswith(f"the docker context in use leads to {address}: ")
    assert all_tried([("docker", REACH[0][0])], SOCKET).hint == START


def test_over_ssh_a_group_counts_later(monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert all_tried([("docker", NOT_ALLOWED)], SOCKET).hint == GROUP + OVER_SSH
