"""`jig history list`: which runs, in which order, which columns, and what a narrow terminal shows."""

import pytest

from tests.store.records import ENDED, log, write_run
from tests.terminal import jig

PROOF = {"verdict": "used", "gpu_s": 61.5, "mean_percent": 65.4, "peak_memory_bytes": 5 << 30}


@pytest.fixture
def runs(project, jig_home):
    """Four runs of this project and one of another; 4 is the newest."""
    lrs, accuracies = (0.1, 0.01, 0.3, "0.2"), (0.91, 0.95, None, 0.6)
    for number, (lr, accuracy) in enumerate(zip(lrs, accuracies, strict=True), 1):
        events = (*ENDED[:2], {**ENDED[2], "proof": PROOF if number == 1 else None, "mono": 10.0 * number})
        folder = write_run(
            jig_home, f"proj_{number}", number, events, created=1000.0 * number,
            target="my_dsvm" if number % 2 else "local", params={"lr": lr},
        )  # fmt: skip
        if accuracy is not None:
            log(folder, {"values": {"accuracy": accuracy, "Regularization Rate": number}})
    log(folder, {"run": "1", "name": "fold", "values": {"accuracy": 0.99}})
    write_run(jig_home, "other_5", 5)
    return [f"proj_{number}" for number in (1, 2, 3, 4)]


def ids(said):
    assert said.code == 0, said.err
    return [one["run_id"] for one in said.json()]


def test_the_example(runs, cli):
    said = cli(
        "history", "list", "--where", 'accuracy > 0.9 and target = "my_dsvm"', "--sort", "-accuracy",
        "--columns", "run_id,lr,accuracy,gpu_busy", "-o", "table",
    )  # fmt: skip
    assert said.out.splitlines() == [
        "run_id   lr  accuracy  gpu_busy",
        "------  ---  --------  --------",
        "proj_1  0.1      0.91      65.4",
    ]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ((), [4, 3, 2, 1]),
        (("--sort", "-accuracy"), [2, 1, 4, 3]),
        (("--sort", "lr,run_id"), [2, 1, 4, 3]),
        (("--sort", "-lr", "-n", "2"), [3, 4]),
        (("--where", "lr >= 0.2"), [4, 3]),
        (("--where", "accuracy is null"), [3]),
        (("--where", "`Regularization Rate` in (1, 4)", "--sort", "Regularization Rate"), [1, 4]),
        (("--where", "duration > 19s", "-n", "1"), [4]),
        (("--where", "name = 'other'"), []),
        (("-w", "created < 1970-01-01T00:40", "-s", "created"), [1, 2]),
    ],
)
def test_which_and_in_which_order(runs, cli, words, numbers):
    assert ids(cli("history", "list", *words)) == [f"proj_{number}" for number in numbers]


def test_runs_of_every_project_and_within_runs(runs, cli):
    assert ids(cli("history", "list", "--all")) == ["other_5", *runs[::-1]]
    assert ids(cli("history", "list", "--nested", "--where", "accuracy > 0.9")) == ["proj_4-1", "proj_2", "proj_1"]
    assert ids(cli("history", "list", "--where", "parent_run_id = 'proj_4'")) == ["proj_4-1"]
    nested = cli("history", "info", "-r", "proj_4-1").json()
    assert (nested["run_name"], nested["accuracy"], nested["parent_run_id"]) == ("fold", 0.99, "proj_4")
    said = cli("history", "delete", "-r", "proj_4-1")
    assert said.code == 125 and "jig history delete -r proj_4" in said.err


def test_archived_runs(runs, cli):
    from jig.store.queries import Store

    store = Store()
    store.remark(store.find("proj_3", None), archived=True)
    assert ids(cli("history", "list")) == ["proj_4", "proj_2", "proj_1"]
    assert ids(cli("history", "list", "--archived")) == runs[::-1]
    assert ids(cli("history", "list", "--where", "archived = true")) == ["proj_3"]
    assert cli("history", "info", "-r", "proj_3").json()["hidden"] is True


@pytest.mark.parametrize("option", ["--where", "--sort", "--columns"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acuracy", "accuracy"),
        ("params.lrr", "params.lr"),
        ("statuss", "status"),
        ("Regularisation Rate", "Regularization Rate"),
    ],
)
def test_a_name_that_no_run_has(runs, cli, option, name, meant):
    said = cli("history", "list", option, f"`{name}` = 1" if option == "--where" else name)
    assert said.code == 2
    assert said.err == f"error: no run has {name}\n\nhint: did you mean {meant}?\n"
    said = cli("history", "list", option, "zzz = 1" if option == "--where" else "zzz")
    assert said.code == 2 and "logged were accuracy, Regularization Rate, lr" in said.err


def test_a_mistake_in_the_query(runs, cli):
    said = cli("history", "list", "--where", "accuracy > ")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: a value was expected:\n  accuracy > \n             ^\n\nhint: ")


def test_names_are_not_missed_where_there_is_no_run(project, cli):
    assert cli("history", "list", "--where", "accuracy > 0.9", "--sort", "-accuracy").json() == []


