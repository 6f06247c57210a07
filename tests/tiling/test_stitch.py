import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import RunError
from napari_onnxseg.tiling.order import Agenda
from napari_onnxseg.tiling.plan import TilePlan, plan_tiles
from napari_onnxseg.tiling.region import Region, reflected
from napari_onnxseg.tiling.stitch import Stitcher, stitch
from napari_onnxseg.tiling.window import axis_windows

fixed = settings(derandomize=True, deadline=None, max_examples=60)


def read(image: np.ndarray, box: Region) -> np.ndarray:
    """Continue the image by reflection."""
    spans = zip(box.start, box.stop, image.shape, strict=True)
    return image[np.ix_(*(reflected(*span) for span in spans))]


def tiled(plan: TilePlan, image: np.ndarray, network) -> np.ndarray:
    """Run ``network`` (box, pixels) -> (K, ...) on each tile and put the answers together."""

    def parts():
        for tile in plan:
            scores = network(read(image, tile.box))
            inner = tile.keep.relative_to(tile.box.grow(tuple(-s for s in plan.shrink)))
            yield scores[:, *inner.slices]

    out = None
    seen = np.zeros(plan.shape, int)
    for region, block in stitch(plan, parts()):
        if out is None:
            out = np.full((len(block), *plan.shape), np.nan, np.float32)
        out[:, *region.slices] = block
        seen[region.slices] += 1
    assert (seen == 1).all()
    return out


def whole(plan: TilePlan, image: np.ndarray, network) -> np.ndarray:
    """Run ``network`` once on the padded image."""
    box = Region.of_shape(plan.padded).grow(plan.shrink)
    scores = network(read(image, box))
    return scores[:, *Region.of_shape(plan.shape).slices]


def echo(pixels):
    return np.stack([pixels, -pixels]).astype(np.float32)


