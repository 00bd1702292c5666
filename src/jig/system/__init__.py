"""What differs between Linux, macOS and Windows, one module each; shipped to the machine with the runner.

Every module offers the same names. Linux is where they are proven; the documentation says what was run where.
"""

import sys

if sys.platform == "win32":
    from jig.system.windows import *
elif sys.platform == "darwin":
    from jig.system.darwin import *
else:
    from jig.system.linux import *