def test_columns_in_every_output(runs, cli):
    words = ("history", "list", "--columns", "run_id, metrics.accuracy,params,commit", "-n", "2")
    rows = [
        {"run_id": "proj_4", "metrics.accuracy": 0.6, "params": {"lr": "0.2"}, "commit": "ab"},
        {"run_id": "proj_3", "metrics.accuracy": None, "params": {"lr": 0.3}, "commit": "ab"},
    ]
    assert cli(*words).json() == rows
    assert cli(*words, "-o", "tsv").out == 'proj_4\t0.6\t{"lr": "0.2"}\tab\nproj_3\t\t{"lr": 0.3}\tab\n'
    assert cli(*words, "--query", "[].commit").json() == ["ab", "ab"]
    table = cli("history", "list", "--columns", "created,duration,gpu_peak_memory_bytes", "-o", "table").out
    assert table.splitlines()[2:] == [
        "1970-01-01 01:06:40  0:00:39.0",
        "1970-01-01 00:50:00  0:00:29.0",
        "1970-01-01 00:33:20  0:00:19.0",
        "1970-01-01 00:16:40  0:00:09.0  5.00GiB",
    ]


def test_the_queries_of_the_original_how_to_with_conditions(runs, cli):
    best = "@[?accuracy != null] | max_by(@, &accuracy).accuracy"
    assert cli("history", "list", "--where", "target = 'my_dsvm'", "--query", best).out == "0.91\n"
    fastest = "[?accuracy > `0.9`] | sort_by(@, &duration) | [].run_id"
    assert cli("history", "list", "--query", fastest).json() == ["proj_1", "proj_2"]


def at(columns, *words):
    """What `jig history list` shows at a terminal so wide, line by line."""
    with jig("history", "list", "--all", *words, columns=columns) as terminal:
        assert terminal.ends() == 0
        return terminal.seen.splitlines()


def test_a_narrow_terminal_is_not_overrun(project, jig_home):
    folder = write_run(jig_home, "classifying_iris_1794828887874", script="training/iris_sklearn.py")
    names = ["Regularization Rate", "Accuracy", "loss", "val_loss", "a_metric_with_a_long_name"]
    log(folder, {"values": dict.fromkeys(names, 0.6792452830188679)})
    assert at(80) == [
        "no room for loss, val_loss, a_metric_with_a_long_na…; --columns chooses",
        "Regularizatio…  Accuracy  run_id                          started      status",
        "--------------  --------  ------------------------------  -----------  ---------",
        "      0.679245  0.679245  classifying_iris_1794828887874  01-01 00:01  Completed",
    ]
    for columns in (60, 120):
        lines = at(columns)
        assert max(map(len, lines)) <= columns
        assert "classifying_iris_1794828887874" in lines[-1] and lines[-1].endswith("  Completed")
    assert at(220)[0].split() == " ".join([*names, "duration run_id script_name start_time_utc status"]).split()
    assert max(map(len, at(80, "--columns", "run_id,script_name,Regularization Rate,experiment_id,status"))) <= 80


def test_metrics_that_most_runs_have_come_first_where_there_is_little_room(project, jig_home):
    for number in (1, 2):
        folder = write_run(jig_home, f"proj_{number}794828887874", number)
        log(folder, {"values": dict.fromkeys(("loss", "accuracy"), 0.6792452830188679)})
    log(write_run(jig_home, "proj_3794828887874", 3), {"values": dict.fromkeys(("done", "failed", "best"), 1)})
    told, heads = at(80)[:2]
    assert heads.split() == ["done", "loss", "accuracy", "duration", "run_id", "started", "status"]
    assert told == "no room for failed, best, script_name; --columns chooses"


def test_metrics_that_are_called_as_keys_of_the_record(project, jig_home, cli):
    log(write_run(jig_home, "proj_1"), {"values": {"gpu": 3, "name": "x", "params": 2, "status": 7, "loss": 0.5}})
    said = cli("history", "list", "-o", "table")
    assert said.out.split("\n")[0].split() == ["loss", "duration", "run_id", "script_name", "start_time_utc", "status"]
    said = cli("history", "list", "--columns", "run_id,metrics.gpu,metrics.status", "-o", "tsv")
    assert said.out == "proj_1\t3\t7\n"


@pytest.mark.parametrize(
    "where", ["duration > 1e13", "duration < 1e999", "created > -99999999999w", "run_number < 1e300"]
)
def test_numbers_beyond_all_measure(project, cli, where):
    project.write("a.py", "print(1)")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    said = cli("history", "list", "--where", where, "-n", "9" * 25)
    assert said.code == 0, said.err
    assert [one["run_id"] for one in said.json()] == ([] if where == "duration > 1e13" else [run_id])


def test_the_last_runs_are_named_everywhere(project, cli):
    project.write("a.py", "print(1)")
    first, second = (cli("submit", "-c", "local", "a.py").run_id for _ in range(2))
    assert cli("history", "tag", "-r", "last~1", "stage=old").code == 0
    assert cli("history", "list", "--where", 'tags.stage = "old"').json()[0]["run_id"] == first
    assert cli("history", "archive", "last").out == f"archived {second}\n"
    assert cli("history", "last").json()["run_id"] == first, "the last of those that are listed"
    assert cli("history", "archive", "last").out == f"archived {first}\n"
    assert cli("history", "last").json()["run_id"] == second, "the last of all, where none is listed"
    assert cli("history", "delete", "-r", "last").out == f"deleted {second}\n"


def test_digits_that_are_no_numbers(project, cli):
    assert cli("history", "list", "-n", "\u00b2").code == 2
    assert cli("history", "info", "-r", "last~\u00b2").code == 2
