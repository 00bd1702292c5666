import pytest

from jig.errors import ProjectError
from jig.project import ComputeTarget

KINDS = "local, localdocker, remotedocker, remote or cluster"


def test_managed_follows_the_kind(project):
    def managed(kind, own):
        return ComputeTarget("x", kind, user_managed_environment=own).managed

    assert [managed("local", own) for own in (None, True, False)] == [False, False, True]
    assert [managed("remote", own) for own in (None, True, False)] == [False, False, True]
    for kind in ("localdocker", "remotedocker", "cluster"):
        assert [managed(kind, own) for own in (None, True, False)] == [True, False, True]


def test_every_key(project):
    opened = project(
        {
            "gpu.compute": "type: remote\naddress: 10.0.0.1\nusername: me\npassword: 'a # b'\njigHome: /scratch/me\n"
            "nvidiaDocker: yes\nsharedVolumes: False\nnativeSharedDirectory: /share\npythonLocation: /usr/bin/python3\n"
            "sparkSubmitLocation: /opt/spark-submit\nuserManagedEnvironment: 'false'\nyarnDeployMode: client\n"
            "baseDockerImage: ubuntu:22.04\ncluster: True\nnative: null\n"
        }
    )
    assert opened.compute_target("gpu") == ComputeTarget(
        name="gpu",
        kind="remote",
        address="10.0.0.1",
        username="me",
        password="a # b",
        base_docker_image="ubuntu:22.04",
        shared_volumes=False,
        nvidia_docker=True,
        native_shared_directory="/share",
        python_location="/usr/bin/python3",
        spark_submit_location="/opt/spark-submit",
        user_managed_environment=False,
        yarn_deploy_mode="client",
        jig_home="/scratch/me",
    )


def test_a_password_is_not_printed():
    target = ComputeTarget("x", "remote", "host", "me", "hunter2")
    assert "hunter2" not in repr(target)
    assert "hunter2" not in f"{target}"
    assert target.password == "hunter2"


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ("cluster: False\nnative: False\naddress: a\nusername: u\n", "remotedocker"),
        ("cluster: True\nnative: True\naddress: a\nusername: u\n", "cluster"),
        ("cluster: false\nnative: true\naddress: a\nusername: u\n", "remote"),
        ("native: true\n", "local"),
    ],
)
def test_flags_from_before_there_was_a_type(project, flags, kind):
    assert project({"old.compute": flags}).compute_target("old").kind == kind


@pytest.mark.parametrize("text", ["", "# nothing\n", "\ufeff", "\r\n\r\n", "---\n"])
def test_an_empty_file(faults, text):
    assert faults("x.compute", text) == [(1, "type", "the file is empty", "write at least `type: local`")]


def test_type_is_required(faults):
    message = f"`type` is missing: it must be {KINDS}"
    assert faults("x.compute", "address: a\nusername: u\n") == [(1, "type", message, "add a line `type: remotedocker`")]


@pytest.mark.parametrize("text", ["{}", "type:\n", "cluster:\nnative:\n"])
def test_null_is_no_type(faults, text):
    assert [(key, fix) for _, key, _, fix in faults("x.compute", text)] == [("type", "add a line `type: local`")]


@pytest.mark.parametrize("kind", ["remotedocker", "virtualmachine", "remote", "cluster"])
def test_a_machine_needs_address_and_username(faults, kind):
    real = "remotedocker" if kind == "virtualmachine" else kind
    needs = f"is missing: a target of type {real} needs it"
    assert faults("x.compute", f"\ntype: {kind}\nusername:\n") == [
        (2, "address", f"`address` {needs}", "add a line `address: …`"),
        (3, "username", f"`username` {needs}", "add a line `username: …`"),
    ]


NEEDS_IMAGE = "`baseDockerImage` is missing: a target of type localdocker needs the image that scripts run in"
ADD_IMAGE = "add a line `baseDockerImage: python:3.11`, or name another image"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\ntype: localdocker\n", 2),
        ("type: docker\nsharedVolumes: true\nbaseDockerImage:\n", 3),
        ('{"type": "docker", "baseDockerImage": null}', 1),
        ("type: docker\nbaseDockerImage: ''\n", 2),
    ],
)
def test_a_container_needs_an_image_to_run_and_not_to_be_looked_at(project, text, line):
    opened = project({"x.compute": text})
    assert opened.compute_target("x").base_docker_image is None
    with pytest.raises(ProjectError) as caught:
        opened.compute_target("x", to_run=True)
    (fault,) = caught.value.faults
    assert (fault.line, fault.key, fault.message, fault.fix) == (line, "baseDockerImage", NEEDS_IMAGE, ADD_IMAGE)


