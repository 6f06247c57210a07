import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.cli.texts import read_channels, read_index, read_normalization, read_sides
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.prepare.normalize import Normalization

SIDES = st.lists(st.integers(0, 10_000), min_size=2, max_size=3).map(tuple)


@settings(derandomize=True)
@given(SIDES)
def test_sides_are_read_as_they_are_written(sides: tuple[int, ...]) -> None:
    assert read_sides("x".join(map(str, sides))) == sides
    assert read_sides(" × ".join(map(str, sides))) == sides


def test_one_side_stands_for_every_axis() -> None:
    assert read_sides("256") == 256


@pytest.mark.parametrize("text", ["", "big", "-16", "192x", "192,320", "1.5"])
def test_sides_that_are_no_pixels_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ChoiceError, match="192x320"):
        read_sides(text)


def test_channels_are_read_in_their_order() -> None:
    assert read_channels("2,0,1") == (2, 0, 1)
    assert read_channels("-1") == (-1,)


def test_channels_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ChoiceError, match="2,0,1"):
        read_channels("red,green")


def test_planes_are_picked_by_number_or_taken_all() -> None:
    assert read_index("3,all") == (3, None)
    assert read_index(":,0") == (None, 0)


def test_planes_that_are_neither_are_refused() -> None:
    with pytest.raises(ChoiceError, match="3,all"):
        read_index("first")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("unit", Normalization("unit")),
        ("none", Normalization("none")),
        ("divide:4095", Normalization("divide", scale=4095)),
        ("percentile:1,99.8", Normalization("percentile", low=1, high=99.8)),
        (
            "percentile:1, 99.8, clip,per_channel",
            Normalization("percentile", low=1, high=99.8, clip=True, per_channel=True),
        ),
        ("min_max:per_channel", Normalization("min_max", per_channel=True)),
        ("window:-160,240", Normalization("window", low=-160, high=240)),
        (
            "mean_std:0.5,0.4,0.3/0.2,0.1,0.2",
            Normalization("mean_std", mean=(0.5, 0.4, 0.3), std=(0.2, 0.1, 0.2)),
        ),
        ("mean_std:0.5/0.25", Normalization("mean_std", mean=(0.5,), std=(0.25,))),
        (' {"method": "divide", "scale": 2}', Normalization("divide", scale=2)),
    ],
)
def test_a_normalization_is_read_from_a_short_text(text: str, meant: Normalization) -> None:
    assert read_normalization(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", "percentiles:1,99", "percentile:1", "percentile:99,1", "divide:0", "unit:3", "divide:x",
     "mean_std:1,2,3", "mean_std", "unit:clipped", "{", "[1]", '{"method": "unit", "scal": 1}'],
)  # fmt: skip
def test_a_normalization_that_cannot_be_meant_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ChoiceError, match=r"percentile:1,99\.8"):
        read_normalization(text)
