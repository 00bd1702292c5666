"""What NVIDIA's management library says when it fails, and what a person does about it."""

NO_INSTANCE = -1  # our own
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, INSUFFICIENT_SIZE, NO_LIBRARY, NO_FUNCTION = 3, 4, 6, 7, 12, 13
# Not supported, not allowed, not known to this version, not available now: the value is unknown, and nothing is broken.
UNTOLD = frozenset((2, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, NO_FUNCTION, 14, 19, 21, 22, 24, 25, 26, 27))
RESTART = "restart the machine; if it comes back, the card, its power or its slot is at fault: "
LOG = "`sudo dmesg | grep -i -e nvrm -e xid` on the machine says more"
# `a GPU` and NUMBER stand for the one that it is about.
SENTENCES = {
    NO_INSTANCE: (
        "a GPU is in MIG mode and has no instance",
        "`sudo nvidia-smi mig -i NUMBER -lgip` lists what it can be split into, and -cgi with -C does it;"
        " `sudo nvidia-smi -i NUMBER -mig 0` makes it one GPU again",
    ),
    NO_PERMISSION: (
        "this user may not use the NVIDIA driver",
        "`ls -l /dev/nvidia*` on the machine says which group may: its administrator can add you to it",
    ),
    8: ("a GPU gets too little power", "check the card's power cables and the power supply; " + LOG),
    9: (
        "the NVIDIA driver of this machine is installed and not loaded",
        "`sudo modprobe nvidia` loads it, or says why not; after an update, restart the machine",
    ),
    10: ("the NVIDIA driver gave up waiting for a GPU", RESTART + LOG),
    11: ("the NVIDIA driver gets no interrupts from a GPU", RESTART + LOG),
    NO_LIBRARY: (
        "the NVIDIA driver is here, and its library libnvidia-ml.so.1 is not found",
        "install the driver's libraries in the version that is loaded (`cat /proc/driver/nvidia/version`); on Debian"
        " and Ubuntu the package libnvidia-ml1 or libnvidia-compute-NNN has it; in a container, start it with the GPU",
    ),
    15: ("a GPU is lost: it no longer answers on its bus", RESTART + LOG),
    16: (
        "a GPU has to be reset before it can be used again",
        "end every process on it, then `sudo nvidia-smi --gpu-reset -i NUMBER`, or restart the machine; " + LOG,
    ),
    17: ("the operating system does not let the NVIDIA driver reach a GPU", LOG),
    18: (
        "the NVIDIA driver was updated and the old one is still loaded (driver/library version mismatch)",
        "restart the machine; or, while nothing uses a GPU,"
        " `sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia`",
    ),
    20: ("the machine has too little memory for the NVIDIA driver", "end something that uses memory, then try again"),
    23: ("the NVIDIA driver has no resources left", "end processes that use a GPU, then try again"),
    28: ("the NVIDIA driver does not find a GPU that it had", RESTART + LOG),
}


class NvmlError(Exception):
    """A call failed with this code: `reason` is one sentence, `hint` says what to do."""

    def __init__(self, code: int, said: str = "") -> None:
        unknown = "the NVIDIA driver reports an error that it does not explain (%s)" % (said or "code %d" % code)
        self.code = code
        self.reason, self.hint = SENTENCES.get(code, (unknown, "if it stays, restart the machine; " + LOG))
        super().__init__(code, said)

    def __str__(self) -> str:
        return self.reason

    def about(self, index: int) -> "NvmlError":
        """The same, said of the GPU with this number."""
        gpu = "GPU %d" % index
        said = self.reason.replace("a GPU", gpu, 1) if "a GPU" in self.reason else "%s: %s" % (gpu, self.reason)
        self.reason, self.hint = said, self.hint.replace("NUMBER", str(index))
        return self
