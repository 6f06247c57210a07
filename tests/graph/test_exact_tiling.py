"""The promise: tiles on the grid, with the halo, equal the whole image bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nets
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.runtime.session import OrtSession
from napari_onnxseg.tiling.plan import plan_tiles
from random_nets import random_net

MANY = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def largest_error(session, image, whole, halo, parts, rng):
    """Compare random parts on the grid, each run in its own tile, with the whole."""
    multiple, sides = session.card.geometry.multiple[0], image.shape[2:]
    worst = 0.0
    for _ in range(parts):
        grid = [np.arange(side // multiple + 1) * multiple for side in sides]
        keep = [np.sort(rng.choice(lines, 2, replace=False)) for lines in grid]
        box = [(max(0, a - halo), min(n, b + halo)) for (a, b), n in zip(keep, sides, strict=True)]
        tile = image[:, :, slice(*box[0]), slice(*box[1])]
        inner = tuple(slice(a - s, b - s) for (a, b), (s, _) in zip(keep, box, strict=True))
        outer = tuple(slice(a, b) for a, b in keep)
        error = np.abs(session.run(tile)[..., *inner] - whole[..., *outer]).max()
        worst = max(worst, float(error))
    return worst


def tried(path, seed, less=0, parts=3):
    """Return the largest error with the halo, less some multiples."""
    session = OrtSession(load_card(path), "cpu")
    geometry = session.card.geometry
    assert geometry.exact, geometry.breakers
    multiple, halo = geometry.multiple[0], geometry.halo[0]
    side = -(-max(3 * halo + 4 * multiple, 64) // multiple) * multiple
    rng = np.random.default_rng(seed)
    image = rng.random((1, 1, side, side + multiple), np.float32)
    reduced = max(0, halo - less * multiple)
    return largest_error(session, image, session.run(image), reduced, parts, rng)


@MANY
@given(seed=st.integers(0, 1 << 30))
def test_tiles_of_random_networks_equal_the_whole_image(tmp_path, seed):
    assert tried(random_net(tmp_path / f"{seed}.onnx", seed), seed) == 0


@pytest.mark.parametrize("up", ["transpose", "nearest", "linear"])
@pytest.mark.parametrize("pool", ["max", "average", "stride"])
@pytest.mark.parametrize("depth", [1, 4])
def test_tiles_of_pooling_networks_equal_the_whole_image(tmp_path, depth, pool, up):
    path = nets.unet(tmp_path / "a.onnx", depth=depth, pool=pool, up=up, dilation=1 + depth % 2)
    assert tried(path, seed=depth) == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_halo_one_multiple_smaller_is_not_enough(tmp_path, seed):
    assert tried(random_net(tmp_path / "a.onnx", seed), seed, less=1, parts=40) > 0


def test_tiles_off_the_grid_differ_however_wide_the_halo(tmp_path):
    session = OrtSession(load_card(nets.unet(tmp_path / "a.onnx", depth=2)), "cpu")
    image = np.random.default_rng(5).random((1, 1, 160, 160), np.float32)
    shifted = session.run(image[:, :, 1:157])[:, :, 63:]
    assert np.abs(shifted[:, :, :32] - session.run(image)[:, :, 64:96]).max() > 0


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_tiles_of_networks_without_padding_equal_the_whole_image(tmp_path, depth):
    session = OrtSession(load_card(nets.unpadded_unet(tmp_path / "a.onnx", depth=depth)), "cpu")
    geometry = session.card.geometry
    shrink, halo, multiple = geometry.shrink[0], geometry.halo[0], geometry.multiple[0]
    tile = session.card.input.sides[0] or 2 * halo + 8 * multiple
    plan = plan_tiles((600, 170), tile=tile, halo=halo, multiple=multiple, shrink=shrink)
    seen = [side + 2 * shrink for side in plan.padded]
    image = np.random.default_rng(depth).random((1, 1, *seen), np.float32)
    whole = session.run(image)
    assert whole.shape[2:] == plan.padded
    assert len(plan) > 1
    for one in plan:
        tile_input = image[..., *one.box.shift((shrink, shrink)).slices]
        covered = one.box.grow((-shrink, -shrink))
        kept = session.run(tile_input)[..., *one.keep.relative_to(covered).slices]
        assert np.array_equal(kept, whole[..., *one.keep.slices])


def test_a_network_without_padding_takes_the_size_it_divides_evenly(tmp_path):
    card = load_card(nets.unpadded_unet(tmp_path / "a.onnx", depth=4))
    assert card.input.sides == (524, 524)
    assert card.geometry.shrink == (92, 92)
    assert any("524" in note for note in card.notes)


def test_the_classical_unpadded_network_gives_388_for_572(tmp_path):
    path = nets.unpadded_unet(tmp_path / "a.onnx", depth=4, sides=(572, 572))
    card = load_card(path)
    assert (card.input.sides, card.geometry.shrink) == ((572, 572), (92, 92))
    assert OrtSession(card, "cpu").start().shapes((1, 1, 572, 572)) == ((1, 3, 388, 388),)
