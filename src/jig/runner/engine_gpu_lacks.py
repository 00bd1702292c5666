"""What is missing where no container gets a GPU: the card, its driver, NVIDIA's toolkit, a newer engine."""

import os
import sys

from jig.runner import engine_gpu
from jig.runner.engine import EngineFailed
from jig.runner.engine_errors import look_up, own_words
from jig.runner.engine_refusals import DRIVER, NVIDIA, REFUSALS, ROOT, WITHOUT
from jig.runner.environment import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from jig.runner.engine import Engine

DRIVER_FOLDER = "/proc/driver/nvidia"
CARDS = "/sys/bus/pci/devices"
NVIDIAS, DISPLAYS = "0x10de", ("0x0300", "0x0302")  # PCI numbers: the maker, and graphics with and without a screen
TOOLS = ("nvidia-ctk", "nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook")
PLACES = ":/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"
ELSEWHERE = "use a target on a machine that has one; " + WITHOUT
NOT_OFFERED = ("could not select device driver", "no known GPU vendor")
CONFIGURE = """\
  sudo nvidia-ctk runtime configure --runtime=docker
  sudo systemctl restart docker"""
CONFIGURE_ROOTLESS = """\
  nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json
  systemctl --user restart docker
  sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"""
KEYRING = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
FROM = "https://nvidia.github.io/libnvidia-container"
INSTALL = """\
  curl -fsSL %(from)s/gpgkey | sudo gpg --dearmor -o %(key)s
  curl -fsSL %(from)s/stable/deb/nvidia-container-toolkit.list \\
    | sed 's#deb https://#deb [signed-by=%(key)s] https://#' \\
    | sudo tee /etc/apt/sources.list.d/nvidia-container-toolkit.list
  sudo apt-get update && sudo apt-get install -y nvidia-container-toolkit
""" % {"from": FROM, "key": KEYRING}


def explain(
    engine: "Engine", facts: "Dict[str, Any]", chosen: "Sequence[str]", refused: "List[Tuple[str, str]]"
) -> EngineFailed:
    """Why none of the ways works, by what each of them said and by a look at the machine."""
    here = engine_gpu.is_here(engine, facts)
    failed = (no_driver() or _too_few(chosen)) if here else None
    for _, said in refused:
        failed = failed or look_up(NVIDIA, said)
    failed = failed or _too_old(facts, refused)
    if failed is None and any(said == engine_gpu.NOTHING for _, said in refused):
        return _told(
            "the engine takes the wish for a GPU, and gives the container none",
            "let NVIDIA's container toolkit write its settings anew:\n%s\n" % _configure(facts) + ROOT[2:],
        )
    return failed or _no_toolkit(facts, refused, here)


def _told(reason: str, hint: str) -> EngineFailed:
    return EngineFailed(reason, hint, "gpu")


def _found(*names: str) -> str:
    """The first of these programs that is here."""
    for name in names:
        found = find_program(name, os.environ.get("PATH", os.defpath) + PLACES)
        if found:
            return found
    return ""


def no_driver() -> "Optional[EngineFailed]":
    """Why there is no driver at work here; None when there is one."""
    if any(os.path.exists(path) for path in (DRIVER_FOLDER,) + engine_gpu.NODES):
        return None
    if _found("nvidia-smi"):
        return _told(
            "the NVIDIA driver of this machine is installed and not loaded",
            "`sudo modprobe nvidia` loads it, or says why not; after an update, restart the machine" + ROOT,
        )
    if sys.platform == "darwin":
        return _told("containers on a Mac have no NVIDIA GPU", ELSEWHERE)
    card = has_card()
    if card is False:
        return _told("this machine has no NVIDIA GPU", ELSEWHERE)
    return _told("this machine has %s" % ("an NVIDIA GPU and no driver for it" if card else "no NVIDIA driver"), DRIVER)


def has_card() -> "Optional[bool]":
    """Whether a card of NVIDIA's is plugged in; None when the system does not tell."""
    try:
        cards = os.listdir(CARDS)
    except OSError:
        return None
    return any(_read(card, "vendor") == NVIDIAS and _read(card, "class").startswith(DISPLAYS) for card in cards)


def _read(card: str, name: str) -> str:
    try:
        with open(os.path.join(CARDS, card, name)) as file:
            return file.read().strip()
    except OSError:  # unplugged this moment
        return ""


def _too_few(chosen: "Sequence[str]") -> "Optional[EngineFailed]":
    try:
        count = len(os.listdir(os.path.join(DRIVER_FOLDER, "gpus")))
    except OSError:  # WSL and small boards do not list them
        return None
    absent = [name for name in chosen if name.isdigit() and int(name) >= count]
    if not count or not absent:
        return None
    has = "1 GPU" if count == 1 else "%d GPUs" % count
    return _told(
        "this machine has %s, and the run asks for number %s (they are counted from 0)" % (has, ", ".join(absent)),
        "ask for fewer: `nvidia-smi -L` on the machine lists them",
    )


def _too_old(facts: "Dict[str, Any]", refused: "List[Tuple[str, str]]") -> "Optional[EngineFailed]":
    if 0 < _year(facts["version"]) < 19.03 and "nvidia" not in facts["runtimes"]:
        return _told(
            "the Docker engine (version %s) is too old to give a container a GPU" % facts["version"],
            "bring it to 19.03 or newer: `sudo apt-get update && sudo apt-get install docker.io`, or as"
            " https://docs.docker.com/engine/install says" + ROOT,
        )
    old_program = [said for _, said in refused if "unknown flag" in said or "is not an absolute path" in said]
    return look_up(REFUSALS, old_program[0]) if old_program else None


def _year(version: str) -> float:
    """`20.10.24+dfsg1` → 20.10; 0 when it is not a version."""
    numbers = version.split(".")[:2]
    return float(".".join(numbers)) if len(numbers) == 2 and all(map(str.isdigit, numbers)) else 0.0


def _no_toolkit(facts: "Dict[str, Any]", refused: "List[Tuple[str, str]]", here: bool) -> EngineFailed:
    said = dict(refused)["gpus"]
    if not any(text in said for text in NOT_OFFERED):
        failed = look_up(REFUSALS, said)
        if failed is not None and failed.code == "gpu":
            return failed
        reason = "the engine does not give a container a GPU (docker says: %s)" % own_words(said)
        return _told(reason, "`docker run --rm --gpus all IMAGE nvidia-smi` must work on that machine" + ROOT)
    if here and _found(*TOOLS):
        return _told(
            "NVIDIA's container toolkit is installed on this machine, and the Docker engine does not use it",
            "let the engine use it:\n%s\n" % _configure(facts) + ROOT[2:],
        )
    return _told(
        "%s lacks NVIDIA's container toolkit, which gives containers the GPU"
        % ("this machine" if here else "that machine"),
        "install it (Ubuntu and Debian):\n%s%s\n" % (INSTALL, _configure(facts)) + ROOT[2:],
    )


def _configure(facts: "Dict[str, Any]") -> str:
    return CONFIGURE_ROOTLESS if facts["rootless"] else CONFIGURE
