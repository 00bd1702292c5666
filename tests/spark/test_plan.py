"""What spark-submit is told: plans compared as values, nothing started."""

import json
import re

import pytest

from jig.errors import ProjectError, UsageError
from jig.plan import Plan, Spark
from jig.plan_text import render
from jig.project import Project
from jig.submit import Wanted, decide
from jig.targets import Given, SnapshotRef, Ticket, for_run
from jig.targets.spark import REDACTED, doubts, is_secret

SNAPSHOT = SnapshotRef("ab" * 32, 3, 1234)
TICKET = Ticket("proj_1", 7, 1.5, "ada")
NAME = ("spark.app.name", "etl.py ({id})")
QUIET = (("spark.ui.port", "{ui}"), ("spark.log.level", "WARN"))


@pytest.fixture
def sparks(project):
    project.write("etl.py", "")
    project.write("aml_config/s.runconfig", "Target: s\n")  # without Framework: PySpark
    return project


def decided(project, compute, spark="", arguments=()):
    project.write("aml_config/s.compute", compute)
    if spark:
        project.write("aml_config/spark_dependencies.yml", spark)
    return decide(Wanted(str(project.path), "s", script="etl.py", arguments=arguments))


def planned(project, compute, spark="", arguments=()) -> Plan:
    spec = decided(project, compute, spark, arguments).spec
    environment = decided(project, compute).environment
    return for_run(spec.target, spec.run_config).plan(Given(spec, SNAPSHOT, environment, TICKET))


def test_on_this_machine(sparks):
    plan = planned(sparks, "type: local\n", arguments=("in", "--conf", "out"))
    assert plan.argv == ("{python}", "etl.py", "in", "--conf", "out")
    assert plan.spark == Spark(
        submit="spark-submit",
        words=("--master", "local[*]", "{defaults}"),
        script=("etl.py", "in", "--conf", "out"),
        master="local[*]",
        mode="client",
        defaults=(NAME, ("spark.driver.memory", "{memory}"), *QUIET),
        hidden=(),
        file="aml_config/spark_dependencies.yml",
    )
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


YARN = "type: cluster\naddress: head\nusername: ada\n"
LEGACY = "cluster: True\nnative: True\naddress: head\nusername: ada\n"


@pytest.mark.parametrize(
    ("compute", "mode"),
    [(YARN, "cluster"), (LEGACY, "cluster"), (YARN + "yarnDeployMode: client\n", "client"), (YARN + "sparkMaster: yarn\n", "cluster")],
)  # fmt: skip
def test_the_command_line_for_yarn(sparks, compute, mode):
    plan = planned(sparks, compute, arguments=("hdfs:///in",))
    assert plan.spark is not None
    words = ("--master", "yarn", "--deploy-mode", mode, "{defaults}", "{environment}", "{modules}")
    assert plan.spark.words == words and plan.spark.script == ("etl.py", "hdfs:///in")
    own = (("spark.yarn.maxAppAttempts", "1"),) if mode == "cluster" else QUIET
    assert plan.spark.defaults == (NAME, *own) and plan.spark.mode == mode


def test_a_standalone_cluster_here_and_by_ssh(sparks):
    words = ("--master", "spark://head:7077", "--deploy-mode", "client", "{defaults}", "{environment}", "{modules}")
    for login in ("", "address: head\nusername: ada\n"):
        spark = planned(sparks, f"type: cluster\nsparkMaster: spark://head:7077\n{login}").spark
        assert spark is not None and spark.words == words and spark.mode == "client"
        assert ("spark.driver.host", "{address}") in spark.defaults


SETTINGS = """\
version: 2
configuration:
  spark.app.name: Mine
  spark.yarn.maxAppAttempts: 1
  spark.eventLog.enabled: true
  spark.driver.memory: 3g
  spark.executor.memory: "1.5"
repositories: [https://one.example/maven, lib/maven/]
packages:
  - {group: com.microsoft.ml.spark, artifact: mmlspark_2.11, version: 0.7.91}
  - {group: com.microsoft.sqlserver, artifact: mssql-jdbc, version: 6.2.1.jre8}
"""


