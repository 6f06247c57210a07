import pytest

from napari_onnxseg.errors import ImageError
from napari_onnxseg.prepare.channels import REC_601, map_channels


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_counts_go_one_to_one(count):
    found = map_channels(count, count)
    assert found.picks == tuple(range(count))
    assert (found.weights, found.alpha) == (None, None)
    assert found.model_channels == count


def test_grey_is_copied_to_three():  # B013
    found = map_channels(1, 3, order="BGR")
    assert found.picks == (0, 0, 0)
    assert found.used == (0,)
    assert found.words == "grey copied to blue, green, red"


@pytest.mark.parametrize("rgb", [True, False])
def test_a_bgr_model_gets_blue_first(rgb):
    assert map_channels(3, 3, rgb=rgb, order="BGR").picks == (2, 1, 0)
    assert map_channels(3, 3, rgb=rgb, order="RGB").picks == (0, 1, 2)


def test_alpha_is_set_aside_and_kept_as_opacity():  # B010
    found = map_channels(4, 3, rgb=True, order="BGR")
    assert (found.picks, found.alpha) == ((2, 1, 0), 3)
    assert "alpha set aside" in found.words


def test_colour_becomes_grey_by_luminance():
    for count, alpha in ((3, None), (4, 3)):
        found = map_channels(count, 1, rgb=True)
        assert (found.picks, found.weights, found.alpha) == ((0, 1, 2), REC_601, alpha)
        assert found.model_channels == 1


def test_four_channels_that_nobody_called_colour_stay_data():
    assert map_channels(4, 4, order="BGR").picks == (0, 1, 2, 3)
    assert map_channels(4, 4, rgb=True, order="BGR").picks == (2, 1, 0, 3)
    with pytest.raises(ImageError, match=r"takes 3 channel.*image of 4 channel"):
        map_channels(4, 3)


@pytest.mark.parametrize(("image", "model"), [(2, 1), (2, 3), (3, 1), (3, 2), (1, 2), (1, 4)])
def test_counts_that_do_not_go_together_are_named(image, model):  # B007
    with pytest.raises(ImageError, match=rf"takes {model} channel.*of {image} channel"):
        map_channels(image, model)


def test_the_users_choice_wins():
    assert map_channels(5, 3, chosen=(4, 0, 4)).picks == (4, 0, 4)
    assert map_channels(5, 3, chosen=(4, 0, 4)).used == (0, 4)
    assert map_channels(3, 3, order="BGR", chosen=(0, 1, 2)).picks == (0, 1, 2)
    assert map_channels(3, 1, rgb=True, chosen=(-1,)).picks == (2,)
    assert map_channels(4, 1, rgb=True, chosen=(1,)).alpha == 3
    assert map_channels(4, 1, rgb=True, chosen=(3,)).alpha is None


@pytest.mark.parametrize(
    ("chosen", "words"), [((0, 1), "2 were chosen"), ((0, 1, 5), "from 0 to 4"), ((-6, 0, 0), "-6")]
)
def test_an_impossible_choice_is_refused(chosen, words):
    with pytest.raises(ImageError, match=words):
        map_channels(5, 3, chosen=chosen)
