"""One suite over every registered kind of machine, target and environment: a new kind is picked up by its name."""

import json
from pathlib import Path

import pytest

from jig import environments, machines, targets
from jig.environments import Environment
from jig.machines import Refusal
from jig.plan import Plan, SnapshotRef
from jig.project import CondaSpec, Project, Requirement
from jig.project.ranks import Compression, Distributed
from jig.runner.folder import Home
from jig.spec import RunSpec
from tests.ssh.conftest import attach_words

BASE = "jig-test/python:1"
THEIRS = "userManagedEnvironment: true\n"  # the Python that the image has


def _local(project, request) -> Path:
    project.write("aml_config/here.compute", "type: local\n")
    return request.getfixturevalue("jig_home")


def _remote(project, request) -> Path:
    host, cli, client, key = map(request.getfixturevalue, ("host", "cli", "client", "key_pair"))
    client.give_key(key)
    host.authorize(key.with_suffix(".pub").read_text())
    said = cli(*attach_words(host, name="here"))
    assert said.code == 0, said.err
    return host.home / ".jig"


def _localdocker(project, request) -> Path:
    request.getfixturevalue("docker_host")
    project.write("aml_config/here.compute", f"type: localdocker\nbaseDockerImage: {BASE}\n{THEIRS}")
    return request.getfixturevalue("jig_home")


def _remotedocker(project, request) -> Path:
    box, cli, client, key = map(request.getfixturevalue, ("docker_box", "cli", "client", "key_pair"))
    client.give_key(key)
    box.host.authorize(key.with_suffix(".pub").read_text())
    said = cli(*attach_words(box.host, "--image", BASE, name="here", kind="remotedocker"))
    assert said.code == 0, said.err
    with open(project.path / "aml_config/here.compute", "a") as file:
        file.write(THEIRS)
    return box.host.home / ".jig"


def _cluster(project, request) -> Path:
    """Its driver is a process on a machine over SSH."""
    home = _remote(project, request)
    with open(project.path / "aml_config/here.compute") as file:
        text = file.read()
    project.write("aml_config/here.compute", text.replace("type: remote", "type: cluster"))
    return home


# How a target of each kind is set up; each returns the machine's jig home, as it is seen from here.
SET_UP = {
    "cluster": _cluster,
    "local": _local,
    "localdocker": _localdocker,
    "remote": _remote,
    "remotedocker": _remotedocker,
}


@pytest.fixture
def target(project, request):
    project.machine_home = SET_UP[request.param](project, request)
    return Project.find(str(project.path)).compute_target("here")


every_machine = pytest.mark.parametrize("target", sorted(machines.KINDS), indirect=True)
every_target = pytest.mark.parametrize("target", sorted(targets.KINDS), indirect=True)
every_framework = pytest.mark.parametrize("framework", ["Python", *sorted(targets.FRAMEWORKS)])


@every_machine
def test_a_machine_answers_about_a_run_that_is_not_there(target):
    machine = machines.for_target(target)
    assert machine.ask("status", run="nobody_1") == {"status": "absent"}
    assert machine.ask("stop", run="nobody_1", grace_s=0.0, timeout_s=1.0) == {"status": "absent"}
    assert machine.ask("remove", run="nobody_1") == {"status": "removed"}


@every_machine
def test_a_run_that_is_not_there_cannot_be_entered(target):
    machine = machines.for_target(target)
    with pytest.raises(Refusal, match="the run nobody_1 is not there any more") as refused:
        machine.ask("entrance", run="nobody_1")
    assert refused.value.code == "absent"


@every_machine
def test_a_machine_refuses_what_it_does_not_know(target):
    machine = machines.for_target(target)
    with pytest.raises(Refusal, match="does not know the verb 'dance'"):
        machine.ask("dance")
    pipe = machine.open("dance")
    pipe.send({})
    with pytest.raises(Refusal, match="does not know the verb 'dance'"):
        pipe.answer()
    pipe.close()