def test_settings_and_packages_are_passed_on_as_they_are_written(sparks):
    spark = planned(sparks, "type: local\n", SETTINGS).spark
    assert spark is not None
    assert spark.words == (
        *("--master", "local[*]", "{defaults}"),
        *("--repositories", "https://one.example/maven,file://{work}/lib/maven"),
        *("--packages", "com.microsoft.sqlserver:mssql-jdbc:6.2.1.jre8"),
    )
    assert dict(spark.settings) == {
        "spark.app.name": "Mine",
        "spark.yarn.maxAppAttempts": "1",
        "spark.eventLog.enabled": "true",
        "spark.driver.memory": "3g",
        "spark.executor.memory": "1.5",
    }
    assert spark.defaults == QUIET  # what the project says, jig does not


def test_what_the_project_says_of_the_master_wins(sparks):
    said = "configuration: {spark.master: 'local[2]', spark.jars.packages: 'a:b:1'}\n"
    spark = planned(sparks, "type: local\n", said).spark
    assert spark is not None and spark.master == "local[2]"
    assert spark.words == ("--master", "local[2]", "{defaults}", "--packages", "a:b:1") and spark.settings == ()
    spark = planned(sparks, YARN, "configuration: {spark.submit.deployMode: client}\n").spark
    assert spark is not None and spark.words[:4] == ("--master", "yarn", "--deploy-mode", "client")


SECRET = "configuration:\n  spark.hadoop.fs.s3a.secret.key: hush\n  spark.x.token: {fromClient: TOKEN}\n"


def test_a_setting_from_the_client_beats_ours_and_is_shown_nowhere(sparks, monkeypatch):
    """What is passed by file would lose against an option of ours; Spark's own page knows what not to show."""
    monkeypatch.setenv("WHO", "me")
    said = "configuration:\n  spark.app.name: {fromClient: WHO}\n  spark.driver.memory: {fromClient: WHO}\n"
    spark = planned(sparks, "type: local\n", said).spark
    assert spark is not None and [key for key, _ in spark.defaults] == [
        *("spark.redaction.regex", "spark.ui.port", "spark.log.level"),
    ]
    assert dict(spark.defaults)["spark.redaction.regex"].endswith(r"|^spark\.app\.name$|^spark\.driver\.memory$")


def test_where_repositories_are(sparks):
    said = "repositories: [https://one/m, 'my lib, ü#1/', /srv/maven, ~/.m2/repository]\n"
    said += "configuration: {spark.jars.packages: 'a:b:1', spark.jars.repositories: 'https://two/m'}\n"
    spark = planned(sparks, "type: local\n", said).spark
    assert (
        spark is not None
        and spark.settings == ()
        and spark.words[3:]
        == (
            "--repositories",
            "https://one/m,file://{work}/my%20lib%2C%20%C3%BC%231,file:///srv/maven,file://{home}/.m2/repository,https://two/m",
            *("--packages", "a:b:1"),
        )
    )


def test_secrets_are_in_no_plan(sparks, monkeypatch):
    monkeypatch.setenv("TOKEN", "psst")
    plan = planned(sparks, "type: local\n", SECRET)
    assert plan.spark is not None and plan.spark.hidden == ("spark.hadoop.fs.s3a.secret.key", "spark.x.token")
    for text in (json.dumps(plan.to_json()), render(plan, [])):
        assert "hush" not in text and "psst" not in text
    secrets = decided(sparks, "type: local\n").secrets
    assert json.loads(secrets["JIG_SPARK_HIDDEN"]) == {
        "spark.hadoop.fs.s3a.secret.key": "hush",
        "spark.x.token": "psst",
    }
    assert "hidden             spark.hadoop.fs.s3a.secret.key, spark.x.token: the values" in render(plan, [])
    monkeypatch.delenv("TOKEN")
    with pytest.raises(UsageError, match="takes a setting from the variable TOKEN of this computer"):
        decided(sparks, "type: local\n")


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("spark.hadoop.fs.azure.account.key.me.blob.core.windows.net", True),
        ("spark.hadoop.fs.s3a.access.key", True),
        ("spark.ssl.keyPassword", True),
        ("spark.kubernetes.authenticate.submission.oauthToken", True),
        ("fs.azure.sas.box.me", True),
        ("spark.hadoop.fs.gs.auth.service.account.private.key", True),
        ("spark.hadoop.fs.s3a.encryption.key", True),
        ("spark.hadoop.fs.s3a.server-side-encryption.key", True),
        ("spark.hadoop.fs.azure.encryption.encoded.client-provided-key", True),
        ("spark.jdbc.pwd", True),
        ("spark.io.encryption.keySizeBits", False),
        ("spark.sql.shuffle.partitions", False),
        ("spark.executor.memory", False),
        ("spark.hadoop.fs.sasl.mode", False),
    ],
)
def test_which_names_speak_of_secrets(key, secret):
    assert is_secret(key) is secret
    assert bool(re.search(REDACTED, key)) is secret, "Spark's page is told the same"


