"""How the files of this machine get into the container where an image is built: mounted, or copied where that fails."""

import os
import sys

from jig.runner.image_words import BUILD, CACHE, ENVIRONMENTS, TOP, UV

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List

    from jig.runner.image_places import Places
    from jig.runner.image_shell import Shell

    Log = Callable[[bytes], None]
    Do = Callable[..., str]  # has the engine do something


class Mounted:
    """By mounts below one folder: quick, and the packages that uv has downloaded are there too."""

    variables: "Dict[str, str]" = {
        "UV_LINK_MODE": "copy",  # the cache is on another disk, as it is seen there
        "UV_PYTHON_CACHE_DIR": CACHE + "/pythons",
    }

    def __init__(self, do: "Do", places: "Places", staging: str, user: str) -> None:
        self._do = do
        self._places = places
        self._staging = staging
        self._user = user  # `uid:gid`; empty where root inside is this person

    def words(self) -> "List[str]":
        """What `docker create` is told."""
        return self._places.mounts()

    def created(self, container: str) -> None:
        """The container is there, and not started."""

    def started(self, container: str, shell: "Shell", linked: str, log: "Log") -> bool:
        """Make the folder of environments, with what was linked for it here; False when the mounts are of no use.

        Not by `docker cp`: where anything is mounted that leaves empty folders in the image.
        """
        if shell.script("[ -r %s ] && [ -w %s ]" % (UV, BUILD), log):
            return False
        make = "mkdir -p %s" % ENVIRONMENTS
        if self._user:
            make += " && chown %s %s" % (self._user, ENVIRONMENTS)
            self._do("exec", "--user", "0:0", container, "/bin/sh", "-c", make)
        else:
            shell.script(make, log)
        if os.path.isdir(self._staging + linked):
            shell.run(["cp", "-a", BUILD + linked, linked], {}, log)
        return True

    def refresh(self, container: str) -> None:
        """Files may have come to the staging folder."""

    def leaving(self, shell: "Shell", log: "Log") -> None:
        """Nothing more is run."""


class Copied(Mounted):
    """By `docker cp`, for an engine that does not see this machine's folders; all of it is removed in the end."""

    variables: "Dict[str, str]" = {}

    def __init__(self, do: "Do", places: "Places", staging: str, user: str) -> None:
        super().__init__(do, places, staging, user)
        self._brought: "Dict[str, int]" = {}

    def words(self) -> "List[str]":
        """What `docker create` is told."""
        return []

    def created(self, container: str) -> None:
        """Bring everything, as it is seen inside."""
        folder = self._staging + ENVIRONMENTS
        os.makedirs(folder, 0o755, exist_ok=True)
        os.chmod(folder, 0o755)
        self._copy(folder, container + ":/")
        skeleton = os.path.join(self._staging, "skeleton" + TOP)
        for inside in self._places.inside.values():
            is_folder = inside.startswith((BUILD, CACHE))
            os.makedirs(skeleton + (inside if is_folder else os.path.dirname(inside))[len(TOP) :], exist_ok=True)
        self._copy(skeleton, container + ":/")
        for path, inside in self._places.inside.items():
            if path not in self._places.writable:
                self._copy(path, "%s:%s" % (container, inside))

    def _copy(self, source: str, target: str) -> None:
        self._do("cp", "--follow-link", source, target)

    def started(self, container: str, shell: "Shell", linked: str, log: "Log") -> bool:
        """It is all there already."""
        return True

    def refresh(self, container: str) -> None:
        """Bring what has changed in the staging folder."""
        for name in sorted(os.listdir(self._staging)):
            path = os.path.join(self._staging, name)
            changed = os.stat(path).st_mtime_ns
            if name in ("skeleton", ENVIRONMENTS.strip("/")) or self._brought.get(name) == changed:
                continue
            self._brought[name] = changed
            self._copy(path, "%s:%s/" % (container, BUILD))

    def leaving(self, shell: "Shell", log: "Log") -> None:
        """What was brought is not to stay in the image."""
        shell.script("rm -rf %s/*" % TOP, log)
