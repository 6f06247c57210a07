"""Make ``u2netp.onnx``: the published U²-Net (small) with one output and a free batch.

Run from ``models/recipes``::

    python u2netp.py PUBLISHED.onnx .. --photographs FILE FOLDER --masks FOLDER

The architecture is written here from the paper; the numbers are those of the
published file (Apache-2.0), whose batch normalisations are folded already.

References
----------
Qin, Zhang, Huang, Dehghan, Zaiane, Jagersand: U²-Net: Going deeper with nested
U-structure for salient object detection. Pattern Recognition 106 (2020) 107404.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from onnx_export import count_operators, export_plain, write_json, write_model
from torch import Tensor, nn
from u2netp_proof import (
    batch_difference,
    choose_photographs,
    largest_differences,
    mask_scores,
    time_ratio,
)

SIDE = 320
MIDDLE, WIDE = 16, 64
ENCODER = (("pooled", 7), ("pooled", 6), ("pooled", 5), ("pooled", 4), ("dilated", 4))
TOLERANCE = 1e-4
PHOTOGRAPHS = 10


class Unit(nn.Module):
    """A residual U-block: a small U-Net whose input is added to its output.

    Parameters
    ----------
    inputs
        Channels of the input.
    levels
        Number of convolutions on the way down.
    kind
        ``"pooled"`` halves the image between levels; ``"dilated"`` keeps its size
        and doubles the dilation instead.
    """

    def __init__(self, inputs: int, levels: int, kind: str) -> None:
        super().__init__()
        self.pooled = kind == "pooled"
        rates = [1] * (levels - 1) + [2] if self.pooled else [2**i for i in range(levels)]
        self.first = conv(inputs, WIDE)
        self.down = nn.ModuleList(
            conv(WIDE if i == 0 else MIDDLE, MIDDLE, rate) for i, rate in enumerate(rates)
        )
        self.up = nn.ModuleList(
            conv(2 * MIDDLE, WIDE if i == 0 else MIDDLE, rates[i])
            for i in reversed(range(levels - 1))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 64, Y, X) for (N, inputs, Y, X)."""
        start = F.relu(self.first(x))
        skips: list[Tensor] = []
        x = start
        deepest = len(self.down) - 1
        for level, layer in enumerate(self.down):
            if self.pooled and 0 < level < deepest:
                x = halve(x)
            x = F.relu(layer(x))
            skips.append(x)
        skips.pop()
        for number, layer in enumerate(self.up):
            if self.pooled and number > 0:
                x = enlarge(x, 2)
            x = F.relu(layer(torch.cat((x, skips.pop()), dim=1)))
        return x + start


