"""The GPUs of this machine: who has them, what they do, and whether a run used them."""

NO_DRIVER = "there is no NVIDIA driver on this machine"  # the `error` of a look where there is nothing to repair
