"""U-Nets of plain convolutions, so that tiles can be exact; shared by the recipes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

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


class PlainUNet(nn.Module):
    """The U of Ronneberger et al. (2015) with zero padding, without a head.

    Parameters
    ----------
    inputs
        Channels that come in.
    widths
        Channels of each level, the finest first; also of what comes out.
    decoder_convs
        Convolutions on each level going up, the finest first. Two go down on each.
    """

    def __init__(self, inputs: int, widths: Sequence[int], decoder_convs: Sequence[int]) -> None:
        super().__init__()
        before = (inputs, *widths[:-1])
        self.encoder = nn.ModuleList(
            conv_block(a, b, 2) for a, b in zip(before, widths, strict=True)
        )
        self.pool = nn.MaxPool2d(2)
        pairs = list(itertools.pairwise(widths))
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairs)
        self.decoder = nn.ModuleList(
            conv_block(2 * a, a, n) for (a, _), n in zip(pairs, decoder_convs, strict=True)
        )

    def features(self, x: Tensor) -> Tensor:
        """Return (N, widths[0], Y, X) for (N, inputs, Y, X)."""
        skips: list[Tensor] = []
        x = self.encoder[0](x)
        for block in self.encoder[1:]:
            skips.append(x)
            x = block(self.pool(x))
        for level in reversed(range(len(skips))):
            x = torch.cat((skips[level], self.enlarge[level](x)), dim=1)
            x = self.decoder[level](x)
        return x


def fold_normalisation(net: nn.Module) -> nn.Module:
    """Return a copy whose convolutions contain the batch normalisations.

    Parameters
    ----------
    net
        In evaluation mode; each batch normalisation follows its convolution in an
        ``nn.Sequential``.
    """
    folded = copy.deepcopy(net)
    for block in folded.modules():
        if isinstance(block, nn.Sequential):
            for index, layer in enumerate(block):
                if isinstance(layer, nn.BatchNorm2d):
                    block[index - 1] = fuse_conv_bn_eval(block[index - 1], layer)
                    block[index] = nn.Identity()
    return folded
