"""Operations on label images: each returns an `Edit` of what its scope allows."""

from napari_onnxseg.correct.boundary import grow, shrink, smooth
from napari_onnxseg.correct.clean import (
    delete,
    delete_at,
    fill_holes,
    keep_largest,
    relabel,
    remove_small,
)
from napari_onnxseg.correct.divide import merge, split_along, split_touching
from napari_onnxseg.correct.edit import Edit, Step
from napari_onnxseg.correct.scope import Scope
from napari_onnxseg.correct.slices import copy_plane, fill_between
from napari_onnxseg.correct.snap import snap

__all__ = [
    "Edit",
    "Scope",
    "Step",
    "copy_plane",
    "delete",
    "delete_at",
    "fill_between",
    "fill_holes",
    "grow",
    "keep_largest",
    "merge",
    "relabel",
    "remove_small",
    "shrink",
    "smooth",
    "snap",
    "split_along",
    "split_touching",
]
