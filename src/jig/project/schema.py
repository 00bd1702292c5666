"""One map of a project file, read key by key; every fault is noted, none stops the reading."""

from __future__ import annotations

from jig.errors import Fault, ProjectError, nearest
from jig.project import keys
from jig.project.yaml import LIST, MAP, NULL, PLAIN, Node, read

_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")
_KIND_WORDS = {LIST: "a list", MAP: "a map of keys", NULL: "nothing"}


class Section:
    """One map of a file. Null and absent are the same; `known` None means that any key may stand here."""

    def __init__(self, node: Node | None, place: Place, known: tuple[str, ...] | None, prefix: str = "") -> None:
        self.place = place
        self.prefix = prefix
        self.known = known
        self.entries: dict[str, tuple[Node, Node]] = {}
        if node is not None and node.kind != MAP:
            found = _KIND_WORDS.get(node.kind, "plain text")
            place.fault(node.line, "", f"expected keys with values, `key: value`, but found {found}")
            return
        for key, value in node.pairs() if node is not None else ():
            self._enter(key, value)

    def _enter(self, key: Node, value: Node) -> None:
        if not key.is_scalar:
            self.place.fault(key.line, self.prefix, f"a key must be a word, but found {_KIND_WORDS[key.kind]}")
        elif key.text in self.entries:
            first = self.entries[key.text][0].line
            message = f"`{key.text}` is already given at line {first}"
            self.place.fault(key.line, self.path(key.text), message, "keep one of the two")
        elif self.known is not None and key.text not in self.known:
            self.place.fault(key.line, self.path(key.text), *self._unknown(key.text, self.known))
        else:
            self.entries[key.text] = (key, value)

    def path(self, key: str) -> str:
        """The key with the keys around it, as `EnvironmentVariables.HF_TOKEN`."""
        return f"{self.prefix}.{key}" if self.prefix else key

    def line(self, key: str) -> int:
        """The line of the key, 0 when it is absent."""
        return self.entries[key][0].line if key in self.entries else 0

    def fault(self, key: str, message: str, fix: str = "") -> None:
        """Notes what is wrong with the value of a key."""
        self.place.fault(self.line(key), self.path(key), message, fix)

    def value(self, key: str) -> Node | None:
        """The node of a key, None when it is absent or null."""
        found = self.entries.get(key)
        return None if found is None or found[1].kind == NULL else found[1]

    def text(self, key: str) -> str | None:
        """The text of a key exactly as written, None when it is absent or null."""
        node = self.value(key)
        if node is None:
            return None
        if not node.is_scalar:
            self.fault(key, f"`{key}` must be one text, but found {_KIND_WORDS[node.kind]}")
            return None
        if self._ran_on(key, node):
            return None
        return node.text

    def flag(self, key: str) -> bool | None:
        """True or false, None when the key is absent or null."""
        node = self.value(key)
        if node is None:
            return None
        word = node.text.lower() if node.is_scalar else ""
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if not self._ran_on(key, node):
            found = _KIND_WORDS.get(node.kind) or f"`{node.text}`"
            self.fault(
                key, f"`{key}` must be true or false, but found {found}", f"write `{key}: true` or `{key}: false`"
            )
        return None

    def choice(self, key: str, allowed: tuple[str, ...]) -> str | None:
        """One of the allowed words, None when the key is absent or null."""
        text = self.text(key)
        if text is None or text in allowed:
            return text
        near = nearest(text, allowed)
        fix = f"write `{key}: {near}`" if near else ""
        self.fault(key, f"`{key}` must be {' or '.join(allowed)}, but found `{text}`", fix)
        return None

    def items(self, key: str) -> tuple[Node, ...]:
        """The nodes of a list, () when the key is absent or null."""
        node = self.value(key)
        if node is None:
            return ()
        if node.kind == LIST:
            return node.children
        found = _KIND_WORDS.get(node.kind, "one text")
        example = "[" + ", ".join(f'"{word}"' for word in node.text.split()) + "]" if node.is_scalar else "[…]"
        self.fault(key, f"`{key}` must be a list, but found {found}", f"write `{key}: {example}`")
        return ()

    def texts(self, key: str) -> list[tuple[str, int]]:
        """The texts of a list with their lines, none when the key is absent or null."""
        found = []
        for node in self.items(key):
            if node.kind == NULL or not node.is_scalar:
                message = f"each item of `{key}` must be one text, but found {_KIND_WORDS[node.kind]}"
                self.place.fault(node.line, self.path(key), message)
            else:
                found.append((node.text, node.line))
        return found

    def section(self, key: str, known: tuple[str, ...] | None) -> Section:
        """The map of a key, empty when it is absent or null."""
        node = self.value(key)
        if node is not None and node.is_scalar and _lacks_space(node.text):
            for index, part in enumerate(_split_pairs(node.text)):
                name = part.partition(":")[0]
                message = f"there is no space after the colon of `{name}:`, so that it is not a key"
                self.place.fault(node.line + index, self.path(key) + "." + name, message, f"write `{name}: …`")
            node = None
        elif node is not None and node.kind != MAP:
            found = _KIND_WORDS.get(node.kind, "one text")
            self.fault(key, f"`{key}` must hold keys with values, but found {found}", f"indent the keys under `{key}:`")
            node = None
        return Section(node, self.place, known, self.path(key))

    def _unknown(self, key: str, known: tuple[str, ...]) -> tuple[str, str]:
        """What to say of a key that is not known, and the most helpful fix."""
        name, colon, value = key.partition(":")
        if colon and name in known and value:
            return f"there is no space after the colon of `{name}:`, so that it is not a key", f"write `{name}: …`"
        message = f"`{key}` is not a key of {self.place.kind}" + (f" under `{self.prefix}`" if self.prefix else "")
        near = nearest(key, known)
        if near:
            return message, f"did you mean `{near}`?"
        if known is keys.CONDA and key in keys.CONDA_NESTED:
            return message, f"put it into the list of `dependencies`, as `- {key}:`"
        for other, names in keys.FILES.items():
            if other != self.place.kind and key in names:
                return message, f"`{key}` belongs in {other}"
        return message, f"remove it; known are {', '.join(known)}"

    def _ran_on(self, key: str, node: Node) -> bool:
        """Whether a plain value swallowed the next key, as in `true. "Framework":"PySpark"`; notes the fault."""
        if node.kind != PLAIN or ":" not in node.text or self.known is None:
            return False  # where any key may stand, any text may too
        for other in self.known:
            for mark in (f' "{other}":', f" '{other}':", f" {other}:"):
                own, found, _ = node.text.partition(mark)
                if found:
                    said = "the value" if key == "password" else f"`{own}`"
                    message = f"the value of `{key}` ran on into the next key, `{other}`: {said} must end before it"
                    fix = f"start `{other}` on a line of its own, or in a {{ }} file put a comma after {said}"
                    self.fault(key, message, fix)
                    return True
        return False


class Place:
    """The file being read and the faults found in it so far."""

    def __init__(self, file: str, kind: str) -> None:
        self.file = file
        self.kind = kind
        self.faults: list[Fault] = []

    def fault(self, line: int, key: str, message: str, fix: str = "") -> None:
        """Notes one fault."""
        self.faults.append(Fault(self.file, line, key, message, fix))

    def open(self, path: str, cache_dir: str | None) -> Node | None:
        """Reads the file; the traps that were stepped over are noted."""
        root, faults = read(path, cache_dir, self.file)
        self.faults += faults
        return root

    def close(self) -> None:
        """Raises every noted fault at once, in the order of the file."""
        if self.faults:
            raise ProjectError(sorted(self.faults, key=lambda fault: fault.line))


def _lacks_space(text: str) -> bool:
    name, colon, value = text.partition(":")
    return bool(colon and value) and not value[0].isspace() and name.replace("_", "").replace("-", "").isalnum()


def _split_pairs(text: str) -> list[str]:
    parts: list[str] = []
    for word in text.split(" "):
        if not parts or _lacks_space(word):
            parts.append(word)
    return parts
