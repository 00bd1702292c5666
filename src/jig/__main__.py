"""`python -m jig` is the command `jig`, and this is where both begin."""

import sys


def main() -> int:
    """The exit code; Ctrl-C is no traceback, however early it comes."""
    try:
        from jig.cli import main as command_line
    except KeyboardInterrupt:
        return 130  # what a shell says of SIGINT
    return command_line()


if __name__ == "__main__":
    sys.exit(main())
