"""The command line of spark-submit, from the plan's words and what only this machine knows."""

import os
import socket
import sys

MOST_BYTES = 30 << 30  # beyond, Java's references are twice as long
LEAST_BYTES = 1 << 30


def fill(words, known):
    """The words with what stands in braces filled in; a word that is nothing else may become several, or none."""
    filled = []
    for word in words:
        value = known.get(word[1:-1]) if word[:1] == "{" else None
        if isinstance(value, list):
            filled += value
        else:
            filled.append(fill_word(word, known))
    return filled


def fill_word(word, known):
    """One word; braces that are none of ours stay as they are."""
    for name, value in known.items():
        if not isinstance(value, list):
            word = word.replace("{" + name + "}", value)
    return word


def memory(groups="/sys/fs/cgroup"):
    """Half of the memory that there is for this run, as Spark writes it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            with open(os.path.join(groups, name)) as file:
                text = file.read().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    half = max(LEAST_BYTES, min(MOST_BYTES, total // 2))
    return "%dm" % (half >> 20)


def free_port():
    """A port that nobody listens at, for the engine's page."""
    taken = socket.socket()
    try:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
    finally:
        taken.close()


def names_in(settings):
    """The names that a file of the engine's own settings sets."""
    found = set()
    if settings:
        with open(settings, errors="replace") as file:
            for line in file:
                line = line.strip()
                if line and line[0] not in "#!":
                    found.add(line.replace("=", " ").replace(":", " ").split()[0])
    return found


def properties(hidden, settings):
    """For `--properties-file`: the engine's own settings, which it would not read besides, and the hidden ones."""
    text = ""
    if settings:
        with open(settings, errors="surrogateescape", encoding="latin-1") as file:
            text = file.read() + "\n"
    return (text + "".join("%s=%s\n" % (escaped(key, True), escaped(hidden[key])) for key in sorted(hidden))).encode(
        "latin-1", "surrogateescape"
    )


def escaped(text, is_key=False):
    """As Java's properties write it."""
    out = []
    for index, c in enumerate(text):
        if c == "\\":
            out.append("\\\\")
        elif c in "\n\r\t\f":
            out.append("\\" + {"\n": "n", "\r": "r", "\t": "t", "\f": "f"}[c])
        elif (is_key and c in " :=") or (index == 0 and c in " #!"):
            out.append("\\" + c)
        elif " " <= c <= "~":
            out.append(c)
        else:
            units = c.encode("utf-16-be", "surrogatepass")
            out += ["\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2)]
    return "".join(out)


def nameless(data):
    """The path of a file that has no name, holds this, and is there for this process and what it starts."""
    import tempfile

    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    descriptor, path = tempfile.mkstemp(prefix="jig-", dir=folder)
    os.unlink(path)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    return "/dev/fd/%d" % descriptor if sys.platform != "linux" else "/proc/self/fd/%d" % descriptor
