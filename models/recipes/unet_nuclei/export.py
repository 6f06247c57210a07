"""Fold the batch normalisations and write ``unet-nuclei.onnx``.

Run from ``models/recipes``::

    python -m unet_nuclei.export checkpoint.pt ../unet-nuclei.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from onnx_export import export_plain, write_model
from unet import fold_normalisation

from .net import NucleusUNet

FREE_AXES = {0: "batch", 2: "height", 3: "width"}


def load_network(checkpoint: Path) -> NucleusUNet:
    """Return the trained network in evaluation mode."""
    net = NucleusUNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    return net.eval().to(memory_format=torch.contiguous_format)


def main() -> None:
    """Export the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    net = fold_normalisation(load_network(arguments.checkpoint))
    model = export_plain(net, torch.zeros(2, 3, 64, 96), FREE_AXES, ("image", "logits"))
    print(write_model(model, arguments.output))


if __name__ == "__main__":
    main()