@every_machine
def test_a_pipe_asks_for_what_is_missing_and_takes_the_run_in(target, project, jig_home):
    """The whole conversation by hand: plan, missing blobs, handle; the run ends by itself."""
    from jig.runner import manifest, wire
    from jig.runner.blobs import BlobStore

    machine = machines.for_target(target)
    text = b"print('by hand')"
    elsewhere = BlobStore(str(project.path / "blobs"))
    blob = elsewhere.put(text)
    snapshot = elsewhere.put(manifest.encode([["f", "a.py", 0o644, len(text), blob]]))
    plan = _plan(target, project, SnapshotRef(snapshot, 1, len(text)))
    pipe = machine.open("supervise", plan.run_id)
    pipe.send(_request(machine, plan))
    asked = []
    while "missing" in (answer := pipe.answer()):
        asked.append(answer["missing"])
        for name in answer["missing"]:
            data = elsewhere.read(name)
            wire.write_blob(pipe.write, name, len(data), iter([data]))
        wire.write_blobs_end(pipe.write)
    pipe.close()
    assert asked == [[snapshot], [blob]]
    assert answer["handle"]["run"] == plan.run_id
    from tests.conftest import until

    until(lambda: machine.ask("status", run=plan.run_id)["status"] == "ended")
    with open(Home(str(project.machine_home)).run(plan.run_id).log, "rb") as file:
        assert file.read() == b"by hand\n"
    again = machine.open("supervise", plan.run_id)
    again.send(_request(machine, plan))
    with pytest.raises(Refusal, match="there is already a run") as caught:
        again.answer()
    again.close()
    assert caught.value.code == "taken"


@every_machine
def test_a_client_that_leaves_in_the_middle_leaves_nothing(target, project, jig_home):
    import os

    machine = machines.for_target(target)
    plan = _plan(target, project, SnapshotRef("0" * 64, 1, 1))
    pipe = machine.open("supervise", plan.run_id)
    pipe.send(_request(machine, plan))
    assert pipe.answer() == {"missing": ["0" * 64]}
    pipe.close()
    runs = project.machine_home / "runs"
    assert not runs.exists() or os.listdir(runs) == []
    assert machine.ask("status", run=plan.run_id) == {"status": "absent"}


def _request(machine, plan: Plan) -> dict:
    environment = plan.environment.to_json()
    return {
        "home": machine.home,
        "plan": plan.to_json(),
        "environment": environment,
        "secrets": {},
    }


def _plan(target, project, snapshot: SnapshotRef) -> Plan:
    found = Project.find(str(project.path))
    spec = RunSpec(found.name, found.root, found.run_config("local"), target, "a.py", ())
    environment = environments.decide(target, CondaSpec("c.yml"), True)
    ticket = targets.Ticket("proj_1", 1, 1.0, "ada")
    return targets.for_kind(target).plan(targets.Given(spec, snapshot, environment, ticket))


@every_framework
@every_target
def test_a_target_plans_without_touching_anything(target, framework, project, monkeypatch):
    import builtins
    import os

    first = _plan(target, project, SnapshotRef("ab" * 32, 1, 1))
    config = Project.find(str(project.path)).run_config("local")
    if framework == "Distributed":
        config = config._replace(distributed=Distributed(2), compression=Compression("onebit"))
    else:
        config = config._replace(framework=framework)
    spec = RunSpec("proj", "/nowhere", config, target, "a.py", ("-x",))
    planner = targets.for_run(target, config)
    for name in ("open", "mkdir", "stat", "listdir", "scandir"):
        monkeypatch.setattr(os, name, lambda *a, **k: pytest.fail("a plan touched the disk"))
    monkeypatch.setattr(builtins, "open", lambda *a, **k: pytest.fail("a plan opened a file"))
    given = targets.Given(spec, first.snapshot, first.environment, targets.Ticket("r_1", 1, 1.0, "a"))
    one, two = planner.plan(given), planner.plan(given)
    monkeypatch.undo()
    assert one == two and one.arguments == ("-x",) and all(isinstance(word, str) for word in one.argv)
    assert Plan.from_json(json.loads(json.dumps(one.to_json()))) == one


def _spec(kind: str) -> CondaSpec:
    packages = (Requirement("python=3.11", 2), *((Requirement("numpy>=1", 3),) if kind == "conda" else ()))
    return CondaSpec("c.yml", packages=packages, pip=(Requirement("six", 5),))


@pytest.mark.parametrize("kind", sorted(environments.KINDS))
def test_an_environment_is_decided_purely_and_survives_json(kind, project):
    managed = "false" if kind != "user" else "true"
    project.write("aml_config/here.compute", f"type: local\nuserManagedEnvironment: {managed}\n")
    target = Project.find(str(project.path)).compute_target("here")
    one = environments.decide(target, _spec(kind), True)
    assert one.kind == kind and environments.decide(target, _spec(kind), True) == one
    assert Environment.from_json(json.loads(json.dumps(one.to_json()))) == one