@st.composite
def any_plans(draw, blend=None, ndims=(2, 3)):
    ndim = draw(st.sampled_from(ndims))
    multiple = draw(st.sampled_from([1, 2, 4]))
    halo = draw(st.integers(0, 2)) * multiple
    room = draw(st.integers(1, 5)) * multiple
    blend = draw(st.booleans()) if blend is None else blend
    overlap = draw(st.integers(0, room * 3 // 4)) if blend else 0
    extra = -(-overlap // multiple) * multiple if overlap else 0
    return plan_tiles(
        tuple(draw(st.integers(1, 40 if ndim == 2 else 16)) for _ in range(ndim)),
        tile=2 * halo + room + extra,
        halo=halo,
        overlap=overlap,
        multiple=multiple,
    )


@fixed
@given(any_plans())
def test_windows_sum_to_one_exactly_and_never_vanish(plan):
    total = np.zeros(plan.padded, np.float32)
    for place, tile in zip(np.ndindex(plan.grid), plan, strict=True):
        weight = np.ones(tile.keep.shape, np.float32)
        for axis, (windows, i) in enumerate(zip(axis_windows(plan), place, strict=True)):
            assert windows[i].dtype == np.float32
            shape = (-1, *(1,) * (len(place) - 1 - axis))
            weight *= windows[i].reshape(shape)
        assert weight.min() > 0
        total[tile.keep.slices] += weight
    assert (total == 1).all()


@fixed
@given(any_plans())
def test_ones_stay_exactly_one(plan):  # B023, B026
    image = np.ones(plan.shape, np.float32)
    np.testing.assert_array_equal(tiled(plan, image, lambda x: x[None]), image[None])


@fixed
@given(any_plans(), st.floats(-1e6, 1e6, width=32))
def test_any_constant_stays_that_constant(plan, value):
    image = np.full(plan.shape, value, np.float32)
    np.testing.assert_allclose(tiled(plan, image, lambda x: x[None]), image[None], rtol=1e-6)


@fixed
@given(any_plans(blend=False), st.integers(0, 99))
def test_cropped_tiles_of_an_echo_are_the_image_itself(plan, seed):
    image = np.random.default_rng(seed).normal(size=plan.shape).astype(np.float32)
    np.testing.assert_array_equal(tiled(plan, image, echo), echo(image))


@fixed
@given(any_plans(blend=True), st.integers(0, 99))
def test_blended_tiles_of_an_echo_are_the_image_within_rounding(plan, seed):
    image = np.random.default_rng(seed).normal(size=plan.shape).astype(np.float32)
    np.testing.assert_allclose(tiled(plan, image, echo), echo(image), rtol=1e-6, atol=1e-7)


def box_filter(radius: int):
    """Sum over a square, zeros outside: summed in one fixed order, so equal bit for bit."""

    def network(pixels):
        padded = np.pad(pixels, radius).astype(np.float32)
        total = np.zeros(pixels.shape, np.float32)
        for offset in np.ndindex(*(2 * radius + 1,) * pixels.ndim):
            total += padded[
                tuple(slice(o, o + n) for o, n in zip(offset, total.shape, strict=True))
            ]
        return total[None]

    return network


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.integers(1, 4),
    st.integers(1, 20),
    st.integers(0, 99),
)
def test_tiles_of_a_box_filter_equal_the_whole_bit_for_bit(shape, radius, room, seed):
    image = np.random.default_rng(seed).normal(size=shape)
    plan = plan_tiles(shape, tile=2 * radius + room, halo=radius)
    network = box_filter(radius)
    np.testing.assert_array_equal(tiled(plan, image, network), whole(plan, image, network))


def test_a_halo_below_the_radius_shows():
    shape = (40, 40)
    image = np.random.default_rng(3).normal(size=shape)
    plan = plan_tiles(shape, tile=16, halo=3)
    network = box_filter(4)
    assert (tiled(plan, image, network) != whole(plan, image, network)).any()


def stride_16(pixels):
    """Pool by 16, smooth with zeros outside, enlarge: depends on grid and border."""
    rows, columns = (n // 16 for n in pixels.shape)
    assert pixels.shape == (16 * rows, 16 * columns)
    pooled = pixels.reshape(rows, 16, columns, 16).max((1, 3))
    smooth = box_filter(1)(pooled)[0]
    return (np.kron(smooth, np.ones((16, 16), np.float32)) - pixels)[None].astype(np.float32)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.tuples(st.integers(1, 200), st.integers(1, 200)), st.integers(1, 3), st.integers(0, 99))
def test_tiles_of_a_stride_16_network_equal_the_whole_bit_for_bit(shape, room, seed):
    image = np.random.default_rng(seed).normal(size=shape)
    plan = plan_tiles(shape, tile=32 + 16 * room, halo=16, multiple=16)
    np.testing.assert_array_equal(tiled(plan, image, stride_16), whole(plan, image, stride_16))


def valid_stride_4(pixels):
    """Pool by 4, sum 3 x 3 without padding, enlarge; gives 4 px a side less."""
    rows, columns = (n // 4 for n in pixels.shape)
    pooled = pixels.reshape(rows, 4, columns, 4).max((1, 3))
    smooth = box_filter(1)(pooled)[0][1:-1, 1:-1]
    return np.kron(smooth, np.ones((4, 4), np.float32))[None]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.tuples(st.integers(1, 90), st.integers(1, 90)), st.integers(1, 5), st.integers(0, 99))
def test_tiles_of_a_shrinking_network_equal_the_whole_bit_for_bit(shape, room, seed):
    image = np.random.default_rng(seed).normal(size=shape)
    plan = plan_tiles(shape, tile=8 + 4 * room, halo=4, multiple=4, shrink=4)
    expected = whole(plan, image, valid_stride_4)
    np.testing.assert_array_equal(tiled(plan, image, valid_stride_4), expected)


@pytest.mark.parametrize("halo", [0, 128])
@pytest.mark.parametrize("side", [1024, 1500])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_blending_never_divides_by_nothing(halo, side, dtype):  # B026
    plan = plan_tiles((side, side), tile=1024, halo=halo, overlap=256, multiple=16)
    image = np.ones(plan.shape, dtype)
    result = tiled(plan, image, lambda x: x[None])
    assert (result == 1).all()


def test_a_blended_run_needs_the_memory_of_a_row_of_tiles():
    plan = plan_tiles((20_000, 300), tile=256, overlap=64)
    part = {shape: np.ones((2, *shape), np.float32) for shape in {tile.keep.shape for tile in plan}}
    tracemalloc.start()
    for _, _block in stitch(plan, (part[tile.keep.shape] for tile in plan)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2 * 256 * 320 * 4


def test_a_row_of_blended_tiles_is_given_out_as_soon_as_it_is_final():
    plan = plan_tiles((500, 500), tile=200, overlap=50)
    taken = 0

    def parts():
        nonlocal taken
        for tile in plan:
            taken += 1
            yield np.zeros((1, *tile.keep.shape), np.float32)

    region, _ = next(stitch(plan, parts()))
    assert taken == plan.grid[1]
    assert region == Region((0, 0), (150, 500))


@pytest.mark.parametrize("overlap", [0, 16])
def test_scores_of_the_wrong_size_are_refused(overlap):
    plan = plan_tiles((100, 100), tile=64, overlap=overlap)
    with pytest.raises(RunError, match="are kept"):
        list(stitch(plan, iter([np.zeros((2, 10, 10), np.float32)])))


@pytest.mark.parametrize("overlap", [0, 16])
def test_missing_tiles_do_not_pass_unseen(overlap):
    plan = plan_tiles((100, 100), tile=64, overlap=overlap)
    parts = [np.zeros((1, *tile.keep.shape), np.float32) for tile in plan][:-1]
    with pytest.raises(RunError, match="1 did not come"):
        list(stitch(plan, parts))


@pytest.mark.parametrize("overlap", [0, 16])
def test_a_stitcher_goes_on_with_the_next_plane(overlap):
    plan = plan_tiles((100, 90), tile=64, halo=8, overlap=overlap)
    stitcher = Stitcher(plan)
    for value in (1, 2):
        result = np.zeros(plan.shape)
        for tile in plan:
            for region, block in stitcher.add(np.full((1, *tile.keep.shape), value, np.float32)):
                result[region.slices] += block[0]
        assert (result == value).all()
        assert stitcher.missing == 0


def test_released_blocks_are_not_touched_again():
    plan = plan_tiles((300, 50), tile=50, overlap=20)
    parts = (np.full((1, *tile.keep.shape), 1, np.float32) for tile in plan)
    assert all((block == 1).all() for _, block in list(stitch(plan, parts)))


@fixed
@given(any_plans(), st.integers(0, 99))
def test_any_order_gives_the_same_bit_for_bit(plan, seed):
    rng = np.random.default_rng(seed)
    scores = [rng.normal(size=(2, *tile.keep.shape)).astype(np.float32) for tile in plan]

    def put_together(numbers):
        stitcher, result = Stitcher(plan), np.full((2, *plan.shape), np.nan, np.float32)
        for number in numbers:
            for region, block in stitcher.add(scores[number], number):
                assert np.isnan(result[:, *region.slices]).all()
                result[:, *region.slices] = block
        assert stitcher.missing == 0
        return result

    expected = put_together(range(len(plan)))
    focus = [rng.uniform(-10, n + 10) for n in plan.shape]
    np.testing.assert_array_equal(put_together(Agenda(plan).in_order(focus)), expected)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.tuples(st.integers(1, 200), st.integers(1, 200)), st.integers(1, 3), st.integers(0, 99))
def test_a_part_equals_the_whole_there_bit_for_bit(shape, room, seed):
    rng = np.random.default_rng(seed)
    image = rng.normal(size=shape)
    plan = plan_tiles(shape, tile=32 + 16 * room, halo=16, multiple=16)
    spans = [sorted(rng.choice(n + 1, 2, replace=False)) for n in shape]
    target = Region(*((int(a), int(b)) for a, b in zip(*spans, strict=True)))
    part = plan.part(target)
    result = np.full((1, *shape), np.nan, np.float32)
    for tile in part:
        kept = stride_16(read(image, tile.box))[:, *tile.crop.slices]
        for region, block in Stitcher(part).add(kept, list(part).index(tile)):
            assert np.isnan(result[:, *region.slices]).all()
            result[:, *region.slices] = block
    expected = whole(plan, image, stride_16)[:, *target.slices]
    np.testing.assert_array_equal(result[:, *target.slices], expected)
    assert np.isnan(result).sum() == result.size - target.size
