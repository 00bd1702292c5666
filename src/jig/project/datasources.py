"""The data source settings of a run configuration, nested or with the nesting lost."""

from __future__ import annotations

from jig.project import keys
from jig.project.schema import Place, Section
from jig.project.yaml import MAP, Node

_LOST = ("Sampling", "Sample")
_SUFFIX = ".dsource"


def samples(section: Section) -> tuple[tuple[str, str], ...]:
    """DataSourceSettings: each data source and the name of the sample it uses."""
    node = section.value("DataSourceSettings")
    if node is not None and node.kind == MAP and _is_flat(node):
        _note(node, section.place)
        return ()
    settings = section.section("DataSourceSettings", None)
    found = []
    for source in settings.entries:
        sample = settings.section(source, keys.DATA_SOURCE).section("Sampling", keys.SAMPLING).text("Sample")
        if sample is not None:
            found.append((source, sample))
    return tuple(found)


def without_flat(root: Node, place: Place) -> Node:
    """The file without the keys that belong inside DataSourceSettings but stand at the top; they are one fault."""
    if not _is_flat(root):
        return root
    _note(root, place)
    kept = [pair for pair in root.pairs() if not _belongs_inside(pair[0].text)]
    return root._replace(children=tuple(node for pair in kept for node in pair))


def _is_flat(node: Node) -> bool:
    return any(key.text in _LOST for key, _ in node.pairs())


def _belongs_inside(key: str) -> bool:
    return key in _LOST or key.endswith(_SUFFIX)


def _note(node: Node, place: Place) -> None:
    """One fault for the whole block, with the block as it should be."""
    values = {key.text: value for key, value in node.pairs()}
    line, name = next((key.line, key.text) for key, _ in node.pairs() if _belongs_inside(key.text))
    source = next((key for key in values if key.endswith(_SUFFIX)), "NAME.dsource")
    sample = values["Sample"].text if "Sample" in values and values["Sample"].text else "NAME"
    lines = ("DataSourceSettings:", f"  {source}:", "    Sampling:", f"      Sample: {sample}")
    message = "the lines of `DataSourceSettings` are not nested: each must be indented under the one above"
    place.fault(line, f"DataSourceSettings.{name}", message, "write\n" + "\n".join("        " + text for text in lines))
