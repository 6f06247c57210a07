"""Alpha mattes: finish them at the model's side, put them on the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from napari_onnxseg.decode.blocks import rows_per_block, write_bytes
from napari_onnxseg.errors import ChoiceError, ImageError
from napari_onnxseg.types import Alpha, Rgba


def finish_alpha(alpha: Alpha, *, feather_px: float = 0.0, threshold: float | None = None) -> Alpha:
    """Cut and feather an alpha matte at the model's side; never stretch it.

    Parameters
    ----------
    alpha : numpy.ndarray
        (Y, X) float32 probabilities; not changed. What is not a number counts as 0.
    feather_px : float, optional
        Standard deviation of the Gaussian that softens the edge, after the cut; 0 for none.
    threshold : float, optional
        Opaque where the probability exceeds it, else transparent; None keeps it soft.

    Returns
    -------
    numpy.ndarray
        (Y, X) float32 in [0, 1]; a flat matte stays flat.

    Raises
    ------
    ChoiceError
        When the feather is negative or the threshold outside [0, 1].
    """
    if not 0 <= feather_px < np.inf:
        raise ChoiceError(f"The feather is a width in pixels, 0 or more, got {feather_px}.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ChoiceError(f"The threshold is a probability from 0 to 1, got {threshold}.")
    finished = np.clip(np.nan_to_num(alpha, nan=0.0), 0, 1)
    if threshold is not None:
        finished = (finished > threshold).astype(np.float32)
    return _feathered(finished, feather_px) if feather_px else finished


def compose(
    colour: NDArray[np.uint8],
    alpha: Alpha,
    background: tuple[int, int, int] | None = None,
    out: Rgba | None = None,
) -> Rgba:
    """Put an alpha matte on a picture.

    Without a background the colours stay as they are (straight alpha); with one, the
    subject is blended over it and the result is opaque.

    Parameters
    ----------
    colour : numpy.ndarray
        (3, Y, X) uint8, red, green, blue.
    alpha : numpy.ndarray
        (Y, X) float32 in [0, 1].
    background : tuple of int, optional
        Red, green, blue, 0 to 255.
    out : numpy.ndarray, optional
        (Y, X, 4) uint8 to write into; made when missing.

    Returns
    -------
    numpy.ndarray
        (Y, X, 4) uint8, straight alpha.

    Raises
    ------
    ImageError
        When shapes or dtype do not fit.
    """
    out = np.empty((*alpha.shape, 4), np.uint8) if out is None else out
    if colour.shape != (3, *alpha.shape) or colour.dtype != np.uint8:
        raise ImageError(
            f"Colours of uint8 {(3, *alpha.shape)} are needed for an alpha matte of "
            f"{alpha.shape} px, got {colour.dtype} {colour.shape}."
        )
    rows = rows_per_block(alpha.shape[1])
    for top in range(0, len(alpha), rows):
        part = slice(top, top + rows)
        if background is None:
            _cut_out(colour[:, part], alpha[part], out[part])
        else:
            _blend(colour[:, part], alpha[part], background, out[part])
    return out


def _feathered(alpha: Alpha, feather_px: float) -> Alpha:
    """Return the matte under a Gaussian that repeats the edge."""
    from scipy import ndimage  # here, because it takes 0.2 s to load

    soft: Alpha = ndimage.gaussian_filter(alpha, feather_px, mode="nearest")
    return np.clip(soft, 0, 1, out=soft)


def _cut_out(colour: NDArray[np.uint8], alpha: Alpha, out: Rgba) -> None:
    """Write colours as they are and the alpha beside them."""
    for channel in range(3):
        out[..., channel] = colour[channel]
    write_bytes(alpha.astype(np.float32), out[..., 3])


def _blend(
    colour: NDArray[np.uint8], alpha: Alpha, background: tuple[int, int, int], out: Rgba
) -> None:
    """Write alpha * colour + (1 - alpha) * background, opaque."""
    opacity = np.clip(np.nan_to_num(alpha, nan=0.0), 0, 1)
    mixed = np.empty(alpha.shape, np.float32)
    for channel, behind in enumerate(background):
        np.subtract(colour[channel], np.float32(behind), out=mixed)
        np.multiply(mixed, opacity, out=mixed)
        np.add(mixed, np.float32(behind), out=mixed)
        np.copyto(out[..., channel], np.rint(mixed, out=mixed), casting="unsafe")
    out[..., 3] = 255
