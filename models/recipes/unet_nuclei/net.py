"""A small U-Net with plain convolutions, so that tiles can be exact."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

WIDTHS = (16, 32, 64, 112, 144)
DECODER_CONVS = (2, 2, 1, 1)
CLASSES = 3
STATISTICS_MOMENTUM = 0.01


def conv_block(inputs: int, outputs: int, count: int) -> nn.Sequential:
    """Return ``count`` times convolution 3x3, batch normalisation, ReLU."""
    layers: list[nn.Module] = []
    for index in range(count):
        layers += [
            nn.Conv2d(inputs if index == 0 else outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs, momentum=STATISTICS_MOMENTUM),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)


class NucleusUNet(nn.Module):
    """U-Net of Ronneberger et al. (2015) with zero padding and four poolings.

    The finer levels of the decoder have two convolutions, the coarser ones one:
    this keeps the receptive radius under 100 pixels. Height and width must be
    multiples of 16.
    """

    def __init__(self) -> None:
        super().__init__()
        inputs = (3, *WIDTHS[:-1])
        self.encoder = nn.ModuleList(
            conv_block(a, b, 2) for a, b in zip(inputs, WIDTHS, strict=True)
        )
        self.pool = nn.MaxPool2d(2)
        pairs = list(itertools.pairwise(WIDTHS))
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairs)
        self.decoder = nn.ModuleList(
            conv_block(2 * a, a, n) for (a, _), n in zip(pairs, DECODER_CONVS, strict=True)
        )
        self.head = nn.Conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Return logits (N, 3, Y, X) for a normalised image (N, 3, Y, X)."""
        skips: list[Tensor] = []
        x = self.encoder[0](image)
        for block in self.encoder[1:]:
            skips.append(x)
            x = block(self.pool(x))
        for level in reversed(range(len(skips))):
            x = torch.cat((skips[level], self.enlarge[level](x)), dim=1)
            x = self.decoder[level](x)
        return self.head(x)
