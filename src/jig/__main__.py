"""`python -m jig` is the command `jig`."""

import sys

from jig.cli import main

if __name__ == "__main__":
    sys.exit(main())
