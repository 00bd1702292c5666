"""Plans are compared whole, as values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.environments import Environment
from jig.errors import JigError, UsageError
from jig.plan import Gpu, Origin, Plan, SnapshotRef
from jig.plan_text import render
from jig.project import Project
from jig.spec import RunSpec, command_line
from jig.targets import Given, Ticket, for_run
from jig.targets.container import MOUNTS

TICKET = Ticket("proj_1", 7, 1700000000.5, "ada", "outer_1")
SNAPSHOT = SnapshotRef("ab" * 32, 3, 1234)
USER = Environment("user", python="python")
GPU_ROWS = ("gpus", "required", "idle", "samples")


def spec(project, *, script="train.py", arguments=(), config="local"):
    found = Project.find(str(project.path))
    run_config = found.run_config(config)
    return RunSpec(found.name, found.root, run_config, found.compute_target(run_config.target), script, arguments)


def plan(project, **asked):
    wanted = spec(project, **asked)
    origin = Origin("c0ffee", "main", True)
    given = Given(wanted, SNAPSHOT, USER, TICKET, origin, (("uncommitted.diff", "cd" * 32),))
    return for_run(wanted.target, wanted.run_config).plan(given)


def test_the_plan_of_a_local_run(project):
    project.runconfig(EnvironmentVariables={"LR": "0.1", "HF_TOKEN": {"fromClient": True}})
    assert plan(project, arguments=("--epochs", "3")) == Plan(
        run_id="proj_1",
        number=7,
        created=1700000000.5,
        user="ada",
        project="proj",
        project_root=str(project.path),
        run_config="local",
        target="local",
        target_kind="local",
        script="train.py",
        arguments=("--epochs", "3"),
        argv=("{python}", "train.py", "--epochs", "3"),
        snapshot=SNAPSHOT,
        environment=USER,
        variables=(("LR", "0.1"),),
        client_variables=("HF_TOKEN",),
        share="~/.azureml/share/proj/",
        tracked=True,
        stop_grace_s=10.0,
        origin=Origin("c0ffee", "main", True),
        attachments=(("uncommitted.diff", "cd" * 32),),
        parent_run_id="outer_1",
        gpu=Gpu(want=0, require=False, shared=False, warn_s=None, stop_s=None, every_s=1.0),
    )


def test_a_run_that_wants_gpus(project):
    project.runconfig(Gpus=2, RequireGpu=True, SharedGpu=True, IdleGpu={"warn": "2m", "stop": "1h"}, GpuSampling=5)
    made = plan(project)
    assert made.gpu == Gpu(2, True, True, 120.0, 3600.0, 5.0)
    assert made.variables == ()
    assert "".join(line for line in render(made, []).splitlines(True) if line.split()[0] in GPU_ROWS) == (
        "gpus               2, leased on the machine when no other run has them; until then the run is queued\n"
        "required           a GPU that the installed framework can use, or the script is not started\n"
        "idle gpu           after 2 min a warning; after 1 h the run is stopped\n"
        "samples            every 5 s: GPU, processor, memory\n"
    )
    project.runconfig(Gpus=1, IdleGpu={"stop": "90s"}, GpuSampling=0.5)
    shown = render(plan(project), [])
    leased = "1, leased on the machine when nobody computes on it; until then the run is queued"
    assert f"gpus               {leased}\n" in shown
    assert "idle gpu           after 90 s the run is stopped\n" in shown


def test_no_gpu_and_no_samples(project):
    project.runconfig(Gpus=0, GpuSampling=0, EnvironmentVariables={"A": "b"})
    made = plan(project)
    assert (made.gpu, made.variables) == (Gpu(every_s=0.0), (("A", "b"), ("CUDA_VISIBLE_DEVICES", "")))
    assert "\nsamples            none (GpuSampling: 0)\n" in render(made, [])
    project.write("aml_config/box.compute", "type: docker\nbaseDockerImage: base:1\nnvidiaDocker: true\n")
    project.runconfig("box", Gpus=0)
    made = plan(project, config="box")
    assert made.container is not None and (made.container.gpus, made.variables) == ("", ())


def test_gpus_of_a_container(project):
    project.write("aml_config/box.compute", "type: docker\nbaseDockerImage: base:1\n")
    project.runconfig("box", Gpus=1)
    made = plan(project, config="box")
    assert made.container is not None and (made.container.gpus, made.gpu) == ("1", Gpu(want=1))
    project.runconfig("box", RequireGpu=True)
    with pytest.raises(JigError, match="box.runconfig requires a GPU, and containers of box get none") as caught:
        plan(project, config="box")
    assert caught.value.hint == (
        "write `nvidiaDocker: true` into aml_config/box.compute, or `Gpus: 1` beside `RequireGpu`"
    )
    project.write("aml_config/box.compute", "type: docker\nbaseDockerImage: base:1\nnvidiaDocker: true\n")
    assert plan(project, config="box").gpu == Gpu(require=True)


def test_a_place_that_is_only_held_open(project):
    (python, option, program) = plan(project, script="").argv
    assert (python, option) == ("{python}", "-c")
    compile(program, "held", "exec")


def test_a_plan_as_a_person_sees_it(project):
    project.runconfig(EnvironmentVariables={"LR": "0.1", "HF_TOKEN": {"fromClient": True}})
    files = [["f", "a file.py", 0o644, 12, "ab" * 32], ["l", "link", "a file.py"], ["d", "empty"]]
    assert render(plan(project, arguments=("a b", "--x")), files) == (
        "target             local (local)\n"
        "run configuration  local\n"
        "code               3 files, 1,234 bytes, snapshot abababababab\n"
        "commit             c0ffee with uncommitted changes\n"
        "environment        your own: python\n"
        "command            python train.py 'a b' --x\n"
        "variable           LR=0.1\n"
        "variable           HF_TOKEN (taken from this computer's environment)\n"
        "share folder       ~/.azureml/share/proj/\n"
        "record             kept\n"
        "samples            every 1 s: GPU, processor, memory\n"
        "files\n"
        "            12  a file.py\n"
        "          link  link -> a file.py\n"
        "        folder  empty\n"
    )


text = st.text(st.characters(exclude_categories=("Cs",)))


seconds = st.floats(0, 1e6)
gpus = st.builds(
    Gpu, st.integers(0, 9), st.booleans(), st.booleans(), st.none() | seconds, st.none() | seconds, seconds
)


@given(st.lists(text), st.dictionaries(text, text), st.booleans(), text, st.none() | gpus)
def test_a_plan_survives_json(arguments, variables, tracked, commit, gpu):
    import json

    one = Plan(
        **TICKET._asdict(),
        project="p",
        project_root="/p",
        run_config="local",
        target="local",
        target_kind="local",
        script="s.py",
        arguments=tuple(arguments),
        argv=("{python}", "s.py", *arguments),
        snapshot=SNAPSHOT,
        environment=Environment("uv", "f" * 32, "3.11", ("six==1.0",), ("--pre",), False),
        variables=tuple(variables.items()),
        client_variables=("A",),
        share="s",
        tracked=tracked,
        origin=Origin(commit),
        gpu=gpu,
    )
    data = json.loads(json.dumps(one.to_json()))
    assert Plan.from_json(data) == one
    del data["gpu"]  # as a jig that knew nothing of it wrote its plans
    assert Plan.from_json(data) == one._replace(gpu=None)


def test_a_plan_in_a_container_as_a_person_sees_it(project):
    """Placeholders that would be empty are not shown, nor a share folder where nothing is shared."""
    project.write("aml_config/box.compute", "type: docker\nbaseDockerImage: base:1\n")
    project.runconfig("box")
    shown = render(plan(project, config="box"), [])
    assert "gpus               none\n" in shown and "{gpus}" not in shown
    assert "share folder       ~/.azureml/share/proj/\n" in shown
    run = shown.partition("to run             docker run ")[2].partition("\nafter it")[0].split(" \\\n")
    assert [line.split(" --entrypoint ")[0] for line in run[1:]] == [" " * 23 + "--mount " + one for one in MOUNTS]
    project.write(
        "aml_config/box.compute", "type: docker\nbaseDockerImage: b\nsharedVolumes: false\nnvidiaDocker: true\n"
    )
    shown = render(plan(project, config="box"), [])
    assert "share folder       none (sharedVolumes: false)\n" in shown and "--mount" not in shown and "{gpus}" in shown


@pytest.mark.parametrize(
    ("vector", "script", "arguments", "expected"),
    [
        (["$file"], "a.py", (), ("a.py", ())),
        (["$file"], "a.py", ("-x",), ("a.py", ("-x",))),
        (["$file", "--lr", "1"], "a.py", (), ("a.py", ("--lr", "1"))),
        (["$file", "--lr", "1"], "a.py", ("--lr", "2"), ("a.py", ("--lr", "2"))),
        (["b.py", "1"], None, (), ("b.py", ("1",))),
        (["b.py", "1"], "a.py", (), ("a.py", ())),
    ],
)
def test_command_line_beats_file(project, vector, script, arguments, expected):
    project.runconfig(ArgumentVector=vector)
    config = Project.find(str(project.path)).run_config("local")
    assert command_line(config, script, arguments) == expected


def test_no_script_anywhere(project):
    config = Project.find(str(project.path)).run_config("local")
    with pytest.raises(UsageError, match="no script was named"):
        command_line(config, None, ())
