"""What keeps Spark from starting: one sentence and one fix, for the run's record."""


class Refused(Exception):
    """Spark cannot be started; `hint` says what to do."""

    def __init__(self, detail, hint):
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
