"""Started as `python3 -I -S …/jig/runner/__main__.py VERB [WORD…]`; kept tiny because Python never caches this file."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from jig.runner.verbs import main  # noqa: E402

main(sys.argv[1:])
