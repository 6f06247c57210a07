"""Toy models with images and several outputs, whose answers are known in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from netbuild import Net, save

Card = Mapping[str, Any] | None
IMAGE: Card = {"task": "image", "input": {"normalization": {"method": "none"}}}
"""A card that says: values, and the image as it is."""


def blur(
    path: Path, *, channels: int = 1, outputs: int = 1, seed: int = 0, card: Card = IMAGE
) -> Path:
    """Two random convolutions with a pooling between: values, halo and a multiple of two."""
    net = Net(["batch", channels, "y", "x"], seed=seed)
    x = _trunk(net, channels)
    last = net.random_conv(x, 4, outputs, 3)
    return save(net.model({last: ("float32", ["batch", outputs, "y", "x"])}), path, card)


def two_heads(path: Path, *, seed: int = 0, keep: str = "both", card: Card = None) -> Path:
    """Scores of three classes and an image of two channels from one trunk; or one of them."""
    net = Net(["batch", 1, "y", "x"], seed=seed)
    x = _trunk(net, 1)
    mask, field = net.random_conv(x, 4, 3, 3), net.random_conv(x, 4, 2, 5)
    outputs = {
        mask: ("float32", ["batch", 3, "y", "x"]),
        field: ("float32", ["batch", 2, "y", "x"]),
    }
    kept = {"both": [mask, field], "mask": [mask], "field": [field]}[keep]
    return save(net.model({name: outputs[name] for name in kept}), path, card)


def line(path: Path, *, gain: float = 2.0, offset: float = -1.0, card: Card = IMAGE) -> Path:
    """Value = gain x + offset."""
    net = Net(["batch", 1, "y", "x"])
    last = net.conv("input", np.full((1, 1, 1, 1), gain), [offset])
    return save(net.model({last: ("float32", ["batch", 1, "y", "x"])}), path, card)


def _trunk(net: Net, channels: int) -> str:
    """Two convolutions around a pooling, back at full size."""
    x = net.add("Relu", net.random_conv("input", channels, 4, 3))
    low = net.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    low = net.add("Relu", net.random_conv(low, 4, 4, 3))
    return net.resize(low, 2.0, "nearest")
