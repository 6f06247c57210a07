"""A small U-Net with plain convolutions, so that tiles can be exact."""

from __future__ import annotations

from torch import Tensor, nn
from unet import PlainUNet

WIDTHS = (16, 32, 64, 112, 144)
DECODER_CONVS = (2, 2, 1, 1)
CLASSES = 3


class NucleusUNet(PlainUNet):
    """U-Net of Ronneberger et al. (2015) with zero padding and four poolings.

    The finer levels of the decoder have two convolutions, the coarser ones one:
    this keeps the receptive radius under 100 pixels. Height and width must be
    multiples of 16.
    """

    def __init__(self) -> None:
        super().__init__(3, WIDTHS, DECODER_CONVS)
        self.head = nn.Conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Return logits (N, 3, Y, X) for a normalised image (N, 3, Y, X)."""
        return self.head(self.features(image))
