"""Trains a small neural network to read digits, with nothing but the Python standard library.

The images are drawn here: ten digits of 8x8 points, shifted, dimmed and covered with noise. Every epoch logs its
loss and accuracy; the model and a picture of what it learned go to outputs/, which comes back when the run ends.
"""

import argparse
import json
import math
import os
import random
import struct
import sys
import zlib
from operator import mul

import jig

SIDE = 8
HIDDEN = 64
GLYPHS = [
    ".####. ##..## ##..## ##..## ##..## ##..## .####.",
    "..##.. .###.. ..##.. ..##.. ..##.. ..##.. ######",
    ".####. ##..## ....## ...##. ..##.. .##... ######",
    ".####. ##..## ....## ..###. ....## ##..## .####.",
    "...##. ..###. .####. ##.##. ###### ...##. ...##.",
    "###### ##.... #####. ....## ....## ##..## .####.",
    ".####. ##.... ##.... #####. ##..## ##..## .####.",
    "###### ....## ...##. ..##.. ..##.. .##... .##...",
    ".####. ##..## ##..## .####. ##..## ##..## .####.",
    ".####. ##..## ##..## .##### ....## ....## .####.",
]


def draw(digit, rng):
    """One image of the digit as 64 points from 0 to 1 (noise may push them a little beyond)."""
    down, right = rng.choice((0, 0, 1)), rng.choice((0, 1, 1, 2))
    ink = rng.uniform(0.7, 1.0)
    image = [rng.gauss(0.0, 0.2) for _ in range(SIDE * SIDE)]
    for y, row in enumerate(GLYPHS[digit].split()):
        for x, point in enumerate(row):
            if point == "#" and rng.random() > 0.05:
                image[(y + down) * SIDE + x + right] += ink
    return image


def samples(count, rng):
    """Pairs of an image and the digit on it, every digit equally often, in random order."""
    digits = [number % 10 for number in range(count)]
    rng.shuffle(digits)
    return [(draw(digit, rng), digit) for digit in digits]


class Network:
    """Two layers of weights: 64 points, hidden units that cut off at zero, and ten scores."""

    def __init__(self, rng):
        def layer(rows, columns):
            return [[rng.gauss(0.0, 1.0 / math.sqrt(columns)) for _ in range(columns)] for _ in range(rows)]

        self.first = layer(HIDDEN, SIDE * SIDE + 1)  # the last column is the bias
        self.second = layer(10, HIDDEN + 1)

    def forward(self, image):
        """The inputs of both layers and the probability of each digit."""
        inputs = image + [1.0]
        hidden = [max(0.0, dot(row, inputs)) for row in self.first] + [1.0]
        scores = [dot(row, hidden) for row in self.second]
        highest = max(scores)
        exps = [math.exp(score - highest) for score in scores]
        total = sum(exps)
        return inputs, hidden, [value / total for value in exps]

    def learn(self, image, digit, rate):
        """Move the weights one step down the slope for one image; returns its loss."""
        inputs, hidden, chances = self.forward(image)
        slopes = [chance - (index == digit) for index, chance in enumerate(chances)]
        for unit, row in enumerate(self.first):
            if hidden[unit] > 0.0:
                push = rate * sum(slope * scores[unit] for slope, scores in zip(slopes, self.second))
                row[:] = [weight - push * value for weight, value in zip(row, inputs)]
        for slope, row in zip(slopes, self.second):
            push = rate * slope
            row[:] = [weight - push * value for weight, value in zip(row, hidden)]
        return -math.log(max(chances[digit], 1e-12))

    def accuracy(self, pairs):
        """The part of the pairs whose digit gets the highest probability."""
        right = 0
        for image, digit in pairs:
            chances = self.forward(image)[2]
            right += chances.index(max(chances)) == digit
        return right / len(pairs)


def dot(left, right):
    """The sum of the products of two lists of equal length."""
    return sum(map(mul, left, right))


def progress(epoch, done, total):
    """A bar that is redrawn in place, where someone watches."""
    if sys.stdout.isatty() and (done % 25 == 0 or done == total):
        filled = 30 * done // total
        print(f"\repoch {epoch} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}", end="", flush=True)


def write_png(path, rows):
    """Write rows of (red, green, blue) points as a PNG image."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(value for point in row for value in point) for row in rows)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def picture(network, columns=8, scale=6):
    """What each hidden unit looks for, as tiles: red where ink excites it, blue where ink holds it back."""
    tile = SIDE + 1
    width, height = columns * tile + 1, HIDDEN // columns * tile + 1
    rows = [[(255, 255, 255)] * width for _ in range(height)]
    for unit, weights in enumerate(network.first):
        strongest = max(abs(weight) for weight in weights[:-1])
        for place, weight in enumerate(weights[:-1]):
            pale = 255 - int(255 * abs(weight) / strongest)
            y = unit // columns * tile + 1 + place // SIDE
            x = unit % columns * tile + 1 + place % SIDE
            rows[y][x] = (255, pale, pale) if weight > 0 else (pale, pale, 255)
    return [[point for point in row for _ in range(scale)] for row in rows for _ in range(scale)]


def main():
    """Train, log every epoch, and leave the model and its picture in outputs/."""
    parser = argparse.ArgumentParser(description="Trains a small network to read drawn digits.")
    parser.add_argument("--epochs", type=int, default=3, help="how often every image is seen")
    parser.add_argument("--learning-rate", type=float, default=0.1, help="how far a step goes; halved every epoch")
    parser.add_argument("--samples", type=int, default=1500, help="how many images are drawn to learn from")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other images")
    args = parser.parse_args()
    if args.epochs < 1 or args.samples < 1:
        parser.error("--epochs and --samples must be at least 1")
    jig.params(args)

    rng = random.Random(args.seed)
    training, held_back = samples(args.samples, rng), samples(500, rng)
    network = Network(rng)
    rate = args.learning_rate
    for epoch in range(1, args.epochs + 1):
        loss = 0.0
        for done, (image, digit) in enumerate(training, 1):
            loss += network.learn(image, digit, rate)
            progress(epoch, done, len(training))
        loss /= len(training)
        accuracy = network.accuracy(held_back)
        jig.log(epoch=epoch, loss=loss, accuracy=accuracy)
        line = f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.3f}"
        print("\r" + line.ljust(60) if sys.stdout.isatty() else line)
        rate *= 0.5
        rng.shuffle(training)

    os.makedirs("outputs", exist_ok=True)
    with open("outputs/model.json", "w", encoding="utf-8") as file:
        json.dump({"arguments": vars(args), "first": network.first, "second": network.second}, file)
    write_png("outputs/weights.png", picture(network))
    print("wrote outputs/model.json and outputs/weights.png")


if __name__ == "__main__":
    main()
