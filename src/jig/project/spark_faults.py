"""What Spark could not make sense of, or would make something else of, in a Spark file: a message and the fix each."""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    Fault = tuple[str, str] | None

MASTERS = ("spark://", "k8s://", "mesos://", "local", "yarn")


def setting(key: str, value: str) -> Fault:
    """What is wrong with a setting."""
    if not key or "=" in key or any(c.isspace() for c in key):
        return f"`{key}` is no name of a setting of Spark's", "write `NAME: value`, as `spark.executor.memory: 4g`"
    if key == "spark.master" and value and not value.startswith(MASTERS):
        return f"`{value}` is no Spark master", "write yarn, local[*], or an address such as spark://HOST:7077"
    if key == "spark.submit.deployMode" and value not in ("", "client", "cluster"):
        return f"`{key}` must be client or cluster, but found `{value}`", ""
    return None


def client_setting(key: str) -> Fault:
    """What is wrong with a setting whose value a variable of the client has."""
    if key in ("spark.master", "spark.submit.deployMode", "spark.jars.packages", "spark.jars.repositories"):
        return f"`{key}` is decided at submit and shown: it cannot come from a variable", "write its value here"
    return None


def repository(place: str) -> Fault:
    """What is wrong with the place of a repository."""
    if not place:
        return "an empty text is no repository", "remove the line"
    scheme, found, rest = place.partition("://")
    if found:
        if "," in place or any(c.isspace() for c in place):
            return f"`{place}` is not one address", "write each repository on a line of its own"
        if "@" in rest.partition("/")[0]:
            clean = f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
            return (
                f"the address {clean}… has a login in it, which Spark does not use and everybody would see",
                "remove it; logins stand in a file of Ivy's: `spark.jars.ivySettings: FILE` under `configuration`",
            )
    elif not place.startswith(("/", "~/")) and posixpath.normpath(place).split("/")[0] == "..":
        return f"the folder {place} is outside the project", "move it into the project, or write its whole path"
    return None


def coordinate(key: str, text: str) -> Fault:
    """What is wrong with a part of a package's coordinates."""
    if any(c in ":,/" or c.isspace() for c in text):
        return f"`{key}` must be one word without `:`, `,` and `/`, but found {text!r}", ""
    return None
