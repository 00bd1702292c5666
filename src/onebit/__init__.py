"""1-bit SGD for PyTorch: gradients cross the wire as one bit an element, and what that loses goes with the next step.

    model = DistributedDataParallel(model)
    onebit.attach(model)

`encode` and `decode` are the codec for one tensor; see docs/distributed.md.
"""

from onebit.attach import Attached, attach, attached
from onebit.codec import BLOCK
from onebit.single import Packed, decode, encode
from onebit.unfit import Unfit

__all__ = ["BLOCK", "Attached", "Packed", "Unfit", "attach", "attached", "decode", "encode"]
