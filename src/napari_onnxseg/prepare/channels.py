"""Which image channel feeds which model channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from napari_onnxseg.errors import ImageError

ColourOrder = Literal["RGB", "BGR"]

REC_601 = (0.299, 0.587, 0.114)
"""Luminance weights of red, green and blue (ITU-R BT.601)."""

_COLOURS = {"RGB": "red, green, blue", "BGR": "blue, green, red"}


@dataclass(frozen=True, slots=True)
class ChannelMap:
    """How image channels become model channels.

    Parameters
    ----------
    picks : tuple of int
        Image channel of each model channel; with ``weights``, the channels that are mixed.
    weights : tuple of float or None
        Weight of each pick when they are mixed into one model channel.
    alpha : int or None
        Image channel that is opacity, never fed to the network.
    words : str
        The rule for people, such as ``"grey copied to red, green, blue"``.
    """

    picks: tuple[int, ...]
    weights: tuple[float, ...] | None
    alpha: int | None
    words: str

    @property
    def model_channels(self) -> int:
        """Channels the network is fed."""
        return len(self.picks) if self.weights is None else 1

    @property
    def used(self) -> tuple[int, ...]:
        """Image channels that the network sees, each once, ascending."""
        return tuple(sorted(set(self.picks)))


def map_channels(
    image_channels: int,
    model_channels: int,
    *,
    rgb: bool = False,
    order: ColourOrder = "RGB",
    chosen: Sequence[int] | None = None,
) -> ChannelMap:
    """Decide which image channel feeds which model channel.

    Equal counts go one to one; grey is copied to three; the alpha of an RGB image is set
    aside; RGB becomes one channel by Rec. 601 luminance. Colour is never guessed from the
    number of channels.

    Parameters
    ----------
    image_channels : int
        Channels of the image, alpha included.
    model_channels : int
        Channels of the model's input.
    rgb : bool
        Whether the image channels are red, green, blue (and alpha).
    order : {"RGB", "BGR"}
        Colour order at the input of the model.
    chosen : sequence of int, optional
        Image channel of each model channel, which overrides the rules; negative numbers
        count from the end.

    Returns
    -------
    ChannelMap
        The map, with the rule in words.

    Raises
    ------
    ImageError
        When the counts do not go together or ``chosen`` does not fit.
    """
    alpha = 3 if rgb and image_channels == 4 and model_channels != 4 else None
    if chosen is not None:
        return _chosen(image_channels, model_channels, chosen, alpha)
    colours = image_channels - (alpha is not None)
    if colours == model_channels:
        return _one_to_one(colours, rgb, order, alpha)
    if colours == 1 and model_channels == 3:
        return ChannelMap((0, 0, 0), None, alpha, f"grey copied to {_COLOURS[order]}")
    if rgb and colours == 3 and model_channels == 1:
        return ChannelMap((0, 1, 2), REC_601, alpha, "red, green, blue mixed to grey (Rec. 601)")
    raise ImageError(_mismatch(image_channels, model_channels, rgb))


def _one_to_one(count: int, rgb: bool, order: ColourOrder, alpha: int | None) -> ChannelMap:
    """Feed each channel as it is, turned round for a BGR model."""
    aside = ", alpha set aside" if alpha is not None else ""
    if order == "BGR" and (count == 3 or (rgb and count == 4)):
        picks = (2, 1, 0, *range(3, count))
        return ChannelMap(picks, None, alpha, f"channels turned to blue, green, red{aside}")
    if rgb and count >= 3:
        return ChannelMap(tuple(range(count)), None, alpha, f"red, green, blue as they are{aside}")
    words = "one channel as it is" if count == 1 else f"{count} channels in their order"
    return ChannelMap(tuple(range(count)), None, alpha, words)


def _chosen(
    image_channels: int, model_channels: int, chosen: Sequence[int], alpha: int | None
) -> ChannelMap:
    """Check the user's own choice."""
    if len(chosen) != model_channels:
        raise ImageError(
            f"The model takes {model_channels} channel(s), but {len(chosen)} were chosen "
            f"({_listed(chosen)}); name one image channel for each."
        )
    wrong = [c for c in chosen if not -image_channels <= c < image_channels]
    if wrong:
        raise ImageError(
            f"Channel {wrong[0]} was chosen, but the image has {image_channels} channel(s); "
            f"choose from 0 to {image_channels - 1}."
        )
    picks = tuple(int(c) % image_channels for c in chosen)
    return ChannelMap(picks, None, None if alpha in picks else alpha, f"channels {_listed(picks)}")


def _listed(channels: Sequence[int]) -> str:
    """Channel numbers for people."""
    return ", ".join(str(c) for c in channels)


def _mismatch(image_channels: int, model_channels: int, rgb: bool) -> str:
    """Explain why the counts do not go together."""
    kind = "an RGB image of" if rgb else "an image of"
    return (
        f"The model takes {model_channels} channel(s), but was given {kind} {image_channels} "
        "channel(s); choose which image channel feeds each model channel, or name the "
        "channel axis of the image."
    )
