"""Run configurations of the product that came after: nested, lower-camel keys, no `.compute` file."""

from __future__ import annotations

from jig.errors import Fault
from jig.project import keys
from jig.project.yaml import LIST, MAP, NULL, Node

# Keys that only the successor's files have at the top; `target` alone may be a misspelt `Target`.
_MARKS = (
    "script",
    "arguments",
    "environment",
    "history",
    "spark",
    "hdi",
    "batchai",
    "containerInstance",
    "amlcompute",
    "autoPrepareEnvironment",
    "dataReferences",
    "communicator",
    "maxRunDurationSeconds",
    "nodeCount",
)


def is_successor(root: Node) -> bool:
    """Whether the file is written in the successor's schema."""
    names = {key.text for key, _ in root.pairs()}
    return bool(names & set(_MARKS)) and not names & set(keys.RUN)


def fault(root: Node, shown: str) -> Fault:
    """What the file is, and the same thing as it is written here."""
    message = (
        "this is a run configuration of the successor product (2018 and later: nested keys such as `environment:`,"
        " first letters small), which has another schema"
    )
    first = root.children[0]
    fix = "replace the file's content by\n" + "\n".join("        " + line for line in converted(root))
    compute = _compute(root)
    if compute:
        fix += "\n      and put into the target's .compute file\n" + "\n".join("        " + line for line in compute)
    return Fault(shown, first.line, first.text, message, fix)


def converted(root: Node) -> list[str]:
    """The lines of a run configuration that says the same as far as it can be said."""
    lines = []
    target = _text(root, "target")
    if target:
        lines.append(f"Target: {quote(target)}")
    framework = _text(root, "framework") or "Python"
    lines.append(f"Framework: {'PySpark' if framework.lower() == 'pyspark' else 'Python'}")
    script = _text(root, "script")
    arguments = _at(root, "arguments")
    words = [script] if script else []
    if arguments is not None and arguments.kind == LIST:
        words += [item.text for item in arguments.children if item.is_scalar]
    elif arguments is not None and arguments.is_scalar:
        words += arguments.text.split()
    if words:
        lines.append(f"ArgumentVector: [{', '.join(quote(word) for word in words)}]")
    variables = _at(root, "environment", "environmentVariables")
    pairs = list(variables.pairs()) if variables is not None and variables.kind == MAP else []
    if pairs:
        lines.append("EnvironmentVariables:")
        lines += [f"  {quote(key.text)}: {quote(value.text)}" for key, value in pairs if value.is_scalar]
    conda = _text(root, "environment", "python", "condaDependenciesFile")
    if conda:
        lines.append(f"CondaDependenciesFile: {quote(conda)}")
    prepare = _text(root, "prepareEnvironment") or _text(root, "autoPrepareEnvironment") or "true"
    lines.append(f"PrepareEnvironment: {'false' if prepare.lower() == 'false' else 'true'}")
    if (_text(root, "history", "enabled") or "").lower() == "false":
        lines.append("TrackedRun: false")
    return lines


def _compute(root: Node) -> list[str]:
    """What the successor keeps in the run configuration and Workbench in the `.compute` file."""
    lines = []
    image = _text(root, "environment", "docker", "baseImage")
    if image:
        lines.append(f"baseDockerImage: {quote(image)}")
    if (_text(root, "environment", "docker", "gpuSupport") or "").lower() == "true":
        lines.append("nvidiaDocker: true")
    mode = _text(root, "hdi", "yarnDeployMode")
    if mode:
        lines.append(f"yarnDeployMode: {quote(mode)}")
    return lines


def _at(root: Node, *path: str) -> Node | None:
    node: Node | None = root
    for name in path:
        if node is None or node.kind != MAP:
            return None
        node = next((value for key, value in node.pairs() if key.text == name), None)
    return node


def _text(root: Node, *path: str) -> str | None:
    node = _at(root, *path)
    return None if node is None or not node.is_scalar or node.kind == NULL else node.text


def quote(text: str) -> str:
    """The text as YAML: bare where that is safe, else in double quotes."""
    if text and text[0].isalnum() and all(c.isascii() and (c.isalnum() or c in "_-./") for c in text):
        return f'"{text}"' if text.lower() in ("null", "true", "false", "yes", "no", "on", "off") else text
    escaped = ""
    for character in text:
        code = ord(character)
        if character in '"\\':
            escaped += "\\" + character
        elif character.isprintable():
            escaped += character
        else:
            escaped += f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return f'"{escaped}"'