class SmallU2Net(nn.Module):
    """U²-Net in its small form: six blocks down, five up, six side maps fused."""

    def __init__(self) -> None:
        super().__init__()
        kinds = (*ENCODER, ENCODER[-1])
        self.encoder = nn.ModuleList(
            Unit(3 if i == 0 else WIDE, levels, kind) for i, (kind, levels) in enumerate(kinds)
        )
        self.decoder = nn.ModuleList(
            Unit(2 * WIDE, levels, kind) for kind, levels in reversed(ENCODER)
        )
        self.sides = nn.ModuleList(conv(WIDE, 1) for _ in kinds)
        self.fuse = nn.Conv2d(len(kinds), 1, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Return the fused saliency (N, 1, 320, 320), from 0 to 1."""
        x = self.encoder[0](image)
        skips: list[Tensor] = []
        for unit in self.encoder[1:]:
            skips.append(x)
            x = unit(halve(x))
        maps = [x]
        for unit in self.decoder:
            x = unit(torch.cat((enlarge(x, 2), skips.pop()), dim=1))
            maps.insert(0, x)
        sides = [
            layer(x) if i == 0 else enlarge(layer(x), 2**i)
            for i, (layer, x) in enumerate(zip(self.sides, maps, strict=True))
        ]
        return torch.sigmoid(self.fuse(torch.cat(sides, dim=1)))


def conv(inputs: int, outputs: int, rate: int = 1) -> nn.Conv2d:
    """Return a 3x3 convolution that keeps the size."""
    return nn.Conv2d(inputs, outputs, 3, padding=rate, dilation=rate)


def halve(x: Tensor) -> Tensor:
    """Return the maxima of squares of two by two pixels."""
    return F.max_pool2d(x, 2)


def enlarge(x: Tensor, factor: int) -> Tensor:
    """Enlarge bilinearly, pixel centres at half integers."""
    return F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=False)


def load_numbers(net: SmallU2Net, published: Path) -> None:
    """Fill the network with the convolutions of the published file, in order.

    Parameters
    ----------
    net
        Changed in place; its convolutions are registered in the order in which
        they are computed.
    published
        The published ONNX file.
    """
    graph = onnx.load(published).graph
    numbers = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    sources = [node for node in graph.node if node.op_type == "Conv"]
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d)]
    if len(sources) != len(layers):
        raise ValueError(f"Expected {len(layers)} convolutions, '{published}' has {len(sources)}.")
    with torch.no_grad():
        for node, layer in zip(sources, layers, strict=True):
            dilation = next(tuple(a.ints) for a in node.attribute if a.name == "dilations")
            if dilation != layer.dilation:
                raise ValueError(f"{node.name} has dilation {dilation}, not {layer.dilation}.")
            layer.weight.copy_(torch.from_numpy(numbers[node.input[1]].copy()))
            layer.bias.copy_(torch.from_numpy(numbers[node.input[2]].copy()))


def report(ours: Path, published: Path, photographs: list[Path], masks: Path) -> dict[str, Any]:
    """Measure everything the report states.

    Parameters
    ----------
    ours, published
        The two ONNX files.
    photographs
        The images of the comparison.
    masks
        A folder with ``images/`` and ``labels/``.

    Returns
    -------
    dict
        Figures, ready for JSON.
    """
    differences = largest_differences(ours, published, photographs)
    return {
        "model": "u2netp",
        "bytes": ours.stat().st_size,
        "operators": count_operators(onnx.load(ours)),
        "largest_difference_to_published": max(differences.values()),
        "difference_by_photograph": differences,
        "largest_difference_batch_of_3_to_single": batch_difference(ours, photographs),
        "time_1_thread": time_ratio(ours, published, photographs[0]),
        "masks": mask_scores(ours, masks),
        "onnxruntime": ort.__version__,
    }


def card(sha256: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Return the model card."""
    return {
        "format": 1,
        "name": "u2netp",
        "title": "Salient object (U²-Net small)",
        "description": (
            "Cuts out the one object that stands out in a photograph: products, people, animals, "
            "things on a plain or natural ground. Looks at the whole picture at 320 x 320, so "
            "hair and other fine detail need refinement; not for microscopy, aerial images or "
            "scenes without a main object."
        ),
        "task": "matting",
        "licence": "Apache-2.0",
        "origin": (
            "Trained and published by Qin et al. (U²-Net, Pattern Recognition 106, 2020, 107404; "
            "github.com/xuebinqin/U-2-Net) on DUTS-TR; re-exported by us with the fused output only"
        ),
        "sha256": sha256,
        "input": {
            "colour_order": "RGB",
            "normalization": {
                "method": "mean_std",
                "scale": 255,
                "mean": [0.485, 0.456, 0.406],
                "std": [0.229, 0.224, 0.225],
            },
        },
        "output": {"scores": "probabilities"},
        "metrics": {
            "largest_difference_to_published": figures["largest_difference_to_published"],
            "product_photographs": figures["masks"],
        },
    }


def main() -> None:
    """Convert, prove and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("published", type=Path, help="the published u2netp ONNX file")
    parser.add_argument("models", type=Path, help="folder for u2netp.onnx, .json and reports/")
    parser.add_argument(
        "--photographs", type=Path, nargs="+", required=True, help="files or folders"
    )
    parser.add_argument("--masks", type=Path, required=True, help="folder: images/, labels/")
    arguments = parser.parse_args()
    net = SmallU2Net()
    load_numbers(net, arguments.published)
    model = export_plain(net, torch.zeros(2, 3, SIDE, SIDE), {0: "batch"}, ("image", "alpha"))
    path = arguments.models / "u2netp.onnx"
    sha256 = write_model(model, path)
    photographs = choose_photographs(arguments.photographs, PHOTOGRAPHS)
    figures = report(path, arguments.published, photographs, arguments.masks)
    if figures["largest_difference_to_published"] >= TOLERANCE:
        raise ValueError(f"The export differs from the published file: {figures}.")
    write_json(figures | {"sha256": sha256}, arguments.models / "reports" / "u2netp.json")
    write_json(card(sha256, figures), path.with_suffix(".json"))
    print(figures)


if __name__ == "__main__":
    main()
