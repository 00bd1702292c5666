"""What differs between Linux, macOS and Windows, one module each; shipped to the machine with the runner.

Every module offers the same names. Linux is where they are proven; the documentation says what was run where.
"""

import sys

if sys.platform == "win32":
    from jig.system.windows import (
        boot_id,
        carriers,
        descendants,
        detach,
        inherit_orphans,
        is_network_disk,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reserve_space,
        spawn_piped,
    )
elif sys.platform == "darwin":
    from jig.system.darwin import (
        boot_id,
        carriers,
        descendants,
        detach,
        inherit_orphans,
        is_network_disk,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reserve_space,
        spawn_piped,
    )
else:
    from jig.system.linux import (
        boot_id,
        carriers,
        descendants,
        detach,
        inherit_orphans,
        is_network_disk,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reserve_space,
        spawn_piped,
    )

__all__ = [
    "boot_id",
    "carriers",
    "descendants",
    "detach",
    "inherit_orphans",
    "is_network_disk",
    "lock",
    "oom_kills",
    "pid_exists",
    "put_folder",
    "reserve_space",
    "spawn_piped",
]
