"""First process of a run's container. What it does is in `jig_inside`: what is imported, Python keeps compiled."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))  # an isolated Python does not look beside this file

import jig_inside  # noqa: E402

code = jig_inside.main(sys.argv[1:])
sys.stderr.flush()
os._exit(code)
