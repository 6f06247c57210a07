"""Segment a bundled sample, cut out another, write both under ``out/``, show them in napari.

``ONNXSEG_NO_VIEWER=1`` leaves the viewer away; without a screen it is left away anyway.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage.color import label2rgb
from skimage.exposure import rescale_intensity
from skimage.segmentation import mark_boundaries
from skimage.util import img_as_ubyte

from napari_onnxseg import MatteResult, SegmentResult, matte_image, segment_image
from napari_onnxseg.arrays.files import read_image, write_labels, write_rgba
from napari_onnxseg.cards.catalog import bundled_folder

SAMPLES = bundled_folder() / "samples"
OUT = Path("out")
OPACITY = 0.4


def main() -> None:
    """Run both models and show what they found."""
    OUT.mkdir(exist_ok=True)
    nuclei = read_image(SAMPLES / "nuclei.png")
    photograph = read_image(SAMPLES / "photograph.jpg")
    segmented = segment_image(nuclei.data, "unet-nuclei", rgb=nuclei.rgb, objects=True)
    save_segmentation(nuclei.data, segmented)
    cut_out = matte_image(photograph.data, rgb=photograph.rgb)
    save_cut_out(cut_out)
    if has_screen():
        show(nuclei.data, segmented, photograph.data, cut_out)


def save_segmentation(image: NDArray[np.uint8], result: SegmentResult) -> None:
    """Write class labels, objects, and both drawn over the image."""
    colours = {info.id: info.colour for info in result.card.classes}
    names = {info.id: info.name for info in result.card.classes}
    write_labels(OUT / "nuclei-labels.png", result.labels, colours=colours, names=names)
    write_labels(OUT / "nuclei-objects.png", result.objects)
    Image.fromarray(overlay(image, result.objects)).save(OUT / "nuclei-overlay.png")
    found = f"{result.objects.max()} nuclei"
    report(
        "nuclei.png", found, result, "nuclei-labels.png", "nuclei-objects.png", "nuclei-overlay.png"
    )


def save_cut_out(result: MatteResult) -> None:
    """Write the subject on nothing."""
    write_rgba(OUT / "photograph-cutout.png", result.rgba)
    found = f"subject covers {result.rgba[..., 3].mean() / 2.55:.0f} %"
    report("photograph.jpg", found, result, "photograph-cutout.png")


def report(name: str, found: str, result: SegmentResult | MatteResult, *files: str) -> None:
    """Print one line for one result, and what the user should know."""
    written = ", ".join(str(OUT / file) for file in files)
    seconds = result.seconds["total"]
    print(f"{name}: {found}; {result.card.name} on {result.device}, {seconds:.2f} s -> {written}")
    for note in result.notes:
        print(f"  note: {note}")


def overlay(image: NDArray[np.uint8], objects: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Draw each object in a colour of its own, outlined, over a grey image."""
    bright = rescale_intensity(image, tuple(np.percentile(image, (1, 99.8))), (0.0, 1.0))
    picture = label2rgb(objects, bright, alpha=OPACITY, bg_label=0)
    return img_as_ubyte(mark_boundaries(picture, objects, color=(1, 1, 1), mode="inner"))


def has_screen() -> bool:
    """Tell whether a window can and may be opened."""
    if os.environ.get("ONNXSEG_NO_VIEWER"):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show(
    nuclei: NDArray[np.uint8],
    segmented: SegmentResult,
    photograph: NDArray[np.uint8],
    cut_out: MatteResult,
) -> None:
    """Open napari on both results, side by side."""
    import napari

    viewer = napari.Viewer(title="napari-onnxseg demo")
    beside = (0, nuclei.shape[1] + 20)
    viewer.add_image(nuclei, name="nuclei")
    viewer.add_labels(segmented.objects, name="nuclei objects")
    viewer.add_image(photograph, name="photograph", rgb=True, translate=beside, visible=False)
    viewer.add_image(cut_out.rgba, name="photograph cut-out", rgb=True, translate=beside)
    viewer.reset_view()
    napari.run()


if __name__ == "__main__":
    main()
