"""Labels beside an OME-Zarr image, in its own group."""

from __future__ import annotations

from pathlib import Path

from napari_onnxseg.arrays.ngff_meaning import VERSION
from napari_onnxseg.arrays.store_folders import read_attributes, writing
from napari_onnxseg.errors import ChoiceError


def labels_beside(image: str | Path, name: str) -> Path:
    """Return where labels of an OME-Zarr image belong, and enter them in its list.

    Parameters
    ----------
    image : str or Path
        Folder of an OME-Zarr 0.5 image.
    name : str
        Of the labels; one word.

    Returns
    -------
    Path
        Folder for `PyramidSink.create`.

    Raises
    ------
    ChoiceError
        When it is no such image (0.4 cannot hold labels of format 3), or the name is a path.
    """
    import zarr

    image = Path(image)
    ome = read_attributes(image).get("ome", {})
    if not isinstance(ome, dict) or "multiscales" not in ome:
        raise ChoiceError(
            f"'{image}' is no OME-Zarr {VERSION} image, so labels cannot be put in it; write them "
            "to a place of their own."
        )
    if not name or name != Path(name).name or name.startswith("."):
        raise ChoiceError(f"Labels need a plain name, got '{name}'.")
    with writing(image):
        group = zarr.open_group(str(image), mode="r+").require_group("labels")
        listed = list(dict(group.attrs).get("ome", {}).get("labels", []))
        listed += [name] if name not in listed else []
        group.attrs["ome"] = {"version": VERSION, "labels": listed}
    return image / "labels" / name
