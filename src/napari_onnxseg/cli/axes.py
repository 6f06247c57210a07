"""What an image file says about its axes, joined with what the user said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.arrays.files import ImageFile


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
    """
    if "channel_axis" in choices:
        return {"rgb": False, **choices}
    return {"rgb": image.rgb, "channel_axis": image.channel_axis, **choices}
