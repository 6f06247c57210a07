import dask.array as da
import numpy as np
import pytest
import zarr

from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.pipeline.fingerprint import SAMPLES, SIDE_PX, fingerprint

IMAGE = np.random.default_rng(5).integers(0, 4000, (3, 700, 900)).astype(np.uint16)


def test_the_same_values_have_one_fingerprint_wherever_they_lie():
    stored = zarr.array(IMAGE, chunks=(1, 256, 256))
    kinds = [IMAGE, np.asfortranarray(IMAGE), da.from_array(IMAGE, chunks=(2, 300, 300)), stored]
    assert len({fingerprint(as_stack(data)) for data in kinds}) == 1


@pytest.mark.parametrize(
    "other",
    [
        as_stack(IMAGE.astype(np.int32)),
        as_stack(IMAGE[:, :-1]),
        as_stack(IMAGE + 1),
        as_stack(IMAGE, channel_axis=0),
    ],
)
def test_another_image_has_another(other):
    assert fingerprint(other) != fingerprint(as_stack(IMAGE))


def test_one_pixel_of_a_small_image_counts():
    image = np.zeros((100, 90), np.float32)
    before = fingerprint(as_stack(image))
    image[57, 31] = 1e-30
    assert fingerprint(as_stack(image)) != before


def test_little_is_read_of_a_large_image():
    read = []

    class Counted:
        shape, dtype = (200_000, 300_000), np.dtype(np.uint8)

        def __getitem__(self, where):
            sides = tuple(part.stop - part.start for part in where)
            read.append(sides)
            return np.zeros(sides, np.uint8)

    fingerprint(as_stack(Counted()))
    assert len(read) == SAMPLES
    assert max(map(max, read)) == SIDE_PX
