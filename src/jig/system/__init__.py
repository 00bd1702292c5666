"""What differs between Linux, macOS and Windows, one module each; shipped to the machine with the runner.

Every module offers the same names. Linux is where they are proven; the documentation says what was run where.
"""

import sys

if sys.platform == "win32":
    from jig.system.windows import (
        boot_id,
        carriers,
        close_inherited,
        command_line,
        descendants,
        detach,
        end,
        end_with,
        host_name,
        inherit_orphans,
        is_network_disk,
        kill,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reap,
        reserve_space,
    )
elif sys.platform == "darwin":
    from jig.system.darwin import (
        boot_id,
        carriers,
        close_inherited,
        command_line,
        descendants,
        detach,
        end,
        end_with,
        host_name,
        inherit_orphans,
        is_network_disk,
        kill,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reap,
        reserve_space,
    )
else:
    from jig.system.linux import (
        boot_id,
        carriers,
        close_inherited,
        command_line,
        descendants,
        detach,
        end,
        end_with,
        host_name,
        inherit_orphans,
        is_network_disk,
        kill,
        lock,
        oom_kills,
        pid_exists,
        put_folder,
        reap,
        reserve_space,
    )

__all__ = [
    "boot_id",
    "carriers",
    "close_inherited",
    "command_line",
    "descendants",
    "detach",
    "end",
    "end_with",
    "host_name",
    "inherit_orphans",
    "is_network_disk",
    "kill",
    "lock",
    "oom_kills",
    "pid_exists",
    "put_folder",
    "reap",
    "reserve_space",
]