def test_a_shared_folder_wants_shared_volumes(project):
    text = "type: docker\nbaseDockerImage: x\nnativeSharedDirectory: /big\n{}"
    for volumes in ("", "sharedVolumes: true\n", "sharedVolumes:\n"):
        target = project({"x.compute": text.format(volumes)}).compute_target("x", to_run=True)
        assert target.native_shared_directory == "/big"
    opened = project({"x.compute": text.format("sharedVolumes: false\n")})
    assert opened.compute_target("x").native_shared_directory == "/big"
    with pytest.raises(ProjectError) as caught:
        opened.compute_target("x", to_run=True)
    assert [(fault.line, fault.message, fault.fix) for fault in caught.value.faults] == [
        (
            3,
            "`nativeSharedDirectory` needs `sharedVolumes: true`: a folder that is not mounted cannot outlive the run",
            "write `sharedVolumes: true`, or remove `nativeSharedDirectory`",
        )
    ]


def test_other_kinds_need_no_image(project):
    texts = {"x.compute": "type: local\nnativeSharedDirectory: /big\nsharedVolumes: false\n"}
    assert project(texts).compute_target("x", to_run=True).kind == "local"


@pytest.mark.parametrize(
    "image",
    [
        "ubuntu",
        "microsoft/mmlspark:plus-gpu-0.9.9",
        "localhost:5000/team/my_tag:V1",
        "Registry.example.org:5000/a/b",
        "python@sha256:" + "0" * 64,
        "python:3.11@sha256:" + "0" * 64,
        "sha256:" + "0" * 64,
    ],
)
def test_names_of_images(project, image):
    assert (
        project({"x.compute": f"type: docker\nbaseDockerImage: {image}\n"}).compute_target("x").base_docker_image
        == image
    )


@pytest.mark.parametrize(
    "image", ["--privileged", "-v", "a b", '"a\\nb"', "'ubuntu:'", "/ubuntu", "bücher", "x;y", "a=b"]
)
def test_what_docker_could_misread_is_refused(faults, image):
    found = faults("x.compute", f"type: docker\nbaseDockerImage: {image}\n")
    assert [fault[:2] for fault in found] == [(2, "baseDockerImage")]
    assert found[0][3] == "write it as `docker pull` takes it, for example python:3.11"


def test_the_name_of_an_image_has_small_letters(faults):
    assert faults("x.compute", "type: docker\nbaseDockerImage: team/Trainer:V2\n") == [
        (
            2,
            "baseDockerImage",
            "`baseDockerImage`: the image team/Trainer:V2 has capital letters in its name",
            "write team/trainer:V2",
        )
    ]


def test_all_faults_at_once_in_the_order_of_the_file(faults):
    text = (
        "type: dockerr\n"
        "baseImage: x\n"
        "nvidiaDocker: 3\n"
        "Framework: Python\n"
        "sharedVolumes: [true]\n"
        "pythonLocation: {a: b}\n"
        "nvidiaDocker: true\n"
        "colour: red\n"
        "yarnDeployMode: standalone\n"
    )
    found = faults("x.compute", text)
    assert [fault[:3] for fault in found] == [
        (
            1,
            "type",
            "`type` must be local or localdocker or remotedocker or remote or cluster or docker or virtualmachine,"
            " but found `dockerr`",
        ),
        (2, "baseImage", "`baseImage` is not a key of a .compute file"),
        (3, "nvidiaDocker", "`nvidiaDocker` must be true or false, but found `3`"),
        (4, "Framework", "`Framework` is not a key of a .compute file"),
        (5, "sharedVolumes", "`sharedVolumes` must be true or false, but found a list"),
        (6, "pythonLocation", "`pythonLocation` must be one text, but found a map of keys"),
        (7, "nvidiaDocker", "`nvidiaDocker` is already given at line 3"),
        (8, "colour", "`colour` is not a key of a .compute file"),
        (9, "yarnDeployMode", "`yarnDeployMode` must be cluster or client, but found `standalone`"),
    ]
    assert [fault[3] for fault in found[:4]] == [
        "write `type: docker`",
        "did you mean `baseDockerImage`?",
        "write `nvidiaDocker: true` or `nvidiaDocker: false`",
        "`Framework` belongs in a .runconfig file",
    ]


@pytest.mark.parametrize("word", ["-oProxyCommand=evil", "a b", '"a\\tb"', '"a\\nb"', '""', '"\\e[31m"'])
@pytest.mark.parametrize("key", ["address", "username"])
def test_what_ssh_could_misread_is_refused(faults, key, word):
    other = "username" if key == "address" else "address"
    found = faults("x.compute", f"type: remote\n{other}: fine\n{key}: {word}\n")
    assert [(line, name) for line, name, _, _ in found] == [(3, key)]


def test_no_message_tells_the_password(faults):
    for text in (
        "type: remote\naddress: a\nusername: u\npassword:hunter2\n",
        "type: remote\naddress: a\nusername: u\npassword: [hunter2]\n",
        "type: remote\naddress: a\nusername: u\npassword: hunter2\n  type:x\n",
        '{"type": "remote", "address": "a", "password": "hunter2" "username": "u"}',
        "type: remote\naddress: a\nusername: u\npassword: hunter2\npassword: hunter2\n",
    ):
        assert "hunter2" not in str(faults("x.compute", text))
