"""The command line of spark-submit, from the plan's words and what only this machine knows."""

import os
import re
import socket
import sys
from urllib.parse import quote

SETTING = re.compile(r"([^\s=:]*)\s*[=:]?\s*(.*)")
PAGE = "spark.ui.port"
# Lists that an option gives, and a setting of the same meaning.
LISTS = (("--py-files", "spark.submit.pyFiles"), ("--archives", "spark.archives"))
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


def joined(argv, settings, theirs):
    """With lists that are named twice as one: an option's would be all that Spark takes."""
    argv = list(argv)
    for option, key in LISTS:
        more = settings.get(key) or theirs.get(key)
        if more and option in argv:
            argv[argv.index(option) + 1] += "," + more
    return argv


def silent(words, said):
    """Of `--conf` words those that the person does not say; another option as it is."""
    kept = []
    for index in range(0, len(words), 2):
        option, value = words[index : index + 2]
        if option != "--conf" or value.partition("=")[0] not in said:
            kept += [option, value]
    return kept


def resource(script):
    """The script as Spark takes it, who would read it as an address from the first `#` on."""
    return "file://" + quote(os.path.abspath(script)) if "#" in script else script


def speaks_utf8():
    """Whether programs that go by the locale understand all characters."""
    import locale

    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:  # one that is not installed here counts as none
        return False
    return locale.nl_langinfo(locale.CODESET).lower().replace("-", "") == "utf8"


def memory(groups="/sys/fs/cgroup", own="/proc/self/cgroup"):
    """Half of the memory that there is for this run, as Spark writes it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    half = max(LEAST_BYTES, min(MOST_BYTES, min([total] + _limits(groups, own)) // 2))
    return "%dm" % (half >> 20)


def _limits(groups, own):
    """What the control groups allow that this process is in, the outermost ones included."""
    places = {groups + "/memory.max", groups + "/memory/memory.limit_in_bytes"}
    try:
        with open(own) as file:
            lines = file.read().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, kinds, path = line.split(":", 2)
        while path.strip("/") and (not kinds or "memory" in kinds.split(",")):
            places.add(groups + (path + "/memory.max" if not kinds else "/memory" + path + "/memory.limit_in_bytes"))
            path = os.path.dirname(path)
    found = []
    for place in places:
        try:
            with open(place) as file:
                text = file.read().strip()
        except OSError:
            continue
        if text.isdigit():
            found.append(int(text))
    return found


def page_port(settings, hidden, theirs):
    """The port of the engine's page: the one that was asked for, or a free one; `0` is our choice too."""
    asked = settings.get(PAGE) or hidden.get(PAGE) or theirs.get(PAGE) or "0"
    if asked.strip().isdigit() and int(asked) > 0:
        return int(asked)
    port = free_port()
    if PAGE in settings:
        settings[PAGE] = str(port)
    theirs.pop(PAGE, None)
    return port


def free_port():
    """A port that nobody listens at."""
    taken = socket.socket()
    try:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
    finally:
        taken.close()


def settings_in(place):
    """What a file of the engine's own settings sets."""
    found = {}
    if place:
        with open(place, errors="replace") as file:
            for line in file:
                line = line.strip()
                if line and line[0] not in "#!":
                    key, value = SETTING.match(line).groups()
                    found[key] = value
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
