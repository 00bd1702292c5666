"""`conda_dependencies.yml` and `spark_dependencies.yml`: what a run needs to be installed."""

from __future__ import annotations

from jig.project import keys
from jig.project.schema import Place, Section
from jig.project.yaml import LIST, MAP, NULL, PLAIN, QUOTED, Node
from jig.values import Value

ENVIRONMENT_NAME = "project_environment"


class Requirement(Value):
    """A package, or a line for pip, and where it stands in the file."""

    text: str
    line: int


class CondaSpec(Value):
    """A conda environment file: conda packages and pip lines, each with its line number."""

    file: str
    name: str = ENVIRONMENT_NAME
    channels: tuple[str, ...] = ()
    packages: tuple[Requirement, ...] = ()
    pip: tuple[Requirement, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


class SparkPackage(Value):
    """A package by its Maven coordinates."""

    group: str
    artifact: str
    version: str


class SparkSpec(Value):
    """What a Spark session is started with."""

    file: str
    configuration: tuple[tuple[str, str], ...] = ()
    client_settings: tuple[tuple[str, str], ...] = ()  # (setting, the variable of the client that has its value)
    repositories: tuple[str, ...] = ()
    packages: tuple[SparkPackage, ...] = ()


def read_conda(path: str, shown: str, cache_dir: str | None) -> CondaSpec:
    """The conda environment that a file describes; raises ProjectError with every fault in it."""
    place = Place(shown, "a conda dependencies file")
    section = Section(place.open(path, cache_dir), place, keys.CONDA)
    section.text("prefix")
    packages: list[Requirement] = []
    pip: list[Requirement] = []
    for node in section.items("dependencies"):
        if node.kind == MAP and _is_pin(node):
            name, version = node.children[0].text, node.children[1].text
            message = f"`{name}: {version}` is a key and a value, not a package"
            place.fault(node.line, f"dependencies.{name}", message, f"write `- {name}={version}`")
        elif node.kind == MAP:
            nested = Section(node, place, keys.CONDA_NESTED, "dependencies")
            pip += _trimmed(nested.texts("pip"))
        elif node.is_scalar and node.kind != NULL:
            packages.append(Requirement(node.text.strip(), node.line))
        else:
            found = "a list" if node.kind == LIST else "nothing"
            place.fault(node.line, "dependencies", f"a dependency must be a package or `pip:`, but found {found}")
    for requirement in packages + pip:
        if not requirement.text:
            place.fault(requirement.line, "dependencies", "an empty text is no package", "remove the line")
    for package in packages:
        if " - " in package.text:  # YAML reads a deeper line without a colon before it as more of the same text
            first = package.text.partition(" ")[0]
            message = f"`{package.text}`: the lines below `{first}` stand deeper, and became part of it"
            fix = "write `- pip:`, with a colon" if first == "pip" else f"write them as deep as `- {first}`"
            place.fault(package.line, "dependencies", message, fix)
        if package.text.startswith("-") or package.text.partition("?")[0].endswith(".whl"):
            message = "this is a line for pip, but it stands among the conda packages"
            place.fault(package.line, "dependencies", message, "indent it under `- pip:`")
    spec = CondaSpec(
        file=shown,
        name=section.text("name") or ENVIRONMENT_NAME,
        channels=tuple(item.text for item in _trimmed(section.texts("channels"))),
        packages=tuple(packages),
        pip=tuple(pip),
        variables=_texts_by_key(section.section("variables", None)),
    )
    place.close()
    return spec


def read_spark(path: str, shown: str, cache_dir: str | None) -> SparkSpec:
    """The Spark settings that a file describes; raises ProjectError with every fault in it."""
    from jig.project import spark_faults

    place = Place(shown, "a Spark dependencies file")
    section = Section(place.open(path, cache_dir), place, keys.SPARK)
    section.choice("version", ("1", "2"))
    packages = []
    for node in section.items("packages"):
        if node.kind != MAP:
            parts = node.text.split(":")
            fix = "write `group: {}`, `artifact: {}`, `version: {}`".format(*parts) if len(parts) == 3 else ""
            place.fault(node.line, "packages", "a package must have `group`, `artifact` and `version`", fix)
            continue
        package = Section(node, place, keys.SPARK_PACKAGE, "packages")
        values = [package.text(key) for key in keys.SPARK_PACKAGE]
        for key in keys.SPARK_PACKAGE:
            value = package.value(key)
            if value is None or (value.is_scalar and not value.text):
                place.fault(node.line, f"packages.{key}", f"`{key}` is missing in this package", f"add `{key}: …`")
            elif value.is_scalar and (found := spark_faults.coordinate(key, value.text)):
                package.fault(key, *found)
        packages.append(SparkPackage(*(value or "" for value in values)))
    given, from_client = _settings(section.section("configuration", None))
    repositories = _trimmed(section.texts("repositories"))
    for item in repositories:
        if found := spark_faults.repository(item.text):
            place.fault(item.line, "repositories", *found)
    spec = SparkSpec(
        file=shown,
        configuration=given,
        client_settings=from_client,
        repositories=tuple(item.text for item in repositories),
        packages=tuple(packages),
    )
    place.close()
    return spec


def _settings(section: Section) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Spark's settings: those with a value here, and those whose value a variable of the client has."""
    from jig.project import spark_faults

    given: list[tuple[str, str]] = []
    from_client: list[tuple[str, str]] = []
    for key, (_, node) in section.entries.items():
        if node.kind == MAP:
            variable = section.section(key, keys.SPARK_SETTING).text("fromClient")
            if variable and (found := spark_faults.client_setting(key)):
                section.fault(key, *found)
            elif variable:
                from_client.append((key, variable))
            else:
                section.fault(key, f"`{key}` holds keys, of which only `fromClient: VARIABLE` has a meaning")
        else:
            value = section.text(key) or ""
            if found := spark_faults.setting(key, value):
                section.fault(key, *found)
            given.append((key, value))
    return tuple(given), tuple(from_client)


def _is_pin(node: Node) -> bool:
    """Whether a version was written after a colon: `- tensorflow: 1.4`."""
    return len(node.children) == 2 and node.children[0].text != "pip" and node.children[1].kind in (PLAIN, QUOTED)


def _trimmed(items: list[tuple[str, int]]) -> list[Requirement]:
    return [Requirement(text.strip(), line) for text, line in items]


def _texts_by_key(section: Section) -> tuple[tuple[str, str], ...]:
    return tuple((key, section.text(key) or "") for key in section.entries)
