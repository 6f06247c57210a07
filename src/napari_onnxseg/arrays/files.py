"""Image files in and results out: the door to the modules that do it."""

from napari_onnxseg.arrays.image_file import ImageFile
from napari_onnxseg.arrays.read_files import is_image, read_image, read_labels
from napari_onnxseg.arrays.write_files import (
    ResultKind,
    check_output,
    write_image,
    write_labels,
    write_rgba,
)
from napari_onnxseg.arrays.write_result import check_result, write_result

__all__ = [
    "ImageFile",
    "ResultKind",
    "check_output",
    "check_result",
    "is_image",
    "read_image",
    "read_labels",
    "write_image",
    "write_labels",
    "write_result",
    "write_rgba",
]
