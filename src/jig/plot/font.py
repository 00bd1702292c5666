"""A small font of strokes, so that a picture needs no other: each letter is a few lines on a grid.

A point is two digits: x, and y from the bottom (0 is below the line, 2 on it, 6 the height of small letters, 8 of
capitals). Strokes are separated by spaces; a stroke of one point is a dot.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNIT_X, UNIT_Y = 0.085, 0.125  # of the size
GAP_X = 2.4
SPACE_X = 3.0
BASELINE = 2
UNKNOWN = "0208585202"
GLYPHS = {
    "0": "120307185867635212", "1": "173832", "2": "07185867650262", "3": "07185867665525 556463521203",
    "4": "42480464", "5": "68080526466563521203", "6": "5828060312526364551504", "7": "086822",
    "8": "150607185867665515 150403125263645515", "9": "1242646758180706155566",
    "A": "023862 1454", "B": "02084857564505 455564635202", "C": "6758180703125263", "D": "02084866644202",
    "E": "62020868 0545", "F": "020868 0545", "G": "67581807031252636535", "H": "0802 6862 0565", "I": "0802",
    "J": "4843321203", "K": "0802 6804 2562", "L": "080262", "M": "0208448882", "N": "02086268",
    "O": "220406285876745222", "P": "02085867665505", "Q": "220406285876745222 4472", "R": "02085867665505 3562",
    "S": "675818070615556463521203", "T": "0868 3832", "U": "080312526368", "V": "083268", "W": "0822476288",
    "X": "0862 0268", "Y": "083568 3532", "Z": "08680262",
    "a": "0616465552 541403124253", "b": "0802 0516465553421203", "c": "5546160503124253", "d": "5546160503124253 5852",
    "e": "045455461605031252", "f": "48382722 0646", "g": "5546160503124253 56514010", "h": "0802 0516465552",
    "i": "0602 08", "j": "26211000 28", "k": "0802 5603 2452", "l": "080312", "m": "0602 0516364542 4556768582",
    "n": "0602 0516465552", "o": "160503124253554616", "p": "0600 0516465553421203", "q": "5546160503124253 5650",
    "r": "0602 042646", "s": "55461605144453421203", "t": "28233242 0646", "u": "0603124253 5652", "v": "062246",
    "w": "0622456286", "x": "0652 0256", "y": "0632 5610", "z": "06560252",
    ".": "02", ",": "1201", ":": "02 05", ";": "1201 15", "-": "0545", "+": "0565 3238", "=": "0464 0666",
    "_": "0161", "/": "0148", "\\": "0841", "(": "28060321", ")": "08262301", "[": "28080121", "]": "08282101",
    "{": "38272615242231", "}": "08171625141201", "|": "0801", "<": "660462", ">": "066402", "*": "3438 1557 1755",
    "#": "1228 4258 0464 0666", "%": "0268 0828260608 4464624244", "@": "6222040628587674645456363454",
    "&": "62172838470403123265", "!": "0804 02", "?": "07184857563534 32", '"': "0806 2826", "'": "0806",
    "`": "0817", "~": "041525344455", "^": "062846", "$": "675818070615556463521203 3931",
}  # fmt: skip


def width(text: str, size: float) -> float:
    """How wide the text is."""
    return sum(_advance(character) for character in text) * UNIT_X * size


def _advance(character: str) -> float:
    if character == " ":
        return SPACE_X + GAP_X
    return max(int(digit) for stroke in _strokes(character) for digit in stroke[::2]) + GAP_X


def _strokes(character: str) -> list[str]:
    return GLYPHS.get(character, UNKNOWN).split()


def lines(text: str, size: float) -> Iterator[list[tuple[float, float]]]:
    """The strokes of a text: points from its left end, and downwards from the line that it stands on."""
    x = 0.0
    for character in text:
        for stroke in _strokes(character) if character != " " else ():
            places = zip(stroke[::2], stroke[1::2], strict=True)
            yield [((x + int(right)) * UNIT_X * size, (BASELINE - int(up)) * UNIT_Y * size) for right, up in places]
        x += _advance(character)
