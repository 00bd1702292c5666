import pytest

from jig.errors import ProjectError
from jig.project import CondaSpec, Requirement, SparkSpec

CONDA = "conda_dependencies.yml"
SPARK = "spark_dependencies.yml"


def test_missing_default_files_are_empty(project):
    opened = project({})
    assert opened.conda() == CondaSpec("aml_config/conda_dependencies.yml")
    assert opened.spark() == SparkSpec("aml_config/spark_dependencies.yml")


def test_missing_named_files_are_faults(project):
    opened = project({"conda_gpu.yml": "name: x\n"})
    with pytest.raises(ProjectError) as caught:
        opened.conda("aml_config/conda_gqu.yml")
    assert str(caught.value.faults[0]) == (
        "aml_config/conda_gqu.yml: there is no such file\n    fix: did you mean `aml_config/conda_gpu.yml`?"
    )
    for read in (opened.conda, opened.spark):
        for path in ("aml_config/x.yml", "nowhere/x.yml"):
            with pytest.raises(ProjectError, match="there is no such file"):
                read(path)
        with pytest.raises(ProjectError, match="there is no such file"):
            read(named=True)


@pytest.mark.parametrize("text", ["", "# x\n", "dependencies:\n", "{}", "name:\nchannels:\ndependencies: []\n"])
def test_empty_conda_files(project, text):
    assert project({CONDA: text}).conda() == CondaSpec("aml_config/conda_dependencies.yml")


def test_every_shape_of_a_conda_file(project):
    text = (
        "name: mine\nprefix: /opt/mine\nvariables: {OMP_NUM_THREADS: 4}\nchannels: [defaults, nvidia]\n"
        "dependencies:\n  - python=3.5.2\n  - conda-forge::numpy >=1.11,<2\n  - pip\n  - pip:\n"
        "      - requests\n      - 'scipy == 1.0'\n      - git+https://example.com/x.git@main#egg=x\n"
        "  - pip: [./wheels/local.whl]\n  - pip:\n"
    )
    assert project({CONDA: text}).conda() == CondaSpec(
        file="aml_config/conda_dependencies.yml",
        name="mine",
        channels=("defaults", "nvidia"),
        packages=(
            Requirement("python=3.5.2", 6),
            Requirement("conda-forge::numpy >=1.11,<2", 7),
            Requirement("pip", 8),
        ),
        pip=(
            Requirement("requests", 10),
            Requirement("scipy == 1.0", 11),
            Requirement("git+https://example.com/x.git@main#egg=x", 12),
            Requirement("./wheels/local.whl", 13),
        ),
        variables=(("OMP_NUM_THREADS", "4"),),
    )


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "dependencies:\n  - python=3.11\n  - pip\n    - numpy\n    - torch\n",
            "`pip - numpy - torch`: the lines below `pip` stand deeper, and became part of it",
            "write `- pip:`, with a colon",
        ),
        (
            "dependencies:\n  - python=3.11\n  - numpy\n    - pandas\n",
            "`numpy - pandas`: the lines below `numpy` stand deeper, and became part of it",
            "write them as deep as `- numpy`",
        ),
    ],
)
def test_lines_that_ran_together(faults, text, message, fix):
    assert faults(CONDA, text) == [(3, "dependencies", message, fix)]


def test_conda_faults_all_at_once(faults):
    text = (
        "name: [x]\nchannel: [x]\nchannels: conda-forge\npip:\n  - x\ndependencies:\n  - tensorflow: 1.4\n  -\n"
        "  - [a]\n  - pip:\n  - https://example.com/a-1-py3-none-any.whl?sig=x\n  - --index-url https://x\n"
        "  - npm: [x]\n  - pip: [{a: b}]\n  - pip: requests\n  - ''\n"
    )
    found = faults(CONDA, text)
    assert [(line, key) for line, key, _, _ in found] == [
        (1, "name"),
        (2, "channel"),
        (3, "channels"),
        (4, "pip"),
        (7, "dependencies.tensorflow"),
        (8, "dependencies"),
        (9, "dependencies"),
        (11, "dependencies"),
        (12, "dependencies"),
        (13, "dependencies.npm"),
        (14, "dependencies.pip"),
        (15, "dependencies.pip"),
        (16, "dependencies"),
    ]
    fixes = {line: fix for line, _, _, fix in found}
    assert fixes[2] == "did you mean `channels`?"
    assert fixes[3] == 'write `channels: ["conda-forge"]`'
    assert fixes[4] == "put it into the list of `dependencies`, as `- pip:`"
    assert fixes[7] == "write `- tensorflow=1.4`"
    assert fixes[11] == "indent it under `- pip:`"


@pytest.mark.parametrize("text", ["- python\n", "python", "dependencies: python\n", "dependencies: {pip: [x]}\n"])
def test_wrong_shapes_of_a_conda_file(faults, text):
    assert len(faults(CONDA, text)) == 1


def test_spark_faults_all_at_once(faults):
    text = (
        "version: 3\nconfiguration: [x]\nrepositories: https://x\npackages:\n  - a:b:1\n  - group: a\n    artefact: b\n"
        "    version: 1\n  - {group: a, artifact: [b], version: ''}\npackage: []\n"
    )
    found = faults(SPARK, text)
    assert [(line, key) for line, key, _, _ in found] == [
        (1, "version"),
        (2, "configuration"),
        (3, "repositories"),
        (5, "packages"),
        (6, "packages.artifact"),
        (7, "packages.artefact"),
        (9, "packages.artifact"),
        (9, "packages.version"),
        (10, "package"),
    ]
    assert found[3][3] == "write `group: a`, `artifact: b`, `version: 1`"
