"""The words that `docker` is told so that an image comes to be: pure, for the build itself and for `--dry-run`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Sequence

REPOSITORY = "jig-env"
ENVIRONMENTS = "/azureml-envs"  # inside
# What the images and containers are known by.
BASE_LABEL, ENVIRONMENT_LABEL, HOME_LABEL, PYTHON_LABEL = "jig.base", "jig.environment", "jig.home", "jig.python"
BUILD_LABEL, VERSION_LABEL, PACKAGES_LABEL = "jig.build", "jig.python.version", "jig.packages"
# Where the files of the machine are while an image is built: all below one folder, which is none of the image's.
TOP = "/jig"
BUILD, CACHE, UV = TOP + "/build", TOP + "/cache", TOP + "/uv"
HOST_NETWORK = "--network=host"  # an index or a proxy that the machine reaches, its own included, is reached inside

# A shell that does as it is told on stdin; at the end of that everything ends, where all processes are the container's.
SHELL = "{ while IFS= read -r line; do printf '%s\\n' \"$line\"; done; [ $$ = 1 ] && kill -9 -1; } | /bin/sh"
_SPECIAL = frozenset(',"\r\n')  # in a line of CSV


def look(base: str, tag: str) -> "List[str]":
    """Ask for both images, or for the one that there is."""
    return ["image", "inspect", "--format", "{{json .}}", base] + ([tag] if tag else [])


def pull(base: str) -> "List[str]":
    """Bring the base image."""
    return ["pull", base]


def create(name: str, build: str, key: str, user: str, options: "Sequence[str]", base: str) -> "List[str]":
    """A container of the base image in which a shell waits for what to do."""
    words = ["create", "--interactive", "--name", name, "--log-driver", "none", "--user", user]
    words += ["--label", "%s=%s" % (BUILD_LABEL, build), "--label", "%s=%s" % (HOME_LABEL, key)]
    return words + list(options) + ["--entrypoint", "", base, "/bin/sh", "-c", SHELL]


def start(name: str) -> "List[str]":
    """Start the shell, and talk to it."""
    return ["start", "--attach", "--interactive", name]


def commit(name: str, tag: str, labels: "Dict[str, str]", user: str) -> "List[str]":
    """Make an image of what the container has become, without what it was started with."""
    changes = ["LABEL " + " ".join("%s=%s" % pair for pair in sorted(labels.items()))]
    changes += ["USER " + user, 'CMD ["%s"]' % labels[PYTHON_LABEL]]
    words = ["commit", "--message", message(labels[ENVIRONMENT_LABEL])]
    for change in changes:
        words += ["--change", change]
    return words + [name, tag]


def message(fingerprint: str) -> str:
    """The comment that an image of ours bears."""
    return "jig environment " + fingerprint


def remove(name: str) -> "List[str]":
    """Remove a container, whatever it does."""
    return ["rm", "--force", "--volumes", name]


def mount(source: str, target: str, readonly: bool = False) -> str:
    """The value of `--mount`, which the engine reads as a line of CSV."""
    parts = ["type=bind", "src=" + source, "dst=" + target] + (["readonly"] if readonly else [])
    return fields(parts)


def fields(parts: "Sequence[str]") -> str:
    """One line of CSV, each part quoted where its text needs that."""
    return ",".join('"%s"' % part.replace('"', '""') if _SPECIAL.intersection(part) else part for part in parts)
