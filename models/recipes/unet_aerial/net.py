"""The network: a U-Net at half the resolution of the picture."""

from __future__ import annotations

from torch import Tensor, nn
from unet import STATISTICS_MOMENTUM, PlainUNet

from .data import NAMES

STEM = 24
WIDTHS = (24, 48, 80, 96, 128)
DECODER_CONVS = (2, 2, 2, 1)


class AerialUNet(PlainUNet):
    """U-Net with four poolings between a convolution that halves and one that doubles.

    Outlines in the annotation are coarse, while a house, a garden and a parking lot
    are told apart by what lies around: so pixels are spent on looking far. Height and
    width must be multiples of 32.
    """

    def __init__(self) -> None:
        super().__init__(STEM, WIDTHS, DECODER_CONVS)
        self.stem = nn.Sequential(
            nn.Conv2d(3, STEM, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(STEM, momentum=STATISTICS_MOMENTUM),
            nn.ReLU(inplace=True),
        )
        self.head = nn.ConvTranspose2d(WIDTHS[0], len(NAMES), 2, stride=2)

    def forward(self, image: Tensor) -> Tensor:
        """Return logits (N, 5, Y, X) for a normalised image (N, 3, Y, X)."""
        return self.head(self.features(self.stem(image)))
