"""Files whose last axis is as long as a list of colours."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from napari_onnxseg.arrays.files import read_image, read_labels, write_image, write_labels


@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif", "a.npy"])
@pytest.mark.parametrize("last", [3, 4])
@pytest.mark.parametrize("writer", [write_labels, write_image])
def test_a_cube_of_three_or_four_columns_is_never_written_as_colour(
    tmp_path, name, last, writer
):  # B006
    cube = np.random.default_rng(1).integers(0, 256, (20, 64, last), dtype=np.uint8)
    writer(tmp_path / name, cube)
    for read in (read_image, read_labels):
        image = read(tmp_path / name)
        assert not image.rgb
        np.testing.assert_array_equal(image.data, cube)
    if "tif" in name:
        with tifffile.TiffFile(tmp_path / name) as file:
            assert file.pages[0].photometric == tifffile.PHOTOMETRIC.MINISBLACK
            assert len(file.pages) == 20
