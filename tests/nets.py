"""Toy models whose answers are known in closed form; each is written to a path and returned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from netbuild import Dims, Net, save

Sides = tuple[int | None, ...]
Card = Mapping[str, Any] | None
FREE: Sides = (None, None)


def dims_of(layout: str, batch: int | None, channels: int | str | None, sides: Sides) -> list[Any]:
    """Return declared dims: numbers where fixed, names where free."""
    named: dict[str, int | str] = {"N": batch or "batch", "C": channels or "channels"}
    for axis, name, side in zip(
        "DHW"[-len(sides) :], ("z", "y", "x")[-len(sides) :], sides, strict=True
    ):
        named[axis] = side or name
    return [named[axis] for axis in layout]


def planes(classes: int | None, sides: Sides, batch: int | None = None) -> Dims:
    """Return the dims of a channels-first output as large as the input."""
    return dims_of("NCDHW" if len(sides) == 3 else "NCHW", batch, classes, sides)


def echo(
    path: Path,
    *,
    channels: int | None = 1,
    dtype: str = "float32",
    layout: str = "NCHW",
    out_layout: str | None = None,
    sides: Sides = FREE,
    batch: int | None = None,
    card: Card = None,
) -> Path:
    """Give back the input as float32: shows what the session really received."""
    out_layout = out_layout or layout
    net = Net(dims_of(layout, batch, channels, sides), dtype)
    last = net.add("Cast", "input", to=1) if dtype != "float32" else net.add("Identity", "input")
    if out_layout != layout:
        last = net.add("Transpose", last, perm=[layout.index(axis) for axis in out_layout])
    dims = dims_of(out_layout, batch, channels, sides)
    return save(net.model({last: ("float32", dims)}), path, card)


def two_class(
    path: Path,
    *,
    layout: str = "NCHW",
    out_layout: str | None = None,
    sides: Sides = FREE,
    batch: int | None = None,
    softmax: bool = False,
    card: Card = None,
) -> Path:
    """Score (0.5 - x, x - 0.5): class 1 where x > 0.5."""
    net = Net(dims_of(layout, batch, 1, sides))
    x = "input"
    if layout == "NHWC":
        x = net.add("Transpose", x, perm=[0, 3, 1, 2])
    last = net.conv(x, [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    if softmax:
        last = net.add("Softmax", last, axis=1)
    if (out_layout or layout) == "NHWC":
        last = net.add("Transpose", last, perm=[0, 2, 3, 1])
    dims = dims_of(out_layout or layout, batch, 2, sides)
    return save(net.model({last: ("float32", dims)}), path, card)


def one_channel(
    path: Path, *, sigmoid: bool, sides: Sides = FREE, batch: int | None = None, card: Card = None
) -> Path:
    """Score = x: logits as they are, or the same logits behind a sigmoid."""
    net = Net(dims_of("NCHW", batch, 1, sides))
    last = net.add("Sigmoid" if sigmoid else "Identity", "input")
    return save(net.model({last: ("float32", planes(1, sides, batch))}), path, card)


def box(path: Path, *, radius: int = 4, two_classes: bool = False, card: Card = None) -> Path:
    """Mean over a square of ``2 * radius + 1`` pixels, zeros outside; halo = radius."""
    net = Net(dims_of("NCHW", None, 1, FREE))
    side = 2 * radius + 1
    last = net.conv("input", np.full((1, 1, side, side), 1 / side**2))
    if two_classes:
        last = net.conv(last, [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    dims = planes(2 if two_classes else 1, FREE)
    return save(net.model({last: ("float32", dims)}), path, card)


def constant_one(path: Path, *, classes: int = 1, sides: Sides = FREE, card: Card = None) -> Path:
    """One everywhere: shows coverage and blending weights."""
    net = Net(dims_of("NCHW", None, 1, sides))
    last = net.conv("input", np.zeros((classes, 1, 1, 1)), np.ones(classes))
    return save(net.model({last: ("float32", planes(classes, sides))}), path, card)


def shrink(path: Path, *, border: int = 8, sides: Sides = (64, 64), card: Card = None) -> Path:
    """Give back the centre of the input: 64 in, 48 out; two classes cut at 0.5."""
    net = Net(dims_of("NCHW", None, 1, sides))
    side = 2 * border + 1
    kernel = np.zeros((2, 1, side, side))
    kernel[:, 0, border, border] = -1, 1
    last = net.conv("input", kernel, [0.5, -0.5], pads=[0, 0, 0, 0])
    inner = tuple(None if n is None else n - 2 * border for n in sides)
    dims = dims_of("NCHW", None, 2, inner)
    dims[2:] = [n if isinstance(n, int) else f"{n}_out" for n in dims[2:]]
    return save(net.model({last: ("float32", dims)}), path, card)


def half_resolution(path: Path, *, sides: Sides = FREE, card: Card = None) -> Path:
    """Mean of squares of two by two pixels; two classes cut at 0.5."""
    net = Net(dims_of("NCHW", None, 1, sides))
    last = net.add("AveragePool", "input", kernel_shape=[2, 2], strides=[2, 2])
    last = net.conv(last, [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    out = [n // 2 if n else f"half_{axis}" for n, axis in zip(sides, "yx", strict=True)]
    return save(net.model({last: ("float32", ["batch", 2, *out])}), path, card)


def double_resolution(path: Path, *, sides: Sides = FREE, card: Card = None) -> Path:
    """Every pixel as a square of two by two; two classes cut at 0.5."""
    net = Net(dims_of("NCHW", None, 1, sides))
    last = net.resize("input", 2.0, "nearest")
    last = net.conv(last, [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    out = [n * 2 if n else f"double_{axis}" for n, axis in zip(sides, "yx", strict=True)]
    return save(net.model({last: ("float32", ["batch", 2, *out])}), path, card)


def pad_sensitive(path: Path, *, stride: int = 16, card: Card = None) -> Path:
    """Class 1 where x is the largest of its square; sides off the stride make it fail."""
    net = Net(dims_of("NCHW", None, 1, FREE))
    square = {"kernel_shape": [stride] * 2, "strides": [stride] * 2}
    low = net.add("MaxPool", "input", **square)
    ones = net.constant(np.ones((1, 1, stride, stride)))
    back = net.add("ConvTranspose", low, ones, **square)
    both = net.add("Concat", back, "input", axis=1)
    last = net.conv(both, np.array([[1.0, -1.0], [-1.0, 1.0]])[..., None, None], [-1e-6, 1e-6])
    return save(net.model({last: ("float32", planes(2, FREE))}), path, card)


def arg_max(path: Path, *, keepdims: bool = False, card: Card = None) -> Path:
    """Class ids as int64: 0, 1, 2 for x below 1/3, below 2/3 and above."""
    net = Net(dims_of("NCHW", None, 1, FREE))
    scores = net.conv("input", np.array([0.0, 1.0, 2.0])[:, None, None, None], [0.0, -1 / 3, -1.0])
    last = net.add("ArgMax", scores, axis=1, keepdims=int(keepdims))
    dims = ["batch", 1, "y", "x"] if keepdims else ["batch", "y", "x"]
    return save(net.model({last: ("int64", dims)}), path, card)


def saliency(path: Path, *, side: int = 32, outputs: int = 7, card: Card = None) -> Path:
    """Seven maps of one size, the first sharpest: sigmoid of (mean - 0.5) times 20 / number."""
    net = Net(dims_of("NCHW", 1, 3, (side, side)))
    mean = net.conv("input", np.full((1, 3, 1, 1), 1 / 3), [-0.5])
    maps = [
        net.add("Sigmoid", net.add("Mul", mean, net.constant(20 / (i + 1)))) for i in range(outputs)
    ]
    return save(net.model({name: ("float32", [1, 1, side, side]) for name in maps}), path, card)


def flat_saliency(path: Path, *, side: int = 32, card: Card = None) -> Path:
    """0.02 and at most 0.005 more or less: a picture with nothing in it."""
    net = Net(dims_of("NCHW", 1, 3, (side, side)))
    swing = net.add("Tanh", net.conv("input", np.full((1, 3, 1, 1), 1 / 3)))
    scaled = net.add("Mul", swing, net.constant(0.005))
    last = net.add("Add", scaled, net.constant(0.02))
    return save(net.model({last: ("float32", [1, 1, side, side])}), path, card)


def nan_emitter(path: Path, *, limit: float = 0.8, card: Card = None) -> Path:
    """Score as `two_class`, but not a number where x exceeds the limit."""
    net = Net(dims_of("NCHW", None, 1, FREE))
    scores = net.conv("input", [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    bad = net.add("Greater", "input", net.constant(limit))
    last = net.add("Where", bad, net.constant(np.nan), scores)
    return save(net.model({last: ("float32", planes(2, FREE))}), path, card)


def many_classes(path: Path, *, classes: int = 26, card: Card = None) -> Path:
    """Class ``floor(x * classes)`` for x from 0 to 1."""
    net = Net(dims_of("NCHW", None, 1, FREE))
    centre = np.arange(classes) + 0.5
    last = net.conv("input", (2 * classes * centre)[:, None, None, None], -(centre**2))
    return save(net.model({last: ("float32", planes(classes, FREE))}), path, card)


def slow(path: Path, *, layers: int = 56, sides: Sides = (64, 64), card: Card = None) -> Path:
    """Score as `two_class`, after about 50 ms of idle convolutions a tile of 64 x 64 pixels."""
    net = Net(dims_of("NCHW", None, 1, sides))
    wide = 128
    x = net.conv("input", np.zeros((wide, 1, 1, 1)))
    weight = net.constant(np.zeros((wide, wide, 1, 1)))
    for _ in range(layers):
        x = net.add("Relu", net.add("Conv", x, weight))
    nothing = net.conv(x, np.zeros((2, wide, 1, 1)))
    scores = net.conv("input", [[[[-1.0]]], [[[1.0]]]], [0.5, -0.5])
    last = net.add("Add", scores, nothing)
    return save(net.model({last: ("float32", planes(2, sides))}), path, card)


def unet(
    path: Path,
    *,
    seed: int = 0,
    depth: int = 2,
    width: int = 8,
    kernel: int = 3,
    dilation: int = 1,
    pool: str = "max",
    up: str = "transpose",
    channels: int = 1,
    classes: int = 3,
    sides: Sides = FREE,
    batch: int | None = None,
    card: Card = None,
) -> Path:
    """Draw a U-Net with random weights and total stride ``2 ** depth``.

    ``pool`` is ``max``, ``average`` or ``stride``; ``up`` is ``transpose``, ``nearest`` or
    ``linear``.
    """
    net = Net(dims_of("NCHW", batch, channels, sides), seed=seed)
    spread = {"dilations": [dilation] * 2}
    x = net.add("Relu", net.random_conv("input", channels, width, kernel, **spread))
    skips = []
    for _ in range(depth):
        skips.append(x)
        x = net.add(
            "Relu", net.random_conv(_down(net, x, width, pool), width, width, kernel, **spread)
        )
    for skip in reversed(skips):
        joined = net.add("Concat", skip, _up(net, x, width, up), axis=1)
        x = net.add("Relu", net.random_conv(joined, 2 * width, width, kernel))
    last = net.random_conv(x, width, classes, 1)
    return save(net.model({last: ("float32", planes(classes, sides, batch))}), path, card)


def unpadded_unet(
    path: Path, *, seed: int = 0, depth: int = 2, sides: Sides = FREE, card: Card = None
) -> Path:
    """Draw a U-Net without padding, whose skips are cropped: 572 gives 388 at depth 4."""
    net, width = Net(dims_of("NCHW", None, 1, sides), seed=seed), 8
    x, skips, bare = "input", [], {"pads": [0] * 4}

    def two(x: str, channels: int) -> str:
        for inputs in (channels, width):
            x = net.add("Relu", net.random_conv(x, inputs, width, 3, **bare))
        return x

    x = two(x, 1)
    for _ in range(depth):
        skips.append(x)
        x = two(_down(net, x, width, "max"), width)
    lost = 4
    for skip in reversed(skips):
        ends = [net.constant([n, n], "int64") for n in (lost, -lost)]
        inner = net.add("Slice", skip, *ends, net.constant([2, 3], "int64"))
        x = two(net.add("Concat", inner, _up(net, x, width, "transpose"), axis=1), 2 * width)
        lost = 2 * (lost + 4)
    last = net.random_conv(x, width, 3, 1)
    out = [None, 3, "y_out", "x_out"]
    return save(net.model({last: ("float32", out)}), path, card)


def _down(net: Net, x: str, width: int, pool: str) -> str:
    if pool == "stride":
        return net.random_conv(x, width, width, 3, strides=[2, 2])
    kind = {"max": "MaxPool", "average": "AveragePool"}[pool]
    return net.add(kind, x, kernel_shape=[2, 2], strides=[2, 2])


def _up(net: Net, x: str, width: int, up: str) -> str:
    if up != "transpose":
        return net.resize(x, 2.0, up)
    weight = net.constant(net.random.normal(0, (1 / width) ** 0.5, (width, width, 2, 2)))
    return net.add("ConvTranspose", x, weight, kernel_shape=[2, 2], strides=[2, 2])
