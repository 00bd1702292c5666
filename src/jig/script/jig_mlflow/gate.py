"""Who may come in: whoever knows the run's token, and was sent to this very address."""

import base64
import os
from _operator import _compare_digest as is_same

from jig_mlflow.failure import Refused

CREDENTIALS = ".mlflow/credentials"
ADVICE = "what logs to this run has its MLFLOW_TRACKING_URI and MLFLOW_TRACKING_TOKEN from its environment"


class Gate(object):
    """The check of one request's head."""

    def __init__(self, told):
        self._told = told
        self._hosts = [("%s:%d" % (host, told["port"])).encode() for host in ("127.0.0.1", "localhost")]
        self._token = b"Bearer " + told["token"].encode("utf-8", "surrogateescape")

    def check(self, host, authorization):
        """Refused unless both are right. A page that a browser was led to has another name for us, and no token."""
        if host.lower() not in self._hosts:
            raise Refused("PERMISSION_DENIED", "this is the endpoint of a jig run, and has no other name: %s" % ADVICE)
        if not is_same(self._token, authorization) and not self._is_users(authorization):
            raise Refused("UNAUTHENTICATED", "the token is missing or wrong: %s" % ADVICE)

    def _is_users(self, authorization):
        """Whether it is the user's own name and password, which their client sends before any token."""
        if not authorization.startswith(b"Basic "):
            return False
        user, password = self._told["user"], self._told["password"]
        if not (user and password):
            kept = self._kept()
            user, password = user or kept[0], password or kept[1]
        pair = base64.b64encode(("%s:%s" % (user, password)).encode("utf-8", "surrogateescape"))
        return bool(user and password) and is_same(b"Basic " + pair, authorization)

    def _kept(self):
        """What MLflow's own file of credentials has."""
        from configparser import ConfigParser, Error

        parser = ConfigParser()
        try:
            parser.read(os.path.join(self._told["home"], CREDENTIALS), encoding="utf-8")
            kept = parser["mlflow"]
            return kept.get("mlflow_tracking_username", ""), kept.get("mlflow_tracking_password", "")
        except (KeyError, OSError, UnicodeDecodeError, Error):  # none, or none that MLflow could read either
            return "", ""
