"""The program of a sweep's own run; `jig sweep` starts it."""

import os
import sys

import jig

# The part of jig that every script is given comes first in the search path; the rest of it stands here.
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if HERE not in jig.__path__:
    jig.__path__.append(HERE)

from jig.sweep.driver import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
