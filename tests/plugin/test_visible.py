"""The part of a layer on the canvas, however the layer lies and whatever the viewer shows."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from views import camera_of, set_canvas_size

from napari_onnxseg.errors import ImageError
from napari_onnxseg.plugin.visible import visible_part

MANY = 10**9


@pytest.fixture
def viewer() -> ViewerModel:
    viewer = ViewerModel()
    set_canvas_size(viewer, (80, 120))
    return viewer


def look(viewer: ViewerModel, at: tuple[float, float], zoom: float = 1.0) -> None:
    camera_of(viewer).center = (0, *at)
    camera_of(viewer).zoom = zoom


def sides(part) -> list[tuple[int, int]]:
    return [(side.start, side.stop) for side in part.box]


def test_the_canvas_is_cut_out_of_a_plain_layer(viewer):
    layer = viewer.add_image(np.zeros((500, 600)))
    look(viewer, (100, 200), zoom=2)
    part = visible_part(layer, viewer, channel_axis=None, limit_px=MANY)
    assert sides(part) == [(80, 121), (170, 231)]
    assert part.source.transform.translate.tolist() == [80, 170]


def test_what_lies_outside_the_layer_is_left_out(viewer):
    layer = viewer.add_image(np.zeros((50, 60)))
    look(viewer, (0, 0))
    assert sides(visible_part(layer, viewer, channel_axis=None, limit_px=MANY)) == [
        (0, 41),
        (0, 60),
    ]


def test_scale_and_place_count(viewer):
    layer = viewer.add_image(np.zeros((500, 600)), scale=(2, 4), translate=(10, 20))
    look(viewer, (210, 420))
    part = visible_part(layer, viewer, channel_axis=None, limit_px=MANY)
    assert sides(part) == [(80, 121), (85, 116)]
    assert part.source.transform.translate.tolist() == [10 + 2 * 80, 20 + 4 * 85]


def test_units_count(viewer):
    viewer.add_image(np.zeros((500, 600)), units=("um", "um"))
    layer = viewer.add_image(np.zeros((500, 600)), units=("mm", "mm"), scale=(0.001, 0.001))
    assert [str(unit) for unit in viewer.layers.units] == ["micrometer", "micrometer"]
    look(viewer, (100, 200), zoom=2)
    part = visible_part(layer, viewer, channel_axis=None, limit_px=MANY)
    assert np.abs(np.subtract(sides(part), [(80, 121), (170, 231)])).max() <= 1


@pytest.mark.parametrize("angle", [30, 90, 200])
def test_every_pixel_on_the_canvas_is_in_the_part_of_a_turned_layer(viewer, angle):
    layer = viewer.add_image(np.zeros((400, 400)), rotate=angle, scale=(1, 2))
    middle = layer.data_to_world((200, 200))
    look(viewer, middle)
    rows, columns = sides(visible_part(layer, viewer, channel_axis=None, limit_px=MANY))
    for shift in ((-40, -60), (40, -60), (-40, 60), (40, 60), (0, 0)):
        pixel = layer.world_to_data(np.add(middle, shift))
        assert rows[0] <= round(pixel[0]) < rows[1]
        assert columns[0] <= round(pixel[1]) < columns[1]


def test_a_slice_of_a_stack_keeps_its_place_and_its_channels(viewer):
    data = np.arange(5 * 3 * 100 * 100).reshape(5, 3, 100, 100)
    layer = viewer.add_image(data, rgb=False)
    viewer.dims.set_point(0, 3)
    look(viewer, (50, 60), zoom=8)
    part = visible_part(layer, viewer, channel_axis=1, limit_px=MANY).read()
    assert sides(part) == [(3, 4), (0, 3), (45, 56), (53, 68)]
    assert np.array_equal(part.source.data, data[3:4, :, 45:56, 53:68])
    assert part.source.transform.translate.tolist() == [3, 0, 45, 53]


def test_full_resolution_is_read_of_a_pyramid(viewer):
    base = np.arange(400 * 400).reshape(400, 400)
    layer = viewer.add_image([base, base[::2, ::2]], multiscale=True)
    look(viewer, (100, 100), zoom=4)
    part = visible_part(layer, viewer, channel_axis=None, limit_px=MANY).read()
    assert np.array_equal(part.source.data, base[90:111, 85:116])


def test_the_middle_of_a_large_view_is_taken(viewer):
    layer = viewer.add_image(np.zeros((500, 600)))
    look(viewer, (250, 300))
    (top, bottom), (left, right) = sides(
        visible_part(layer, viewer, channel_axis=None, limit_px=2400)
    )
    assert (bottom - top) * (right - left) <= 2400
    assert (bottom - top) * (right - left) > 2200
    assert abs((top + bottom) / 2 - 250) <= 1
    assert abs((left + right) / 2 - 300) <= 1


def test_a_view_beside_the_layer_is_refused(viewer):
    layer = viewer.add_image(np.zeros((50, 60)), name="cells")
    look(viewer, (1000, 1000))
    with pytest.raises(ImageError, match="Nothing of 'cells' is in view"):
        visible_part(layer, viewer, channel_axis=None, limit_px=MANY)


def test_a_three_dimensional_view_is_refused(viewer):
    layer = viewer.add_image(np.zeros((4, 50, 60)))
    viewer.dims.ndisplay = 3
    with pytest.raises(ImageError, match="3-D"):
        visible_part(layer, viewer, channel_axis=None, limit_px=MANY)


def test_a_view_along_another_axis_is_refused(viewer):
    layer = viewer.add_image(np.zeros((4, 50, 60)))
    viewer.dims.order = (1, 0, 2)
    with pytest.raises(ImageError, match=r"shows the axes \(0, 2\)"):
        visible_part(layer, viewer, channel_axis=None, limit_px=MANY)