def test_doubts_are_told(sparks):
    sparks.write(
        "aml_config/spark_dependencies.yml",
        SECRET
        + "  hive.x: 1\nrepositories: [lib, own, /theirs, ~/theirs]\npackages:\n"
        + SETTINGS.partition("packages:\n")[2],
    )
    sparks.write("own/a", "")
    told = doubts(Project.find(str(sparks.path)).spark(), str(sparks.path))
    ignored, secret, gone, missing = told
    assert ignored.endswith("Spark ignores `hive.x`, whose name does not begin with `spark.`")
    assert "write `spark.hadoop.fs.s3a.secret.key: {fromClient: VARIABLE}`" in secret
    assert "mmlspark_2.11:0.7.91 can be had nowhere any more and is left out; SynapseML" in gone
    assert missing.endswith("the project has no folder lib, which is to be a repository")


def test_a_dry_run_shows_the_command(sparks):
    shown = render(planned(sparks, "type: local\n", SETTINGS), [])
    first = "command            spark-submit --master 'local[*]' {defaults} --repositories"
    assert first in shown and "--conf spark.app.name=Mine" in shown
    assert "{ui}               a free port" in shown and "{environment}" not in shown


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("type: local\nsparkMaster: yarn\n", "is for a target of type cluster", "remove it"),
        ("type: cluster\nsparkMaster: head:7077\n", "must be yarn, or an address such as", "`sparkMaster: spark://head:7077`"),
        ("type: cluster\naddress: spark://h:7077\nusername: a\n", "is a Spark master", "`sparkMaster: spark://h:7077`"),
        ("type: cluster\n", "`address` is missing", "add a line"),
    ],
)  # fmt: skip
def test_faults_of_a_compute_file(sparks, text, message, fix):
    sparks.write("aml_config/s.compute", text)
    with pytest.raises(ProjectError) as caught:
        Project.find(str(sparks.path)).compute_target("s")
    assert message in caught.value.faults[0].message and fix in caught.value.faults[0].fix


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("configuration: {'spark.x=y': 1}", "`spark.x=y` is no name of a setting", "write `NAME: value`"),
        ("configuration: {'--conf a': 1}", "`--conf a` is no name of a setting", "write `NAME: value`"),
        ("configuration: {spark.master: head:7077}", "`head:7077` is no Spark master", "spark://HOST:7077"),
        ("configuration: {spark.submit.deployMode: edge}", "must be client or cluster, but found `edge`", ""),
        ("configuration: {spark.master: {fromClient: M}}", "it cannot come from a variable", "write its value here"),
        ("repositories: ['https://a, https://b']", "is not one address", "on a line of its own"),
        ("repositories: ['https://ada:hush@repo/m']", "the address https://repo… has a login in it", "ivySettings"),
        ("repositories: [lib/../../out]", "the folder lib/../../out is outside the project", "move it"),
        ("repositories: ['']", "an empty text is no repository", "remove"),
        ("packages: [{group: 'a,b:c:1', artifact: b, version: 1}]", "`group` must be one word without", ""),
        ("packages: [{group: a, artifact: b, version: ''}]", "`version` is missing in this package", "add `version: …`"),
        ("packages: ['a:b:1']", "must have `group`", "write `group: a`, `artifact: b`, `version: 1`"),
        ("[1]", "expected keys with values", ""),
        ("configuration: [1]", "`configuration` must hold keys with values", ""),
        ("configuration: {spark: {}}", "of which only `fromClient: VARIABLE` has a meaning", ""),
    ],
)  # fmt: skip
def test_faults_of_a_spark_file(sparks, text, message, fix):
    sparks.write("aml_config/spark_dependencies.yml", text)
    with pytest.raises(ProjectError) as caught:
        Project.find(str(sparks.path)).spark()
    assert message in caught.value.faults[0].message and fix in caught.value.faults[0].fix
    assert "hush" not in str(caught.value)


def test_a_setting_that_holds_something_else(sparks):
    sparks.write("aml_config/spark_dependencies.yml", "configuration:\n  spark.x: {fromClient: ''}\n  spark.y: [1]\n")
    with pytest.raises(ProjectError) as caught:
        Project.find(str(sparks.path)).spark()
    assert [fault.line for fault in caught.value.faults] == [2, 3]
