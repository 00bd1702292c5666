import pytest

from jig.project import RunConfig


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "Target:\nFramework: null\nArgumentVector: ~\n"])
def test_everything_has_a_default(project, text):
    config = project({"mine.runconfig": text}).run_config("mine")
    line = 2 if "Framework" in text else 0
    assert config == RunConfig("mine", "mine", framework_line=line)
    assert config.framework == "PySpark"
    assert config.prepare_environment is True
    assert config.conda_file == "aml_config/conda_dependencies.yml"
    assert config.spark_file == "aml_config/spark_dependencies.yml"


def test_text_stays_as_written(project):
    text = (
        "Target: 007\n"
        "ArgumentVector: [$file, 010, 1e3, true, null_is_text, '', \"\"]\n"
        "EnvironmentVariables: {A: 0x1F, B: yes, C: 1_000, D: 2017-09-01, E: 'null', F: \"a\\nb\", Ж: имя}\n"
    )
    config = project({"x.runconfig": text}).run_config("x")
    assert config.target == "007"
    assert config.argument_vector == ("$file", "010", "1e3", "true", "null_is_text", "", "")
    assert config.environment_variables == (
        ("A", "0x1F"),
        ("B", "yes"),
        ("C", "1_000"),
        ("D", "2017-09-01"),
        ("E", "null"),
        ("F", "a\nb"),
        ("Ж", "имя"),
    )


def test_an_empty_argument_list_is_kept(project):
    assert project({"x.runconfig": "ArgumentVector: []"}).run_config("x").argument_vector == ()


def test_bytes_that_editors_leave(project):
    text = '\ufeff"Target": "local"\r\n"Framework": "Python"\r\n#\ta tab\r\n"TrackedRun": false'
    config = project({"x.runconfig": text}).run_config("x")
    assert config == RunConfig("x", "local", framework="Python", framework_line=2, tracked_run=False)


def test_conda_file_under_its_old_name(project):
    config = project({"x.runconfig": '{"CondaFile": "Config/gpu.yml"}'}).run_config("x")
    assert (config.conda_file, config.conda_file_named) == ("Config/gpu.yml", True)


def test_two_conda_files_are_a_fault(faults):
    found = faults("x.runconfig", "CondaFile: a.yml\nCondaDependenciesFile: b.yml\n")
    assert found == [
        (1, "CondaFile", "`CondaFile` and `CondaDependenciesFile` name two files", "remove `CondaFile`"),
    ]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.yml", "a/../../x.yml", "~/x.yml", "C:\\x.yml", "", ".", "\\x"])
@pytest.mark.parametrize("key", ["CondaDependenciesFile", "SparkDependenciesFile", "CondaFile"])
def test_a_dependency_file_stays_inside_the_project(faults, key, path):
    found = faults("x.runconfig", f"{key}: '{path}'\n")
    assert [(line, name) for line, name, _, _ in found] == [(1, key)]
    assert "must be a path inside the project" in found[0][2]


@pytest.mark.parametrize(
    ("target", "fix"),
    [
        ("docker.compute", "write `Target: docker`"),
        ("aml_config/docker", "write `Target: docker`"),
        ("'..\\docker.compute'", "write `Target: docker`"),
        ("../..", ""),
        ("-x", ""),
        ("' '", ""),
    ],
)
def test_target_is_a_name(faults, target, fix):
    found = faults("x.runconfig", f"Target: {target}\n")
    assert [(line, key, said) for line, key, _, said in found] == [(1, "Target", fix)]


def test_wrong_types_and_values(faults):
    text = (
        "framework: Python\n"
        "Framework: python\n"
        "ArgumentVector: train.py --epochs 3\n"
        "EnvironmentVariables: [A, B]\n"
        "PrepareEnvironment: maybe\n"
        "UseSampling: {}\n"
        "Target: [local]\n"
    )
    assert faults("x.runconfig", text) == [
        (1, "framework", "`framework` is not a key of a .runconfig file", "did you mean `Framework`?"),
        (2, "Framework", "`Framework` must be Python or PySpark, but found `python`", "write `Framework: Python`"),
        (
            3,
            "ArgumentVector",
            "`ArgumentVector` must be a list, but found one text",
            'write `ArgumentVector: ["train.py", "--epochs", "3"]`',
        ),
        (
            4,
            "EnvironmentVariables",
            "`EnvironmentVariables` must hold keys with values, but found a list",
            "indent the keys under `EnvironmentVariables:`",
        ),
        (
            5,
            "PrepareEnvironment",
            "`PrepareEnvironment` must be true or false, but found `maybe`",
            "write `PrepareEnvironment: true` or `PrepareEnvironment: false`",
        ),
        (
            6,
            "UseSampling",
            "`UseSampling` must be true or false, but found a map of keys",
            "write `UseSampling: true` or `UseSampling: false`",
        ),
        (7, "Target", "`Target` must be one text, but found a list", ""),
    ]


def test_environment_variables(faults):
    text = (
        "EnvironmentVariables:\n"
        "  A: {fromClient: false}\n"
        "  B: {fromclient: true}\n"
        "  C: [x]\n"
        "  D=E: x\n"
        "  F: x\n"
        "  F: y\n"
        "  '': x\n"
        "  [G]: x\n"
    )
    found = faults("x.runconfig", text)
    assert [(line, key) for line, key, _, _ in found] == [
        (2, "EnvironmentVariables.A"),
        (3, "EnvironmentVariables.B.fromclient"),
        (3, "EnvironmentVariables.B"),
        (4, "EnvironmentVariables.C"),
        (5, "EnvironmentVariables.D=E"),
        (7, "EnvironmentVariables.F"),
        (8, "EnvironmentVariables."),
        (9, "EnvironmentVariables"),
    ]
    assert found[1][3] == "did you mean `fromClient`?"


def test_an_argument_must_be_one_text(faults):
    found = faults("x.runconfig", "ArgumentVector:\n  - train.py\n  -\n  - [a]\n  - {a: b}\n")
    assert found == [
        (3, "ArgumentVector", "each item of `ArgumentVector` must be one text, but found nothing", ""),
        (4, "ArgumentVector", "each item of `ArgumentVector` must be one text, but found a list", ""),
        (5, "ArgumentVector", "each item of `ArgumentVector` must be one text, but found a map of keys", ""),
    ]


def test_data_source_settings(faults):
    text = (
        "DataSourceSettings:\n  a.dsource:\n    Samplin:\n      Sample: x\n  b.dsource: x\nDataSourceSubstitutions: 1\n"
    )
    found = faults("x.runconfig", text)
    assert [(line, key, fix) for line, key, _, fix in found] == [
        (3, "DataSourceSettings.a.dsource.Samplin", "did you mean `Sampling`?"),
        (5, "DataSourceSettings.b.dsource", "indent the keys under `b.dsource:`"),
        (6, "DataSourceSubstitutions", "indent the keys under `DataSourceSubstitutions:`"),
    ]
