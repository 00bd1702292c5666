"""From a request to an answer: who asks, what for, and what comes of it."""

import json
import sys
import traceback
from urllib.parse import parse_qs, unquote

from jig_mlflow import routes
from jig_mlflow.asked import Asked
from jig_mlflow.failure import Refused

ABOUT = (
    b"This is where a jig run keeps what MLflow logs. It has no pages: `jig history list`, `jig history plot` and "
    b"`jig history compare` show what was logged, on the computer that the run was submitted from.\n"
)
NEVER_RETRIED = 501  # of 500 and its like a client thinks that they pass, and tries again for minutes


def answer(record, request):
    """Status and body."""
    try:
        path, _, query = request.target.partition("?")
        call, fields = routes.find(request.method, unquote(path))
        given = _from_query(query) if request.method == "GET" else _from_body(request.body)
        given.update(_from_query(query) if request.method != "GET" and query else {})
        given.update(fields)
        record.look()
        said = call(record, Asked(given))
        return 200, json.dumps(said).encode()
    except Refused as refused:
        return refused.status, explain(refused.code, refused.message)
    except OSError as error:
        return NEVER_RETRIED, explain("INTERNAL_ERROR", "the run's folder could not be used: %s" % error)
    except Exception:  # the boundary of this process: a bug must not end what others log
        traceback.print_exc()
        sys.stderr.flush()
        return NEVER_RETRIED, explain(
            "INTERNAL_ERROR", "jig's MLflow endpoint has a bug: %s" % traceback.format_exc(limit=-1)
        )


def explain(code, message):
    """An error, as MLflow's client reads it."""
    return json.dumps({"error_code": code, "message": message}).encode()


def _from_query(query):
    try:
        found = parse_qs(query, keep_blank_values=True)
    except ValueError:
        raise Refused("BAD_REQUEST", "the query cannot be read")
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _from_body(body):
    if not body:
        return {}
    try:
        said = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused("BAD_REQUEST", "the body of the request is not JSON")
    if not isinstance(said, dict):
        raise Refused("BAD_REQUEST", "the body of the request is no JSON object")
    return said
