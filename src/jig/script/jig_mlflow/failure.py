"""What goes wrong, in the words and with the numbers that MLflow's client knows."""

STATUS = {
    "BAD_REQUEST": 400,
    "INVALID_PARAMETER_VALUE": 400,
    "RESOURCE_ALREADY_EXISTS": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "ENDPOINT_NOT_FOUND": 404,
    "RESOURCE_DOES_NOT_EXIST": 404,
    "RESOURCE_EXHAUSTED": 413,
    "REQUEST_LIMIT_EXCEEDED": 429,
    "INTERNAL_ERROR": 500,
}


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, code, message):
        Exception.__init__(self, message)
        self.code = code
        self.message = message

    @property
    def status(self):
        """The number that HTTP has for it."""
        return STATUS[self.code]


def invalid(message):
    """The request makes no sense."""
    return Refused("INVALID_PARAMETER_VALUE", message)


def missing(message):
    """There is no such thing."""
    return Refused("RESOURCE_DOES_NOT_EXIST", message)
