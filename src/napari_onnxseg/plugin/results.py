"""From the arrays of a run to layers that are ready to be corrected."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
from napari.layers import Image, Labels, Layer
from napari.utils.colormaps import CYMRGB, MAGENTA_GREEN, DirectLabelColormap
from numpy.typing import NDArray

from napari_onnxseg.cards.card import ClassInfo
from napari_onnxseg.pipeline.heads import channel_names
from napari_onnxseg.pipeline.job import HeadResult, MatteResult, SegmentResult
from napari_onnxseg.plugin.layers import Placement, run_record

NEW_CLASS_COLOUR = "#f0f0f0"
"""What a class that the model does not know looks like, once somebody paints it."""

OPACITY = 0.5
"""Of classes and objects: the image shows through, so that both can be compared."""


def segment_layers(result: SegmentResult, placement: Placement) -> list[Layer]:
    """Make the layers that show the results of a run, the lowest first.

    Parameters
    ----------
    result : SegmentResult
        Arrays and card.
    placement : Placement
        Where they belong.

    Returns
    -------
    list of napari.layers.Layer
        Images of values, one a channel; then of each output with classes its confidence
        (hidden), its classes, its objects. What would cover the same pixels as an earlier
        output is hidden: the classes below objects, and a second image or label map.
    """
    images, labels = (
        [found for found in result.heads if (found.image is not None) is is_image]
        for is_image in (True, False)
    )
    layers: list[Layer] = []
    for number, found in enumerate(images):
        layers += _value_layers(found, result, placement, visible=number == 0)
    for number, found in enumerate(labels):
        layers += _label_layers(found, result, placement, visible=number == 0)
    return layers


def matte_layers(result: MatteResult, placement: Placement) -> list[Layer]:
    """Layer that shows a subject without its background.

    Parameters
    ----------
    result : MatteResult
        RGBA and card.
    placement : Placement
        Where it belongs.

    Returns
    -------
    list of napari.layers.Layer
        One RGBA image.
    """
    rgba = placement.fit(result.rgba, trailing=1)
    return [Image(rgba, rgb=True, **_common("cut-out", result, placement))]


def class_colours(classes: Sequence[ClassInfo]) -> DirectLabelColormap:
    """Colour table of the classes of a model.

    Parameters
    ----------
    classes : sequence of ClassInfo
        Those of the card.

    Returns
    -------
    napari.utils.colormaps.DirectLabelColormap
        Background and classes without a colour are transparent; classes that somebody
        adds by hand are light grey.
    """
    colours: dict[int | None, str] = {c.id: c.colour or "transparent" for c in classes}
    return DirectLabelColormap(color_dict={**colours, None: NEW_CLASS_COLOUR, 0: "transparent"})


def class_names(classes: Sequence[ClassInfo]) -> dict[str, list[Any]]:
    """Return features of a Labels layer that give the name under the pointer.

    Parameters
    ----------
    classes : sequence of ClassInfo
        Those of the card.

    Returns
    -------
    dict
        Columns ``index`` and ``class``.
    """
    return {"index": [c.id for c in classes], "class": [c.name for c in classes]}


def let_labels_grow(layer: Labels) -> None:
    """Give a Labels layer room for new classes before its integers run out.

    Selecting the largest label that fits widens uint8 to uint16 and uint16 to uint32
    once, so that the next label can be added; that doubles the memory of the layer.

    Parameters
    ----------
    layer : napari.layers.Labels
        Backed by a numpy array of an unsigned type.
    """
    layer.events.selected_label.connect(_widen_when_full)


def insert_above(viewer: Any, source: Layer | None, layers: Sequence[Layer]) -> bool:
    """Insert layers above their source and its earlier results; keep the selection.

    Parameters
    ----------
    viewer : napari.components.ViewerModel
        Where they go.
    source : napari.layers.Layer or None
        What they were made from; None, or a layer that is gone, puts them on top.
    layers : sequence of napari.layers.Layer
        The lowest first.

    Returns
    -------
    bool
        Whether the source was still there.
    """
    present = source is not None and source in viewer.layers
    position = _above(viewer, source) if present else len(viewer.layers)
    selected, active = set(viewer.layers.selection), viewer.layers.selection.active
    for number, layer in enumerate(layers):
        viewer.layers.insert(position + number, layer)
    if selected:
        viewer.layers.selection = selected
        viewer.layers.selection.active = active or viewer.layers.selection.active
    return present


def _above(viewer: Any, source: Layer) -> int:
    """Return the first position above a layer and the results of ours that lie on it."""
    position = viewer.layers.index(source) + 1
    for layer in viewer.layers[position:]:
        record = layer.metadata.get("onnxseg", {})
        if record.get("layer", {}).get("source") != source.name:
            break
        position += 1
    return position


def _label_layers(
    found: HeadResult, result: SegmentResult, placement: Placement, *, visible: bool
) -> list[Layer]:
    """Confidence, classes and objects of one output."""
    layers: list[Layer] = []
    named = f"{found.name} " if len(result.heads) > 1 else ""
    if found.confidence is not None:
        common = _common(f"{named}confidence", result, placement)
        layers.append(_confidence_layer(found.confidence, common, placement))
    common = _common(found.name if named else "classes", result, placement)
    layers.append(_class_layer(found, common, placement))
    layers[-1].visible = visible and found.objects is None
    if found.objects is not None:
        common = _common(f"{named}objects", result, placement)
        objects = placement.fit(found.objects)
        layers.append(Labels(objects, opacity=OPACITY, visible=visible, **common))
    return layers


def _class_layer(found: HeadResult, common: dict[str, Any], placement: Placement) -> Labels:
    """Labels layer of the classes, writable, in the colours of the card."""
    assert found.labels is not None
    layer = Labels(
        _with_room(placement.fit(found.labels)),
        colormap=class_colours(found.head.classes),
        features=class_names(found.head.classes),
        opacity=OPACITY,
        **common,
    )
    let_labels_grow(layer)
    return layer


def _confidence_layer(
    confidence: NDArray[Any], common: dict[str, Any], placement: Placement
) -> Image:
    """Hidden grey image of the confidence."""
    return Image(
        placement.fit(confidence),
        rgb=False,
        contrast_limits=(0, 255),
        colormap="viridis",
        visible=False,
        **common,
    )


def _value_layers(
    found: HeadResult, result: SegmentResult, placement: Placement, *, visible: bool
) -> list[Layer]:
    """Image layers of the values of one output, one a channel; together they cover the image."""
    assert found.image is not None
    count = len(found.limits)
    colours = _channel_colours(count)
    layers: list[Layer] = []
    for number, word in enumerate(_channel_words(found, several=len(result.heads) > 1)):
        plane = found.image if count == 1 else found.image[..., number, :, :]
        layers.append(
            Image(
                placement.fit(plane),
                rgb=False,
                colormap=colours[number],
                contrast_limits=_contrast(*found.limits[number]),
                blending="additive" if number else "translucent_no_depth",
                visible=visible,
                **_common(word, result, placement),
            )
        )
    return layers


def _channel_words(found: HeadResult, *, several: bool) -> list[str]:
    """Name the channels of an image output."""
    head, names = found.head, channel_names(found.head, len(found.limits))
    named = head.name if several or head.name != head.output.name else ""
    if not names:
        return [named or (head.channels[0] if head.channels else "values")]
    return [f"{named} {name}".strip() for name in names]


def _channel_colours(count: int) -> list[str]:
    """Return napari's usual colours of so many channels."""
    if count == 1:
        return ["gray"]
    return list(MAGENTA_GREEN) if count == 2 else list(islice(cycle(CYMRGB), count))


def _contrast(low: float, high: float) -> tuple[float, float]:
    """Return limits that differ, as the viewer needs them."""
    return (low, high) if low < high else (low, low + max(1.0, abs(low)))


def _common(word: str, result: SegmentResult | MatteResult, placement: Placement) -> dict[str, Any]:
    """Arguments that every result layer has: name, place and record."""
    return {
        "name": placement.name(word),
        "metadata": run_record(result.record, placement, word),
        **placement.transform().arguments(),
    }


def _with_room(labels: NDArray[Any]) -> NDArray[Any]:
    """Widen at once when the largest label of the type is in use already."""
    return _wider(labels) if labels.max(initial=0) == np.iinfo(labels.dtype).max else labels


def _wider(labels: NDArray[Any]) -> NDArray[Any]:
    """Copy to the next unsigned type."""
    return labels.astype(np.dtype(f"u{2 * labels.dtype.itemsize}"))


def _widen_when_full(event: Any) -> None:
    """Widen the data of a layer whose largest label has just been selected."""
    layer: Labels = event.source
    if layer.dtype.itemsize < 4 and layer.selected_label == np.iinfo(layer.dtype).max:
        layer.data = _wider(np.asarray(layer.data))
