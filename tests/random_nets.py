"""Networks put together at random from every kind of local operator."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from netbuild import Net, save

WIDTH = 8
Step = Callable[[Net, str, np.random.Generator], tuple[str, Fraction]]


def _conv(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    kernel, dilation = int(rng.choice([1, 3, 5])), int(rng.choice([1, 1, 2, 3]))
    x = net.random_conv(x, WIDTH, WIDTH, kernel, dilations=[dilation] * 2)
    return net.add("Relu", x), Fraction(1)


def _auto_padded(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    stride, auto = int(rng.choice([1, 2])), str(rng.choice(["SAME_UPPER", "SAME_LOWER"]))
    weight = net.constant(rng.normal(0, 0.2, (WIDTH, WIDTH, 3, 3)))
    return net.add("Conv", x, weight, auto_pad=auto, strides=[stride] * 2), Fraction(stride)


def _strided(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    return net.random_conv(x, WIDTH, WIDTH, 3, strides=[2, 2]), Fraction(2)


def _pooled(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    kind = str(rng.choice(["MaxPool", "AveragePool"]))
    size, pads = ((2, [0] * 4), (3, [1] * 4), (4, [1] * 4))[rng.integers(3)]
    return net.add(kind, x, kernel_shape=[size] * 2, strides=[2, 2], pads=pads), Fraction(2)


def _reflected(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    mode = str(rng.choice(["reflect", "edge", "constant"]))
    padded = net.add("Pad", x, net.constant([0, 0, 2, 2, 0, 0, 2, 2], "int64"), mode=mode)
    return net.random_conv(padded, WIDTH, WIDTH, 5, pads=[0] * 4), Fraction(1)


def _cropped(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    ends = [net.constant([n, n], "int64") for n in (2, -2)]
    inner = net.add("Slice", x, *ends, net.constant([2, 3], "int64"))
    return net.random_conv(inner, WIDTH, WIDTH, 3, pads=[3] * 4), Fraction(1)


def _stacked(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    deep = net.add("SpaceToDepth", x, blocksize=2)
    return net.random_conv(deep, 4 * WIDTH, WIDTH, 3), Fraction(2)


def _spread(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    size, pads, extra = ((2, 0, 0), (4, 1, 0), (3, 1, 1))[rng.integers(3)]
    weight = net.constant(rng.normal(0, 0.3, (WIDTH, WIDTH, size, size)))
    more = {"pads": [pads] * 4, "output_padding": [extra] * 2, "kernel_shape": [size] * 2}
    return net.add("ConvTranspose", x, weight, strides=[2, 2], **more), Fraction(1, 2)


def _shuffled(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    wide = net.random_conv(x, WIDTH, 4 * WIDTH, 3)
    return net.add("DepthToSpace", wide, blocksize=2), Fraction(1, 2)


def _nearest(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    where = str(rng.choice(["asymmetric", "half_pixel"]))
    rounding = str(rng.choice(["floor", "round_prefer_floor", "round_prefer_ceil", "ceil"]))
    modes = {"coordinate_transformation_mode": where, "nearest_mode": rounding}
    return net.resize(x, 2.0, "nearest", **modes), Fraction(1, 2)


def _linear(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    where = str(rng.choice(["asymmetric", "half_pixel", "pytorch_half_pixel"]))
    return net.resize(x, 2.0, "linear", coordinate_transformation_mode=where), Fraction(1, 2)


def _cubic(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    return net.resize(x, 2.0, "cubic", cubic_coeff_a=-0.75), Fraction(1, 2)


def _halved(net: Net, x: str, rng: np.random.Generator) -> tuple[str, Fraction]:
    mode = str(rng.choice(["linear", "nearest", "cubic"]))
    return net.resize(x, 0.5, mode), Fraction(2)


LEVEL = (_conv, _conv, _auto_padded, _reflected, _cropped)
DOWN = (_strided, _pooled, _pooled, _stacked, _halved)
UP = (_spread, _spread, _shuffled, _nearest, _linear, _cubic)


def random_net(path: Path, seed: int) -> Path:
    """Write a network with skips, of total stride 2 to 16, that gives the size it gets."""
    rng = np.random.default_rng(seed)
    net = Net(["batch", 1, "y", "x"], seed=seed)
    x = net.random_conv("input", 1, WIDTH, int(rng.choice([1, 3])))
    skips = []
    for _ in range(rng.integers(1, 5)):
        x, _ = LEVEL[rng.integers(2)](net, x, rng)
        skips.append(x)
        x, _ = DOWN[rng.integers(len(DOWN))](net, x, rng)
    x = _level(net, x, rng)
    for skip in reversed(skips):
        x, _ = UP[rng.integers(len(UP))](net, x, rng)
        x = net.add("Concat", x, skip, axis=1)
        x = net.add("Relu", net.random_conv(x, 2 * WIDTH, WIDTH, int(rng.choice([1, 3]))))
        x = _level(net, x, rng)
    last = net.random_conv(x, WIDTH, 3, 1)
    return save(net.model({last: ("float32", ["batch", 3, "y", "x"])}), path)


def _level(net: Net, x: str, rng: np.random.Generator) -> str:
    """Add an operator that keeps the size."""
    choices = [step for step in LEVEL if step is not _auto_padded]
    x, _ = choices[rng.integers(len(choices))](net, x, rng)
    return x
