import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.errors import ProjectError
from jig.project import RunConfig
from jig.project.successor import converted, is_successor, quote
from jig.project.yaml import parse


def test_the_successors_schema_is_named_and_converted(sample, project):
    with pytest.raises(ProjectError) as caught:
        sample("successor").run_config("docker")
    (fault,) = caught.value.faults
    assert (fault.file, fault.line, fault.key) == ("aml_config/docker.runconfig", 2, "script")
    assert "successor product" in fault.message
    assert fault.fix == (
        "replace the file's content by\n"
        "        Target: docker\n"
        "        Framework: PySpark\n"
        '        ArgumentVector: [train.py, "--rate", 0.1, "a b"]\n'
        "        EnvironmentVariables:\n"
        "          EXAMPLE_ENV_VAR: EXAMPLE_VALUE\n"
        '          ODD: "quote \\" and: colon"\n'
        "        CondaDependenciesFile: aml_config/conda_dependencies.yml\n"
        "        PrepareEnvironment: false\n"
        "        TrackedRun: false\n"
        "      and put into the target's .compute file\n"
        '        baseDockerImage: "mcr.example.com/mmlspark:0.12"\n'
        "        nvidiaDocker: true\n"
        "        yarnDeployMode: cluster"
    )
    content = fault.fix.partition("\n")[2].partition("\n      and")[0]
    text = "\n".join(line.removeprefix("        ") for line in content.splitlines())
    assert project({"docker.runconfig": text}, "converted").run_config("docker") == RunConfig(
        name="docker",
        target="docker",
        argument_vector=("train.py", "--rate", "0.1", "a b"),
        environment_variables=(("EXAMPLE_ENV_VAR", "EXAMPLE_VALUE"), ("ODD", 'quote " and: colon')),
        framework="PySpark",
        framework_line=2,
        conda_file_named=True,
        prepare_environment=False,
        tracked_run=False,
    )


def test_small_letters_alone_are_misspelt_keys(faults):
    found = faults("x.runconfig", "target: local\nframework: Python\n")
    assert [fix for _, _, _, fix in found] == ["did you mean `Target`?", "did you mean `Framework`?"]


def test_odd_shapes_convert_to_something():
    for text in ("script: [a]\n", "arguments: a b\n", "environment: x\nhistory: [1]\n", "environment: {docker: 3}\n"):
        root = parse(text, "f")[0]
        assert is_successor(root)
        assert "Framework: Python" in converted(root)
    assert "ArgumentVector: [a, b]" in converted(parse("arguments: a b\n", "f")[0])


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_quoted_text_reads_back_as_itself(text):
    node = parse(f"Target: {quote(text)}", "f")[0].children[1]
    assert (node.kind != "null", node.text) == (True, text)
