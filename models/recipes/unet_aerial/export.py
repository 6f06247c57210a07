"""Fold the batch normalisations, add class 0 and write ``unet-aerial.onnx``.

Run from ``models/recipes``::

    python -m unet_aerial.export checkpoint.pt ../unet-aerial.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from onnx_export import export_plain, write_model
from torch import nn
from unet import fold_normalisation

from .net import AerialUNet

FREE_AXES = {0: "batch", 2: "height", 3: "width"}
NEVER = -30.0
"""Logit of class 0, 'unlabelled': so low that no pixel is ever given to it."""


def load_network(checkpoint: Path) -> AerialUNet:
    """Return the trained network in evaluation mode."""
    net = AerialUNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    return net.eval().to(memory_format=torch.contiguous_format)


@torch.no_grad()
def with_class_zero(head: nn.ConvTranspose2d) -> nn.ConvTranspose2d:
    """Return the head with one more output in front, which is always ``NEVER``.

    In a label image 0 stands for what has no class. The classes that were learnt
    move up by one.
    """
    wider = nn.ConvTranspose2d(
        head.in_channels, head.out_channels + 1, head.kernel_size, head.stride
    )
    wider.weight.zero_()
    wider.weight[:, 1:] = head.weight
    wider.bias.fill_(NEVER)
    wider.bias[1:] = head.bias
    return wider


def main() -> None:
    """Export the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    net = fold_normalisation(load_network(arguments.checkpoint))
    net.head = with_class_zero(net.head)
    model = export_plain(net, torch.zeros(2, 3, 128, 192), FREE_AXES, ("image", "logits"))
    print(write_model(model, arguments.output))


if __name__ == "__main__":
    main()
