"""What cannot be compressed."""


class Unfit(RuntimeError):
    """This model's gradients cannot be compressed, why, and nothing was changed; all ranks come to the same answer."""
