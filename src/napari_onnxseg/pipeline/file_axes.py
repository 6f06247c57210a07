"""What an image file says about its axes, joined with what the user said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.arrays.files import ImageFile
from napari_onnxseg.errors import ChoiceError

UNKNOWN = "Q"
"""Letter of an axis that the file does not name."""


def image_choices(choices: Mapping[str, Any], image: ImageFile) -> dict[str, Any]:
    """Fill in the meaning of the axes from the file; the user's word wins.

    Parameters
    ----------
    choices : mapping of str to object
        Fields of a job that the user chose.
    image : ImageFile
        The image as read.

    Returns
    -------
    dict of str to object
        The choices with ``rgb`` and ``channel_axis`` settled.

    Raises
    ------
    ChoiceError
        When the last axis could be colour and neither file nor user says so.
    """
    if "channel_axis" in choices:
        return {"rgb": False, **choices}
    shape = image.data.shape
    if "rgb" not in choices and UNKNOWN in image.axes and shape[2:] and shape[-1] in (3, 4):
        raise ChoiceError(
            f"The last axis of an array of shape {shape} may be colour or columns;"
            " say rgb=True or rgb=False (--rgb or --no-rgb)."
        )
    return {"rgb": image.rgb, "channel_axis": image.channel_axis, **choices}
