"""Layers of the small U-Net, as exporters write them badly and well."""

from __future__ import annotations

from typing import Any

import numpy as np

from netbuild import Net

WIDTH, SIDE = 4, 64


def up_by_scale(net: Net, x: str, **attributes: Any) -> str:
    scales = net.constant([1.0, 1.0, 2.0, 2.0])
    if net.opset < 11:
        return net.add("Resize", x, scales, mode="linear")
    where = {"coordinate_transformation_mode": "half_pixel", **attributes}
    return net.add("Resize", x, no_region(net), scales, mode="linear", **where)


def up_to_size(net: Net, x: str) -> str:
    """Enlarge to the size that the exporter saw."""
    sizes = net.constant([1, WIDTH, SIDE, SIDE], "int64")
    nothing = no_region(net)
    return net.add("Resize", x, nothing, nothing, sizes, mode="linear")


def up_to_sides(net: Net, x: str) -> str:
    """Take batch and channels from a shape, but the sides from the exporter's example."""
    shape = net.add("Shape", x)
    first = net.add("Slice", shape, *(net.constant([n], "int64") for n in (0, 2)))
    sizes = net.add("Concat", first, net.constant([SIDE, SIDE], "int64"), axis=0)
    return net.add("Resize", x, "", "", sizes, mode="linear")


def pooled_to_size(net: Net, x: str) -> str:
    """Spread the mean of all pixels to the size that the exporter saw."""
    sizes = net.constant([1, WIDTH, SIDE // 2, SIDE // 2], "int64")
    mean = net.add("GlobalAveragePool", x)
    return net.add("Add", x, net.add("Resize", mean, "", "", sizes, mode="linear"))


def pooled(net: Net, x: str) -> str:
    return net.add("Add", x, net.add("GlobalAveragePool", x))


def group_norm(net: Net, x: str, back: str) -> str:
    """Normalise groups of channels as exporters write it."""
    flat = net.add("Reshape", x, net.constant([0, 2, -1], "int64"))
    one, zero = net.constant(np.ones(2)), net.constant(np.zeros(2))
    return net.add("Reshape", net.add("InstanceNormalization", flat, one, zero), back)


def group_norm_by_numbers(net: Net, x: str) -> str:
    sides = [1, WIDTH, SIDE // 2, SIDE // 2]
    return group_norm(net, x, net.constant(sides, "int64"))


def group_norm_by_shape(net: Net, x: str) -> str:
    return group_norm(net, x, net.add("Shape", x))


def no_region(net: Net) -> str:
    """Return an empty tensor, which operator sets 11 and 12 want in place of nothing."""
    return "" if net.opset >= 13 else net.constant(np.zeros(0))


def shuffled_by_numbers(net: Net, x: str) -> str:
    """Lay channels out as pixels, with the shapes that the exporter saw."""
    half = SIDE // 2
    wide = net.random_conv(x, WIDTH, 4 * WIDTH, 1)
    apart = net.add("Reshape", wide, net.constant([1, WIDTH, 2, 2, half, half], "int64"))
    turned = net.add("Transpose", apart, perm=[0, 1, 4, 2, 5, 3])
    return net.add("Reshape", turned, net.constant([1, WIDTH, SIDE, SIDE], "int64"))


def shuffled(net: Net, x: str) -> str:
    wide = net.random_conv(x, WIDTH, 4 * WIDTH, 1)
    return net.add("DepthToSpace", wide, blocksize=2, mode="CRD")


def norm(net: Net, x: str, **attributes: Any) -> str:
    numbers = ([1.0, 0.5, 2.0, 1.5], [0.1, -0.2, 0.0, 0.3], [0.2, 0.1, -0.3, 0.0], [1.0, 2.0] * 2)
    return net.add("BatchNormalization", x, *map(net.constant, numbers), **attributes)


def norm_training(net: Net, x: str) -> str:
    if net.opset >= 14:
        return norm(net, x, training_mode=1, outputs=3)
    return norm(net, x, outputs=5)


def dropout(net: Net, x: str, train: bool) -> str:
    return net.add("Dropout", x, net.constant(0.5), net.constant(train, "bool"))


def instance_norm(net: Net, x: str) -> str:
    ones, zeros = net.constant(np.ones(WIDTH)), net.constant(np.zeros(WIDTH))
    return net.add("InstanceNormalization", x, ones, zeros)


def custom(net: Net, x: str) -> str:
    last = net.add("Swirl", x)
    net.nodes[-1].domain = "my.lab"
    return last


def softmax(net: Net, x: str) -> str:
    """Over classes, also before operator set 13."""
    if net.opset >= 13:
        return net.add("Softmax", x, axis=1)
    last = net.add("Transpose", x, perm=[0, 2, 3, 1])
    return net.add("Transpose", net.add("Softmax", last, axis=3), perm=[0, 3, 1, 2])


def softmax_at_one(net: Net, x: str) -> str:
    """Write axis 1 as the exporter would today; before operator set 13 that means all pixels."""
    return net.add("Softmax", x, axis=1)


def softmax_twice(net: Net, x: str) -> str:
    return softmax(net, softmax(net, x))
