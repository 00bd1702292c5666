"""MLflow's filter language: conditions joined by AND, such as `metrics.loss < 0.1 and tags."my tag" like 'a%'`."""

import re

from jig_mlflow.failure import invalid

KINDS = {
    "metrics": ("metric", "metrics"),
    "params": ("param", "params", "parameter", "parameters"),
    "tags": ("tag", "tags"),
    "attributes": ("attribute", "attributes", "attr", "run"),
    "datasets": ("dataset", "datasets"),
}
BY_WORD = {word: kind for kind, words in KINDS.items() for word in words}
SIGNS = ("!=", ">=", "<=", "=", ">", "<")
QUOTES = "'\"`"


class Token(object):
    """A word, a quoted text, or a sign."""

    def __init__(self, kind, text):
        self.kind = kind
        self.text = text

    def says(self, *words):
        """Whether it is one of these words."""
        return self.kind == "word" and self.text.upper() in words


def tokens(text):
    """The filter's words."""
    found, at = [], 0
    while at < len(text):
        letter = text[at]
        sign = next((sign for sign in SIGNS if text.startswith(sign, at)), "")
        if letter.isspace():
            at += 1
        elif sign:
            found.append(Token("sign", sign))
            at += len(sign)
        elif letter in "(),":
            found.append(Token(letter, letter))
            at += 1
        elif letter in QUOTES:
            value, at = _quoted(text, at)
            found.append(Token("text", value))
        else:
            start, word = at, ""
            while at < len(text) and not text[at].isspace() and text[at] not in "=!<>(),'":
                if text[at] in QUOTES:
                    quoted, at = _quoted(text, at)
                    word += quoted
                else:
                    word += text[at]
                    at += 1
            if at == start:
                raise invalid("Invalid clause(s) in filter string: %r at %d" % (text[at:], at))
            found.append(Token("word", word))
    return found


def _quoted(text, at):
    end = text.find(text[at], at + 1)
    if end < 0:
        raise invalid("Invalid filter string: the quote at %d of %r is not closed" % (at, text))
    return text[at + 1 : end], end + 1


def name(word, plain="attributes"):
    """What a name in a filter, or in an order, means: kind and key."""
    kind, dot, key = word.partition(".")
    key = key if dot else kind
    kind = BY_WORD.get(kind) if dot else plain
    if kind is None:
        raise invalid("Invalid entity type '%s'. Valid entity types are %s" % (word.partition(".")[0], sorted(KINDS)))
    for quote in QUOTES:
        if len(key) > 1 and key[0] == key[-1] == quote:
            key = key[1:-1]
    return kind, key


def parse(text):
    """The conditions, each (kind, key, comparison, value)."""
    rest = tokens(text or "")
    found = []
    while rest:
        if found:
            if not rest[0].says("AND"):
                raise invalid(
                    "Invalid clause(s) in filter string: conditions are joined by AND, found %r" % rest[0].text
                )
            rest = rest[1:]
        if rest and rest[0].kind == "(":  # around one condition they mean nothing
            raise invalid("Invalid clause(s) in filter string: parentheses are for lists only")
        condition, rest = _condition(rest)
        found.append(condition)
    return found


def _condition(rest):
    if len(rest) < 3 or rest[0].kind not in ("word", "text"):
        raise invalid("Invalid clause(s) in filter string: expected a name, a comparison and a value")
    kind, key = name(rest[0].text)
    negated = rest[1].says("NOT")
    if rest[1].says("IS"):
        words = [token.text.upper() for token in rest[2:4]]
        if words[:1] == ["NULL"]:
            return (kind, key, "IS NULL", None), rest[3:]
        if words == ["NOT", "NULL"]:
            return (kind, key, "IS NOT NULL", None), rest[4:]
        raise invalid("Invalid clause(s) in filter string: IS is followed by NULL or NOT NULL")
    sign = rest[2] if negated else rest[1]
    after = rest[3:] if negated else rest[2:]
    comparison = ("NOT " if negated else "") + sign.text.upper()
    if comparison in ("IN", "NOT IN"):
        values, after = _list(after)
        return (kind, key, comparison, values), after
    if comparison not in SIGNS + ("LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE") or not after:
        raise invalid("Invalid comparator '%s' in filter string" % sign.text)
    return (kind, key, comparison, _value(kind, key, comparison, after[0])), after[1:]


def _list(rest):
    values = []
    if rest and rest[0].kind == "(":
        for at, token in enumerate(rest[1:], 1):
            if token.kind == ")":
                return values, rest[at + 1 :]
            if token.kind != ",":
                values.append(token.text)
    raise invalid("Invalid clause(s) in filter string: IN is followed by values in parentheses")


def _value(kind, key, comparison, token):
    if kind == "metrics" or (kind == "attributes" and key in NUMBERS):
        if comparison not in SIGNS:
            raise invalid("Invalid comparator for %s '%s': '%s' is for texts" % (kind, key, comparison))
        try:
            return float(token.text)
        except ValueError:
            raise invalid("Expected numeric value type for %s '%s'. Found %r" % (kind, key, token.text))
    if token.kind != "text" and kind != "attributes":
        raise invalid("Expected a quoted string value for %s '%s'. Got value %s" % (kind, key, token.text))
    if comparison in (">", ">=", "<", "<="):
        raise invalid("Invalid comparator for %s '%s': '%s' is for numbers" % (kind, key, comparison))
    return token.text


NUMBERS = ("start_time", "end_time", "created", "creation_time", "last_update_time", "creation_timestamp",
           "last_updated_timestamp", "creation_timestamp_ms", "last_updated_timestamp_ms")  # fmt: skip


def holds(found, comparison, wanted):
    """Whether what was found compares so; of what is not there nothing holds but that it is not there."""
    if comparison == "IS NULL":
        return found is None
    if found is None:
        return False
    if comparison == "IS NOT NULL":
        return True
    if isinstance(found, list):  # any of several, as of datasets
        return any(holds(one, comparison, wanted) for one in found)
    if comparison.endswith("IN"):
        return (found in wanted) == (comparison == "IN")
    if comparison.endswith("LIKE"):
        return bool(_like(wanted, comparison.endswith("ILIKE")).match(found)) != comparison.startswith("NOT")
    return {
        "=": found == wanted,
        "!=": found != wanted,
        ">": found > wanted,
        ">=": found >= wanted,
        "<": found < wanted,
        "<=": found <= wanted,
    }[comparison]


def _like(pattern, any_case):
    text = "".join({"%": ".*", "_": "."}.get(letter) or re.escape(letter) for letter in pattern)
    return re.compile(text + r"\Z", re.DOTALL | (re.IGNORECASE if any_case else 0))
