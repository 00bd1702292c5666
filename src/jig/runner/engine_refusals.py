"""What an engine that can be reached refuses, and why: images, disk, mounts, containers, GPUs."""

WITHOUT = "to run without a GPU, set `nvidiaDocker: false`"
ROOT = "; nobody without root on that machine can do it; " + WITHOUT
DRIVER = (
    "repair the driver until `nvidia-smi` works on the machine itself (Ubuntu: `sudo ubuntu-drivers install`, Debian:"
    " `sudo apt-get install nvidia-driver`, then restart the machine)" + ROOT
)
TOOLKIT = (
    "install NVIDIA's container toolkit on that machine, then `sudo nvidia-ctk runtime configure --runtime=docker` and"
    " `sudo systemctl restart docker`" + ROOT
)
BRING = (
    "is its name right? Try `docker pull IMAGE` there (a proxy is set in the engine, not in your shell); or bring it:"
    " `docker save -o FILE IMAGE` where it is, `docker load -i FILE` there"
)
LOGIN = "correct its name and tag; where it is not public, `docker login` there"
# Code, what is looked for, the sentence, the fix. {said} stands for the engine's own words.
# From the toolkit and the driver: these say what is wrong, however the GPU was asked for.
NVIDIA = (
    (
        "gpu",
        r"driver/library version mismatch",
        "the NVIDIA driver was updated while the old one is still loaded",
        "restart the machine" + ROOT,
    ),
    (
        "gpu",
        r"nvml error: driver not loaded",
        "the NVIDIA driver of the machine is not loaded",
        DRIVER,
    ),
    (
        "gpu",
        r"driver (?:rpc )?error: failed to process request",
        "NVIDIA's container toolkit cannot speak with the driver (docker says: {said})",
        "`nvidia-smi` must work on the machine itself; a restart of the machine brings the two together" + ROOT,
    ),
    (
        "gpu",
        r"libnvidia-ml\.so\S*: cannot open shared object|load library failed|failed to get driver version",
        "the machine lacks libraries of the NVIDIA driver (docker says: {said})",
        DRIVER,
    ),
    (
        "gpu",
        r"no cuda-capable device|no NVIDIA GPU device is present|no adapters were found|no devices (?:were )?found"
        r"|nvml error: not found",
        "the NVIDIA driver finds no GPU (docker says: {said})",
        "`nvidia-smi -L` on the machine must list one: a GPU may have fallen off its bus, which a restart repairs"
        + ROOT,
    ),
    (
        "gpu",
        r"device error: (\S+?): unknown device",
        r"the machine has no GPU \1",
        "ask for fewer: `nvidia-smi -L` on the machine lists those there are",
    ),
    (
        "gpu",
        r"requirement error: unsatisfied condition: (\S+?),? ",
        r"the image needs a newer NVIDIA driver than the machine has (\1)",
        "take a base image for an older CUDA, or let the administrator update the driver",
    ),
    (
        "gpu",
        r"bpf_prog_query|failed to add device rules|nvml error: insufficient permissions|insufficient privileges",
        "the engine has no right to hand out the GPU (docker says: {said})",
        "for an engine without root: `sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place`, and"
        " restart the engine" + ROOT,
    ),
    (
        "gpu",
        r"nvidia-container-(?:cli|runtime)\S*: (.*?)(?:: unknown)?\.?(?: Run 'docker| See 'docker|$)",
        r"NVIDIA's container toolkit failed (\1)",
        "`nvidia-smi` on the machine and `sudo nvidia-container-cli info` show what is wrong" + ROOT,
    ),
)
REFUSALS = NVIDIA + (
    (
        "disk-full",
        r"no space left on device|disk quota exceeded|not enough free space",
        "the disk of the Docker engine is full (docker says: {said})",
        "make room: `docker system df` shows what is used; `jig experiment clean` removes what jig made, and"
        " `docker system prune` what nobody uses",
    ),
    (
        "gpu",
        r"unresolvable CDI devices? (?:\S+=)?([\w.:-]+)",
        r"the engine has no description of a GPU named \1",
        "let NVIDIA's container toolkit write it: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`" + ROOT,
    ),
    (
        "gpu",
        r"could not select device driver|no known GPU vendor|CDI device",
        "the engine cannot give a container a GPU (docker says: {said})",
        TOOLKIT,
    ),
    (
        "gpu",
        r"adding custom device \"(/dev/nvidia[^\"]*)\"",
        r"the machine of the engine has no device \1",
        DRIVER,
    ),
    (
        "gpu",
        r"nvidia\.com/gpu\S* is not an absolute path",
        "the docker program is too old for this way to give a container a GPU",
        "install a docker program of version 25 or newer; " + WITHOUT,
    ),
    (
        "gpu",
        r"unknown (?:runtime specified|or invalid runtime name:?) (nvidia)",
        "the engine has no runtime named nvidia",
        TOOLKIT,
    ),
    (
        "refused",
        r"unknown (?:runtime specified|or invalid runtime name:?) ([\w.-]*\w)",
        r"the engine has no runtime named \1",
        "`docker info` lists them",
    ),
    (
        "gpu",
        r"unknown flag: --gpus",
        "the docker program is too old to know --gpus",
        "install a docker program of version 19.03 or newer; " + WITHOUT,
    ),
    (
        "refused",
        r"(?:unknown flag|unknown shorthand flag|flag provided but not defined):? (\S+)",
        r"the docker program does not know the option \1",
        "install a newer docker program: `docker version` shows which there is",
    ),
    # Folders.
    (
        "mount",
        r"bind source path does not exist: (\S*[^\s.])",
        r"the machine of the engine has no folder \1",
        "the engine is on another machine or in a virtual one: share the folder with it, or set `sharedVolumes: false`",
    ),
    (
        "mount",
        r"(?:mounts denied|path (\S+) is not shared from the host)",
        "Docker Desktop may not see this folder (docker says: {said})",
        "in Docker Desktop: Settings, Resources, File sharing, add the folder; or set `sharedVolumes: false`",
    ),
    (
        "mount",
        r"error while creating mount source path '([^']+)'",
        r"the engine cannot use the folder \1 (docker says: {said})",
        "an engine from a snap sees only your home: keep the folders there, or set `sharedVolumes: false`",
    ),
    (
        "mount",
        r"mount path must be absolute|includes invalid characters for a local volume name|invalid mount (?:config|path)"
        r"|Duplicate mount point",
        "the engine does not accept a folder that is to be mounted (docker says: {said})",
        "write nativeSharedDirectory as a full path without commas and quotes",
    ),
    (
        "mount",
        r"error mounting .*|failed to mount|mkdir .*: (?:permission denied|read-only file system)",
        "a folder cannot be mounted in the container (docker says: {said})",
        "the engine's own user must be able to read it, as root often may not on a network disk: set"
        " `sharedVolumes: false`, or move the jig home with `jigHome`",
    ),
    # Images.
    ("no-image", r"(?:manifest for|repository) (\S+) not found", r"the registry has no image \1", LOGIN),
    (
        "no-image",
        r"manifest unknown|name unknown",
        "the registry has no such image (docker says: {said})",
        LOGIN,
    ),
    (
        "no-image",
        r"pull access denied for ([^\s,]+)",
        r"there is no image \1 to be had: it does not exist, or it is not public",
        LOGIN,
    ),
    (
        "no-image",
        r"unauthorized|no basic auth credentials|access to the resource is denied|incorrect username or password",
        "the registry does not let this user have the image (docker says: {said})",
        "`docker login REGISTRY` there: the registry is what stands before the first / of the image's name",
    ),
    (
        "no-image",
        r"toomanyrequests|rate limit",
        "the registry refuses more downloads for now",
        "wait, or `docker login` there: who is logged in may download more",
    ),
    (
        "no-image",
        r"no matching manifest for (\S+)",
        r"this image does not exist for the machine's processor (\1)",
        "take a base image that is made for it",
    ),
    (
        "no-image",
        r"exec format error",
        "the image is made for another processor",
        "take a base image for the processor of this machine",
    ),
    (
        "no-image",
        r"schema ?1|manifest\.v1\+prettyjws|Image Format v1",
        "the image is of a kind so old that the engine no longer takes it",
        "take a newer base image",
    ),
    (
        "no-image",
        r"invalid reference format(?:: repository name (?:\((?:library/)?(\S+)\) )?must be lowercase)?",
        "this is no name of an image (docker says: {said})",
        "write baseDockerImage as NAME or NAME:TAG in small letters, such as python:3.11-slim",
    ),
    (
        "no-image",
        r"HTTP response to HTTPS client|does not look like a TLS handshake",
        "the registry does not speak https",
        "name it in insecure-registries of /etc/docker/daemon.json, and `sudo systemctl restart docker`",
    ),
    (
        "no-image",
        r"x509: ",
        "the engine does not trust the certificate of the registry (docker says: {said})",
        "put the certificate of its authority at /etc/docker/certs.d/REGISTRY/ca.crt; where it is out of date, look at"
        " the clock of the machine",
    ),
    (
        "no-image",
        r"error getting credentials",
        "docker cannot ask for its stored password (docker says: {said})",
        "remove the line credsStore or credHelpers from ~/.docker/config.json there",
    ),
    (
        "no-image",
        r"dial tcp|no such host|TLS handshake timeout|Client\.Timeout|request canceled|context deadline exceeded"
        r"|proxyconnect|network is unreachable",
        "the engine does not reach the registry of the image (docker says: {said})",
        BRING,
    ),
    (
        "no-image",
        r"received unexpected HTTP status: (.*\S)",
        r"the registry of the image is out of order (\1)",
        "wait, and submit again",
    ),
    (
        "no-image",
        r"failed to register layer|filesystem layer verification failed|unexpected EOF|invalid tar header",
        "the image did not arrive whole (docker says: {said})",
        "submit again; if that does not help, `docker pull IMAGE` there shows more",
    ),
    (
        "no-image",
        r"No such image:? (\S*[^\s.:])",
        r"the engine has no image \1",
        r"`docker pull \1` there, or correct baseDockerImage",
    ),
    # Containers.
    (
        "refused",
        r"container name \"/?([^\"]+)\" is already in use",
        r"there is already a container named \1",
        r"`docker rm -f \1` removes it",
    ),
    ("refused", r"No such container(?::path)?: (\S+)", r"there is no container \1 any more", "submit again"),
    ("refused", r"container (\S+) is paused", r"the container \1 is paused", r"`docker unpause \1`"),
    ("refused", r"container (\S+) is not running", r"the container \1 does not run", "submit again"),
    (
        "refused",
        r"exec: \"([^\"]+)\": (?:executable file not found|stat \S+: no such file)",
        r"the image has no program \1",
        "set pythonLocation to the full path of a Python in the image, or take another base image",
    ),
    (
        "refused",
        r"exec: \"([^\"]+)\": permission denied",
        r"\1 in the image may not be executed",
        "set pythonLocation to the full path of a Python in the image",
    ),
    (
        "refused",
        r"unable to remove repository reference|image is being used by|image has dependent child images",
        "the image is in use (docker says: {said})",
        "end the containers that use it: `docker ps -a` lists them",
    ),
    (
        "refused",
        r"network (\S+) not found|failed to create endpoint|iptables|non-overlapping IPv4 address pool",
        "the engine cannot connect a container to its network (docker says: {said})",
        "`sudo systemctl restart docker` lays its network anew",
    ),
    (
        "refused",
        r"cgroup",
        "the engine and the control groups of the machine do not fit together (docker says: {said})",
        "update the engine, or restart the machine",
    ),
)
