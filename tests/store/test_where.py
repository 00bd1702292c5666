"""The query language: what it means, what it refuses, and that the index answers as the records themselves do."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.errors import UsageError
from jig.store import keys
from jig.store.runs import Run
from jig.store.where import parse
from tests.store.records import Indexed, ended, make

NOV_1 = 1793491200.0  # 2026-11-01 00:00 UTC
PROOF = {"verdict": "used", "gpu_s": 61.5, "mean_percent": 65.4, "peak_memory_bytes": 5 << 30}
RUNS = [
    make(1, {"accuracy": 0.5, "loss": float("nan")}, {"lr": 0.1, "opt": "Adam"}, {"stage": "final"}, target="gpu_box"),
    make(
        2, {"accuracy": 0.95, "curve": [1, 2]}, {"lr": "0.01", "shuffle": "True"}, note="näher am ZIEL", archived=True
    ),
    make(3, {"lr": 7, "my metric": 3, "val/loss": 2}, {"lr": 0.5, "shuffle": False}, run=ended(proof=PROOF)),
    make(4, {"accuracy": "high", "a`b": 1}, {"curve": 5}, created=NOV_1 + 3600, arguments=["--lr", "0.3"]),
    make(5, {"big": 10**30, "inf": float("inf")}, {}, {"lr": "x"}, run=Run(state="Failed", exit_code=3)),
]
INDEX = Indexed(RUNS)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("accuracy > 0.9", [2]),
        ("accuracy != 0.5", [2]),  # neither what is missing nor what is no number
        ("not accuracy = 0.5", [5, 4, 3, 2]),
        ("not (accuracy > 0.9 or accuracy < 0.6)", [5, 4, 3]),
        ("accuracy >= 0.5 AND accuracy <= .5", [1]),
        ("accuracy = 'high'", [4]),
        ('accuracy < "high"', [2, 1]),  # a text is compared with texts: "0.95", "0.5"
        ("accuracy is null", [5, 3]),
        ("accuracy is not null and not accuracy is null", [4, 2, 1]),
        ("lr = 0.01", [2]),  # a text that reads as a number
        ("lr = '0.01'", [2]),
        ("lr = 7", [3]),  # a metric before a parameter of the same name
        ("params.lr = 0.5", [3]),
        ("lr in (0.1, 7, 'x')", [3, 1]),
        ("lr not in (0.1, 7)", [2]),
        ("tags.lr = 'x'", [5]),
        ("opt ~ 'ADA'", [1]),
        ("opt like 'a%m'", [1]),
        ("opt like 'ad'", []),
        ("opt not like '%x%'", [1]),
        ("opt !~ 'x'", [1]),
        ("note ~ 'NÄHER AM z'", [2]),
        ("shuffle = true", [2]),
        ("shuffle != true", [3]),
        ("params.shuffle == False", [3]),
        ("archived = true", [2]),
        ("hidden = false and status <> 'Failed'", [4, 3, 1]),
        ("`my metric` = 3", [3]),
        ("metrics.`my metric` = 3", [3]),
        ("`a``b` = 1", [4]),
        ("val/loss > 1", [3]),
        ("metrics.curve is not null", [2]),  # a list is there, and nothing to compare
        ("metrics.curve > 0", []),
        ("curve = 5", [4]),  # a list leaves its place to a parameter
        ("loss is not null and loss = 'NaN'", [1]),
        ("loss > 0 or loss <= 0", []),
        ("inf > 1e308", [5]),
        ("big = 1000000000000000000000000000000", [5]),
        ("duration > 10s and duration < 11", [3]),
        ("duration = 10.5", [3]),
        ("duration > '0:00:10'", [3]),
        ("duration < 1h30m", [3]),
        ("exit_code = 0", [3]),
        ("gpu_busy > 60 and gpu.verdict = 'used' and gpu_s < 2m", [3]),
        ("arguments ~ '--lr 0.3'", [4]),
        ("created > 2026-10-31", [4]),
        ("created > 2026-11-01", []),  # a date is the whole day
        ("created >= 2026-11-01", [4]),
        ("created = 2026-11", [4]),
        ("created = 2026-11-01T01:00", [4]),
        ("created = 2026-11-01T01:00:00.5", []),
        ("created != 2026", [5, 3, 2, 1]),
        ("created <= 1970-01-01T00:33:20", [2, 1]),
        ("created < '1970-01-01 00:33:20'", [1]),
        ("created = 2026-11-01T02:00+01:00", [4]),
        ("created > -2d", [4]),
        ("created > -1h", []),
        ("started is null", [5, 4, 2, 1]),
        ("run_id in ('p_1', 'p_4') and run_number > 1", [4]),
        ("commit = 'ab' and user_id = 'ada' and name = 'p'", [5, 4, 3, 2, 1]),
        ("parent_run_id is null and sweep is null", [5, 4, 3, 2, 1]),
        ("nothing.like.it = 1", []),
        ("not nothing.like.it = 1", [5, 4, 3, 2, 1]),
    ],
)
def test_what_it_means(query, numbers):
    where = parse(query, now=NOV_1 + 86400)
    assert [one["run_number"] for one in reversed(RUNS) if where.matches(one)] == numbers
    assert INDEX.find(where) == numbers


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("", "the name of a key, metric or parameter was expected:\n  \n  ^", "backquotes"),
        ("accuracy >", "a value was expected:\n  accuracy >\n            ^", '"a text"'),
        (
            "accuracy",
            "=, !=, >, >=, <, <=, ~, like, in or is was expected after accuracy:\n  accuracy\n          ^",
            "",
        ),
        ("target = gpu_box", "a value was expected:\n  target = gpu_box\n           ^", '"gpu_box"'),
        ("target = 5", "target is a text:\n  target = 5\n           ^", 'target = "5"'),
        ("run_number = '5'", "run_number is a number:\n  run_number = '5'\n               ^", "without quotes"),
        ("duration > 'long'", "duration is a length of time:\n  duration > 'long'\n             ^", "duration > 10m"),
        ("created > 5", "created is a time:\n  created > 5\n            ^", "created > -2d"),
        ("created > 2d", "created is a time:\n  created > 2d\n            ^", "created > -2d"),
        (
            "created > 2026-13-01",
            "this is no number, duration or date:\n  created > 2026-13-01\n            ^",
            "2026-11-01",
        ),
        ("accuracy > 2026-11-01", "accuracy is no time:\n  accuracy > 2026-11-01\n             ^", "created"),
        ("created ~ '2026'", "created is no text:\n  created ~ '2026'\n            ^", "with ="),
        ("status > true", "true and false are only equal or not:\n  status > true\n           ^", "= true"),
        ("status = true", "status is never true or false:\n  status = true\n           ^", ""),
        ("a = 1 b = 2", "this does not belong here:\n  a = 1 b = 2\n        ^", "`and`"),
        ("(a = 1", "a closing parenthesis is missing:\n  (a = 1\n        ^", ""),
        ("a = 'x", "a closing ' is missing:\n  a = 'x\n      ^", ""),
        ("a ! 3", "this character has no meaning here:\n  a ! 3\n    ^", "write `not`"),
        ("a = 1 && b = 2", "this character has no meaning here:\n  a = 1 && b = 2\n        ^", "write `and`"),
        ("status = 'completed'", "this is no state of a run:\n  status = 'completed'\n           ^", '"Completed"'),
        (
            "status in ('Lost', 'gone')",
            "this is no state of a run:\n  status in ('Lost', 'gone')\n                     ^",
            "the states are Queued, Preparing",
        ),
        (
            "a = 1 or " * 20 + "b",
            f"=, !=, >, >=, <, <=, ~, like, in or is was expected after b:\n  …{('a = 1 or ' * 8)[3:]}b\n  {' ' * 71}^",
            "",
        ),
        ("a is 3", "`null` was expected:\n  a is 3\n       ^", "a is not null"),
        ("a in 3", "a parenthesis was expected:\n  a in 3\n       ^", "in ("),
        ("a in (3 4)", "a comma or a closing parenthesis was expected:\n  a in (3 4)\n          ^", ""),
        ("a not = 3", "in or like was expected after a:\n  a not = 3\n        ^", ""),
        ("a = 12x", "this is no number, duration or date:\n  a = 12x\n      ^", "90s"),
        ("gpu = 'used'", "gpu holds several values:\n  gpu = 'used'\n  ^", "gpu."),
        ("and = 1", "the name of a key, metric or parameter was expected:\n  and = 1\n  ^", "backquotes"),
        ("(" * 40 + "a = 1" + ")" * 40, None, ""),
        (" or ".join(["a = 1"] * 60), "a query has at most 50 conditions and 900 values, not 60 and 60", ""),
    ],
)
def test_what_it_refuses(query, message, hint):
    with pytest.raises(UsageError) as refused:
        parse(query)
    assert message in (None, refused.value.message)
    assert hint in refused.value.hint


def test_the_most_that_it_takes():
    many = ", ".join(f"'p_{number}'" for number in range(800))
    wide = " and ".join(f"not m{number} = {number}" for number in range(45))
    where = parse(f"run_id in ({many}) and not ({wide} and accuracy > 3)")
    assert INDEX.find(where) == [5, 4, 3, 2, 1]
    many = {f"m{number}": number for number in range(50)}
    records = [make(1, many, many), make(2)]
    where = parse(" and ".join(f"m{number} = {number}" for number in range(50)))
    assert where.matches(records[0]) and Indexed(records).find(where) == [1]


@pytest.mark.parametrize(
    ("sort", "numbers"),
    [
        ("", [5, 4, 3, 2, 1]),
        ("accuracy", [1, 2, 4, 5, 3]),  # numbers, texts, and what is missing last
        ("-accuracy", [2, 1, 4, 5, 3]),
        ("lr", [2, 1, 3, 5, 4]),
        ("-lr", [3, 1, 2, 5, 4]),
        ("status,-run_number", [3, 5, 4, 2, 1]),
        ("status,run_number", [3, 5, 1, 2, 4]),
        ("-duration", [3, 5, 4, 2, 1]),
        ("created", [1, 2, 3, 5, 4]),
        ("loss", [1, 5, 4, 3, 2]),  # NaN is no number, but a text
        ("`my metric`,run_id", [3, 1, 2, 4, 5]),
        ("nobody", [5, 4, 3, 2, 1]),
    ],
)
def test_sorting(sort, numbers):
    assert INDEX.find(sort=keys.sorting(sort)) == numbers


NAMES = st.sampled_from(["a", "b", "a b", "lr", "status", "é", "`", "\udc80"])
SCALARS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, math.nan, math.inf, 1e300, 2**53 + 1, 2**63, -(2**70), True, False]),
    st.sampled_from(["", "0.5", "2", "x", "X y", "True", "é", "\udc80", "nan", "%"]),
)
VALUES = st.one_of(SCALARS, st.none(), st.just([1, 2]), st.just({"image": "outputs/a.png"}))
LOGGED = st.dictionaries(NAMES, VALUES, max_size=4)
TAGS = st.dictionaries(NAMES, st.sampled_from(["", "1", "x", "é"]), max_size=3)
ENDS = st.sampled_from([Run(), ended(), ended(mono=600.0, exit_code=2, reason="killed"), Run(state="Failed")])


@st.composite
def many_records(draw):
    count = draw(st.integers(1, 8))
    return [
        make(
            number,
            draw(LOGGED),
            draw(LOGGED),
            draw(TAGS),
            draw(ENDS),
            archived=draw(st.booleans()),
            created=draw(st.sampled_from([0.0, 0.1, 86399.999999, 1e9, 1793491200.25])),
            target=draw(st.sampled_from(["local", "Gpu_box", "é"])),
        )
        for number in range(1, count + 1)
    ]


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


KEYS = st.one_of(
    NAMES.filter(lambda name: name != "status").map(quoted),  # alone it is the run's own
    st.tuples(st.sampled_from(["metrics.", "params.", "tags."]), NAMES.map(quoted)).map("".join),
)
NUMBERS = st.sampled_from(["0", "-1", ".5", "2", "1e300", "9007199254740993", "1e999", "9223372036854775808"])
TEXTS = st.sampled_from(["'x'", '"0.5"', "''", "'É'", "'%'", "'True'"])
SIGNS = st.sampled_from(["=", "==", "!=", "<>", ">", ">=", "<", "<="])


def spaced(*parts):
    return st.tuples(*(part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts)).map(" ".join)


CONDITIONS = st.one_of(
    spaced(KEYS, SIGNS, st.one_of(NUMBERS, TEXTS, st.just("10m"))),
    spaced(KEYS, st.sampled_from(["=", "!="]), st.sampled_from(["true", "false"])),
    spaced(
        KEYS, st.sampled_from(["~", "!~", "like", "not like"]), st.one_of(TEXTS, st.sampled_from(["'%e'", "'x%y'"]))
    ),
    spaced(
        KEYS,
        st.sampled_from(["in", "not in"]),
        "(",
        st.lists(st.one_of(NUMBERS, TEXTS), min_size=1).map(", ".join),
        ")",
    ),
    spaced(KEYS, st.sampled_from(["is null", "is not null"])),
    spaced(st.sampled_from(["reason", "target", "run_id"]), st.one_of(SIGNS, st.just("~")), TEXTS),
    spaced("status", st.one_of(SIGNS, st.just("~")), st.sampled_from(["'Completed'", "'Running'", '"Failed"'])),
    spaced("duration", SIGNS, st.sampled_from(["10.5", "10m", "599s"])),
    spaced("created", SIGNS, st.sampled_from(["1970", "1970-01-01", "1970-01-01T00:00:00.1", "2026-11-01", "-1d"])),
    spaced(st.sampled_from(["exit_code", "run_number"]), SIGNS, NUMBERS),
    spaced("archived", st.sampled_from(["=", "!="]), st.sampled_from(["true", "false"])),
)
QUERIES = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        spaced("not", inner),
        spaced("(", inner, ")"),
        spaced("(", inner, st.sampled_from(["and", "or"]), inner, ")"),
    ),
    max_leaves=5,
)


@settings(max_examples=400, deadline=None)
@given(many_records(), QUERIES)
def test_the_index_answers_as_the_records_do(records, query):
    where = parse(query, now=1e9)
    expected = [one["run_number"] for one in reversed(records) if where.matches(one)]
    assert Indexed(records).find(where) == expected


def in_order(records, sort):
    """Newest first, then stably by each key from the last to the first."""
    found = sorted(records, key=lambda one: -one["run_number"])
    for key, backwards in reversed(sort):
        pairs = {one["run_id"]: keys.pair(keys.raw(one, key), key.kind) for one in found}
        by_number = sorted(
            (one for one in found if pairs[one["run_id"]][0] is not None),
            key=lambda one: pairs[one["run_id"]][0], reverse=backwards,
        )  # fmt: skip
        texts = [one for one in found if pairs[one["run_id"]][0] is None and pairs[one["run_id"]][1] is not None]
        texts.sort(key=lambda one: pairs[one["run_id"]][1], reverse=backwards)
        found = by_number + texts + [one for one in found if pairs[one["run_id"]] == (None, None)]
    return [one["run_number"] for one in found]


SORTED = st.one_of(KEYS, st.sampled_from(["status", "duration", "created", "exit_code", "archived", "target"]))


@settings(max_examples=200, deadline=None)
@given(many_records(), st.lists(st.tuples(st.sampled_from(["", "-"]), SORTED).map("".join), max_size=3))
def test_the_index_sorts_as_python_does(records, written):
    sort = keys.sorting(",".join(written))
    assert Indexed(records).find(sort=sort) == in_order(records, sort)
    assert Indexed(records).find(sort=sort, limit=2) == in_order(records, sort)[:2]


def test_names_in_a_list():
    assert keys.split("run_id, Regularization Rate,`a,b`,,metrics.`c`") == [
        "run_id", "Regularization Rate", "`a,b`", "metrics.`c`",
    ]  # fmt: skip
    assert [keys.named(name).name for name in keys.split("`a,b`,metrics.`c`,`d``e`")] == ["a,b", "c", "d`e"]
