"""A script in several processes under torchrun: the words that start them, and what is heard of them."""

import os
import sys

from jig.runner.quick_json import dumps, loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

STARTER = "jig_ranks"  # the folder of script/ that becomes torchrun
RECORD = "ranks.jsonl"  # what it, and the processes, write down
REFUSED = 95  # its exit code where there is no torch, or nothing to run on
REFUSAL = "ranks-refused.json"
MOST_RANKS, MOST_LINES, LONGEST_LINE = 4096, 24, 400
EXCHANGE = ("steps", "bytes_sent", "bytes_uncompressed", "exchange_s", "codec_s", "of_s")


def started(plan: "Dict[str, Any]", python: str, folder: str, argv: "List[str]") -> "List[str]":
    """The words that start the script, through torchrun where the plan has it."""
    if not plan.get("ranks"):
        return argv
    orders = dict(plan["ranks"], script=argv, managed=plan["environment"]["kind"] != "user")
    orders["files"] = ["aml_config/%s.runconfig" % plan["run_config"]]
    return [python, folder + "/" + STARTER, dumps(orders)]


def refusal(plan: "Dict[str, Any]", code: "Optional[int]", folder: str) -> "Dict[str, str]":
    """Why the processes were not started; empty where they were."""
    from jig.runner.folder import read_plain

    if not plan.get("ranks") or code != REFUSED:
        return {}
    place = os.path.join(folder, REFUSAL)
    try:
        said = loads(read_plain(place))
        os.unlink(place)
        return {"reason": "ranks-refused", "detail": str(said["detail"]), "hint": str(said["hint"])}
    except (OSError, ValueError, KeyError, TypeError):  # none was written, or nonsense by the script
        return {}


class Heard:
    """Reads `ranks.jsonl` while the run goes: what a person should know becomes an event, the rest is for the end."""

    def __init__(self, plan: "Dict[str, Any]", folder: str, write: "Callable[..., None]") -> None:
        self._place = os.path.join(folder, RECORD) if plan.get("ranks") else ""
        self._write = write
        self._offset = 0
        self._exchange: "Dict[int, Dict[int, Dict[str, Any]]]" = {}  # by rank and attempt
        self._failed: "Dict[str, Any]" = {}

    def look(self) -> None:
        """Take in what is new."""
        if not self._place:
            return
        try:
            descriptor = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # nothing was written yet, or the script has put something else there
            return
        with open(descriptor, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        for line in data.splitlines():
            try:
                said = loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):  # torn by a kill, or nonsense by the script
                continue
            if isinstance(said, dict):
                self._take(said)

    def _take(self, said: "Dict[str, Any]") -> None:
        failed = _failure(said.get("failed"))
        if _is_count(said.get("again")):
            self._write("rank-restart", restart=said["again"], of=said.get("of"), **_about(failed))
        elif failed:
            self._failed = failed
        elif isinstance(said.get("exchange"), dict) and _is_rank(said.get("rank")):
            attempt = said["restart"] if _is_rank(said.get("restart")) else 0
            self._exchange.setdefault(said["rank"], {})[attempt] = said["exchange"]
        elif isinstance(said.get("note"), str):
            self._write("note", text=said["note"][:LONGEST_LINE])
        elif _is_count(said.get("processes")):
            backend, torch = str(said.get("backend"))[:20], str(said.get("torch"))[:60]
            self._write("ranks", processes=said["processes"], backend=backend, torch=torch)

    def failure(self) -> "Dict[str, Any]":
        """Of the run's last event: who failed first, how, and its last words; empty where that is not known."""
        return _about(self._failed)

    def exchange(self) -> "Dict[str, Any]":
        """Of the run's last event: what the processes sent each other in all attempts, and how compressed."""
        ranks = {}
        for rank, attempts in sorted(self._exchange.items()):
            about: "Dict[str, Any]" = {}
            for _, told in sorted(attempts.items()):
                for key in EXCHANGE:
                    if isinstance(told.get(key), (int, float)):
                        about[key] = round(about.get(key, 0) + told[key], 3)
                about["kind"] = str(told.get("kind"))[:20]
            ranks[str(rank)] = about
        return {"exchange": ranks} if ranks else {}


def _failure(failed: "Any") -> "Dict[str, Any]":
    """What the launcher says of a failure, as far as it is what it would say."""
    if not isinstance(failed, dict) or not _is_rank(failed.get("rank")):
        return {}
    known = {name: failed[name] for name in ("exit", "signal") if _is_count(failed.get(name))}
    said = failed.get("said")
    lines = [str(line)[:LONGEST_LINE] for line in said[:MOST_LINES]] if isinstance(said, list) else []
    return dict(known, rank=failed["rank"], said=lines, error=str(failed.get("error") or "")[:LONGEST_LINE])


def _about(failed: "Dict[str, Any]") -> "Dict[str, Any]":
    if not failed:
        return {}
    from jig.runner.supervise import signal_name

    how = "with exit code %d" % failed.get("exit", 1)
    if "signal" in failed:
        how = "killed by %s" % signal_name(failed["signal"])
    detail = "rank %d failed first, %s" % (failed["rank"], how)
    said = failed["error"].splitlines()[:1] or failed["said"][-1:]
    return {"rank": failed["rank"], "said": failed["said"], "detail": detail + (": " + said[0] if said else "")}


def _is_rank(value: "Any") -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_RANKS


def _is_count(value: "Any") -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6
