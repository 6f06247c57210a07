"""Fold the batch normalisations and write ``unet-nuclei.onnx``.

Run from ``models/recipes``::

    python -m unet_nuclei.export checkpoint.pt ../unet-nuclei.onnx
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path

import torch
from onnx_export import export_plain, write_model
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from .net import NucleusUNet

FREE_AXES = {0: "batch", 2: "height", 3: "width"}


def load_network(checkpoint: Path) -> NucleusUNet:
    """Return the trained network in evaluation mode."""
    net = NucleusUNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    return net.eval().to(memory_format=torch.contiguous_format)


def fold(net: NucleusUNet) -> nn.Module:
    """Return a copy whose convolutions contain the batch normalisations."""
    folded = copy.deepcopy(net)
    for block in (*folded.encoder, *folded.decoder):
        for index, layer in enumerate(block):
            if isinstance(layer, nn.BatchNorm2d):
                block[index - 1] = fuse_conv_bn_eval(block[index - 1], layer)
                block[index] = nn.Identity()
    return folded


def main() -> None:
    """Export the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    net = fold(load_network(arguments.checkpoint))
    model = export_plain(net, torch.zeros(2, 3, 64, 96), FREE_AXES, ("image", "logits"))
    print(write_model(model, arguments.output))


if __name__ == "__main__":
    main()
