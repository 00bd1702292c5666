"""How an image is made, for a person to read: the commands that make it, and a Dockerfile that makes the same."""

import re

from jig.runner import image_words
from jig.runner.conda_credentials import hide_credentials
from jig.runner.image_words import BUILD, CACHE, ENVIRONMENTS, HOST_NETWORK, TOP, UV, mount
from jig.runner.uv_output import without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

UV_IMAGE = "ghcr.io/astral-sh/uv:latest"
CONDA_IMAGE = "mambaorg/micromamba:latest"
FOLDER = ENVIRONMENTS + "/env"
PYTHON = FOLDER + "/bin/python"
_OLD_PYTHON = re.compile(r"python[ =]+(2|3\.[0-5])(\D|$)")  # uv does not serve it


def commands(container: "Dict[str, Any]", environment: "Dict[str, Any]") -> "List[Tuple[str, List[str]]]":
    """Each command with the case in which it is run; in braces stands what only the machine knows."""
    base, kind = container["base"], environment["kind"]
    tag = "" if kind == "user" else "%s:{tag}" % image_words.REPOSITORY
    rows = [("to look", image_words.look(base, tag)), ("if it is missing", image_words.pull(base))]
    if kind == "user":
        return _as_typed(rows)
    name, folder = "jig-build-{tag}-…", ENVIRONMENTS + "/{tag}"
    mounts = [mount("{build}", BUILD), mount("{uv}", UV, readonly=True), mount("{downloads}", CACHE)]
    options = ["--tmpfs", TOP] + [word for one in mounts for word in ("--mount", one)] + [HOST_NETWORK]
    rows.append(("if not built", image_words.create(name, "{tag}", "{key}", "{uid}:{gid}", options, base)))
    rows.append(("", image_words.start(name)))
    python = [["{uv}", "venv"] + _wanted(environment) + [folder]]
    if kind == "conda":
        python = [["cp", "-a", BUILD + folder, folder]]
    if environment["requirements"]:
        python.append([UV, "pip", "install", "--python", folder + "/bin/python", "-r", BUILD + "/requirements.txt"])
    told = [("", ["  its shell:"] + [UV if word == "{uv}" else word for word in argv]) for argv in python]
    labels = {
        image_words.BASE_LABEL: "{base}",
        image_words.ENVIRONMENT_LABEL: environment["fingerprint"],
        image_words.HOME_LABEL: "{key}",
        image_words.PYTHON_LABEL: folder + "/bin/python",
        image_words.VERSION_LABEL: "{version}",
        image_words.PACKAGES_LABEL: "{packages}",
        image_words.BUILD_LABEL: "",
    }
    commit = image_words.commit(name, tag, labels, "root")
    return _as_typed(rows) + told + _as_typed([("", commit), ("", image_words.remove(name))])


def _as_typed(rows: "List[Tuple[str, List[str]]]") -> "List[Tuple[str, List[str]]]":
    return [(when, ["docker"] + [_quote(word) for word in words]) for when, words in rows]


def _quote(word: str) -> str:
    """For a shell, but for the braces that stand for something."""
    if word and "'" not in word and not re.search(r"[\s\"$`\\]|\{\{", word):
        return word
    return "'%s'" % word.replace("'", "'\"'\"'")


def _wanted(environment: "Dict[str, Any]") -> "List[str]":
    return ["--python=" + environment["python"]] if environment["python"] else []


def dockerfile(container: "Dict[str, Any]", environment: "Dict[str, Any]") -> str:
    """A Dockerfile for the same environment on the same base, with the passwords of its URLs blotted out."""
    lines = ["FROM " + container["base"]]
    if environment["kind"] == "user":
        return str(lines[0]) + "\n"
    lines.append("USER root")
    if environment["kind"] == "conda":
        lines += _conda(environment)
    packages = _packages(environment, lines)
    old = _is_old(environment)
    steps = []  # type: List[str]
    if environment["kind"] == "uv":
        uv = ["uv", "venv"] + [_quoted(word) for word in _wanted(environment)]
        steps.append("UV_PYTHON_INSTALL_DIR=%s/python %s" % (ENVIRONMENTS, " ".join(uv + [FOLDER])))
    if packages:
        listed = " \\\n    ".join(["printf '%s\\n'"] + [_quoted(line) for line in packages])
        steps.append(listed + " > /tmp/requirements.txt")
        pip = PYTHON + " -m pip install --no-cache-dir" if old else "uv pip install --no-cache --python " + PYTHON
        steps.append("%s -r /tmp/requirements.txt" % pip)
        steps.append("rm /tmp/requirements.txt")
    if steps and not old:
        lines.append("COPY --from=%s /uv /usr/local/bin/uv" % UV_IMAGE)
    if steps:
        lines.append("RUN " + " \\\n && ".join(steps))
    lines.append('CMD ["%s"]' % PYTHON)
    text = "\n".join(lines) + "\n"
    return (
        "# Put in what is left out, where *** stands, by a secret of the builder.\n" + text if "***" in text else text
    )


def _quoted(word: str) -> str:
    return "'%s'" % word.replace("'", "'\"'\"'")


def _is_old(environment: "Dict[str, Any]") -> bool:
    return any(_OLD_PYTHON.match(package) for package in environment.get("packages", ()))


def _conda(environment: "Dict[str, Any]") -> "List[str]":
    words = ["micromamba create --yes --override-channels --prefix " + FOLDER]
    words += ["--channel " + _quoted(without_secrets(hide_credentials(one))) for one in environment["channels"]]
    words += [_quoted(hide_credentials(package)) for package in environment["packages"]]
    words += ["'pip'"] if _is_old(environment) and environment["requirements"] else []
    return [
        "COPY --from=%s /bin/micromamba /usr/local/bin/micromamba" % CONDA_IMAGE,
        "RUN " + " \\\n    ".join(words) + " \\\n && micromamba clean --all --yes",
    ]


def _packages(environment: "Dict[str, Any]", lines: "List[str]") -> "List[str]":
    """The lines of the requirements; files of the project are copied, by lines that are added to the Dockerfile."""
    if not environment["requirements"]:
        return []
    found = []
    for line in list(environment["options"]) + list(environment["requirements"]):
        words = line.split(" ")
        for number, word in enumerate(words):
            if word.startswith("{files}/"):
                from urllib.parse import unquote

                name = word.rpartition("/")[2]
                lines.append("# %s lies beside this file: it is one of the project's" % unquote(name))
                lines.append('COPY ["%s", "/tmp/files/"]' % unquote(name))
                words[number] = "file:///tmp/files/" + name
        found.append(without_secrets(" ".join(words)))
    return found
