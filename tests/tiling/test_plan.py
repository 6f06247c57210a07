import re
import time
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import TileError
from napari_onnxseg.tiling.plan import TilePlan, choose_tile, fit_tile, plan_tiles
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=150)


@st.composite
def axis_facts(draw, *, overlapping=False, shrinking=False):
    multiple = draw(st.sampled_from([1, 2, 4, 8, 16]))
    halo = draw(st.integers(0, 3)) * multiple
    shrink = draw(st.integers(0, halo)) if shrinking else 0
    room = draw(st.integers(1, 5)) * multiple
    overlap = draw(st.integers(0, room * 3 // 4)) if overlapping else 0
    tile = 2 * halo + room + (draw(st.integers(0, 7)) if shrink else 0)
    assume(tile > 2 * shrink)
    length = draw(st.integers(1, 200))
    return length, tile, halo, overlap, multiple, shrink


@st.composite
def plans(draw, **kinds):
    ndim = draw(st.integers(1, 3))
    facts = [draw(axis_facts(**kinds)) for _ in range(ndim)]
    shape, tile, halo, overlap, multiple, shrink = zip(*facts, strict=True)
    assume(np.prod([-(-n // m) for n, m in zip(shape, multiple, strict=True)]) < 3000)
    try:
        return plan_tiles(
            shape, tile=tile, halo=halo, overlap=overlap, multiple=multiple, shrink=shrink
        )
    except TileError:
        assume(False)


def coverage(plan: TilePlan, what: str) -> np.ndarray:
    count = np.zeros(plan.padded, int)
    for tile in plan:
        count[getattr(tile, what).intersect(Region.of_shape(plan.padded)).slices] += 1
    return count


@fixed
@given(plans(shrinking=True))
def test_kept_parts_divide_the_padded_image(plan):
    assert (coverage(plan, "keep") == 1).all()


@fixed
@given(plans(overlapping=True))
def test_blended_tiles_leave_no_pixel_out_and_share_what_was_asked(plan):
    assert coverage(plan, "keep").min() >= 1
    for axis in plan.axes:
        for i in range(axis.count - 1):
            assert axis.keep(i)[1] - axis.keep(i + 1)[0] >= axis.overlap


@fixed
@given(plans(overlapping=True, shrinking=True))
def test_starts_lie_on_the_grid_and_kept_borders_too(plan):
    for tile in plan:
        for axis, start in zip(plan.axes, tile.box.start, strict=True):
            assert (start + axis.shrink) % axis.multiple == 0
        for axis, (a, b) in zip(
            plan.axes, zip(tile.keep.start, tile.keep.stop, strict=True), strict=True
        ):
            if not axis.overlap:
                assert a % axis.multiple == 0
                assert b % axis.multiple == 0 or b == axis.padded


@fixed
@given(plans(overlapping=True, shrinking=True))
def test_only_inner_sides_have_a_halo(plan):
    for tile in plan:
        assert tile.box.shape == plan.tile
        assert tile.box.contains(tile.keep)
        for i, axis in enumerate(plan.axes):
            before = tile.keep.start[i] - tile.box.start[i]
            after = tile.box.stop[i] - tile.keep.stop[i]
            at_start = tile.keep.start[i] == 0
            at_end = tile.keep.stop[i] == axis.padded
            assert before == axis.shrink if at_start else before >= axis.halo
            assert after == axis.shrink if at_end else after >= axis.halo


@fixed
@given(plans(overlapping=True, shrinking=True))
def test_boxes_stay_inside_the_padded_image_but_for_what_the_network_takes(plan):
    domain = Region.of_shape(plan.padded).grow(plan.shrink)
    for tile in plan:
        assert domain.contains(tile.box)


@st.composite
def parts(draw, **kinds):
    plan = draw(plans(**kinds))
    spans = [sorted((draw(st.integers(0, n - 1)), draw(st.integers(1, n)))) for n in plan.shape]
    return plan, Region(*zip(*((a, max(b, a + 1)) for a, b in spans), strict=True))


@fixed
@given(parts(overlapping=True, shrinking=True))
def test_a_part_is_covered_and_little_more(given_part):
    whole, target = given_part
    plan = whole.part(target)
    assert plan.kept.contains(target)
    for axis, a, b in zip(plan.axes, target.start, target.stop, strict=True):
        assert a - axis.begin < axis.multiple
        assert axis.stop - b < axis.multiple or axis.stop == axis.padded
    count = coverage(plan, "keep")
    inside = np.zeros(plan.padded, bool)
    inside[plan.kept.slices] = True
    assert (count[inside] >= 1).all()
    assert not count[~inside].any()
    if not plan.blends:
        assert count.max() == 1
    assert len(plan) <= len(whole) + sum(whole.grid)


@fixed
@given(parts(overlapping=True, shrinking=True))
def test_tiles_of_a_part_see_what_those_of_the_whole_see(given_part):
    whole, target = given_part
    plan = whole.part(target)
    domain = Region.of_shape(plan.padded).grow(plan.shrink)
    for tile in plan:
        assert domain.contains(tile.box)
        for i, axis in enumerate(plan.axes):
            assert (tile.box.start[i] + axis.shrink) % axis.multiple == 0
            flush = tile.box.start[i] == domain.start[i], tile.box.stop[i] == domain.stop[i]
            before = tile.keep.start[i] - tile.box.start[i]
            after = tile.box.stop[i] - tile.keep.stop[i]
            assert before >= axis.halo or flush[0]
            assert after >= axis.halo or flush[1]
            assert min(before, after) >= axis.shrink


@pytest.mark.parametrize(
    "target", [Region((5, 5), (5, 9)), Region((-1, 0), (9, 9)), Region((0, 0), (101, 9))]
)
def test_a_part_that_is_empty_or_outside_is_refused(target):
    with pytest.raises(TileError, match="does not lie in the image of 100 × 90 px"):
        plan_tiles((100, 90), tile=32).part(target)


def test_the_part_that_is_the_whole_is_the_whole():
    plan = plan_tiles((100, 90), tile=32)
    assert plan.part(Region((0, 0), (100, 90))) == plan


@fixed
@given(plans(overlapping=True, shrinking=True))
def test_a_tile_by_number_is_the_tile_in_order(plan):
    tiles = list(plan)
    assert len(tiles) == len(plan)
    assert [plan.tile_at(i) for i in range(len(plan))] == tiles


@fixed
@given(plans(shrinking=True))
def test_padding_stays_below_one_multiple_unless_one_tile_needs_more(plan):
    for n, padded, tile, m, s in zip(
        plan.shape, plan.padded, plan.tile, plan.multiple, plan.shrink, strict=True
    ):
        assert padded >= n
        assert padded - n < m or padded == tile - 2 * s


@pytest.mark.parametrize("shape", [(100, 70), (600, 70), (1, 1), (1, 900), (511, 513)])
def test_images_smaller_than_the_fixed_tile_are_padded_to_it(shape):  # B019
    plan = plan_tiles(shape, tile=512, halo=16, multiple=16)
    assert plan.padded == tuple(max(512, -(-n // 16) * 16) for n in shape)
    assert (coverage(plan, "keep") == 1).all()


@pytest.mark.parametrize("halo", [0, 8, 16])
@pytest.mark.parametrize("length", [*range(1, 200, 7), 64, 65, 129, 193])
def test_no_edge_pixel_is_left_out(halo, length):  # B023
    plan = plan_tiles((length, 201 - min(length, 200)), tile=64, halo=halo)
    assert (coverage(plan, "keep") == 1).all()


def test_a_large_image_is_planned_at_once_and_takes_no_memory():
    tracemalloc.start()
    began = time.perf_counter()
    plan = plan_tiles((200_000, 200_000), tile=512, halo=48, multiple=16)
    first, last = next(iter(plan)), plan.tile_at(len(plan) - 1)
    taken = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 0.2
    assert peak < 2_000_000
    assert len(plan) == 481**2
    assert first.box == Region((0, 0), (512, 512))
    assert last.box.stop == last.keep.stop == (200_000, 200_000)


def test_the_last_tile_moves_back_along_the_grid():
    plan = plan_tiles((1000,), tile=256, halo=32, multiple=16)
    assert plan.padded == (1008,)
    assert [t.box.start[0] for t in plan] == [0, 192, 384, 576, 752]
    assert [t.keep.start[0] for t in plan] == [0, 224, 416, 608, 800]
    assert [t.crop.start[0] for t in plan] == [0, 32, 32, 32, 48]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"tile": 250, "multiple": 16}, "240 or 256"),
        ({"tile": 256, "halo": 20, "multiple": 16}, "16 or 32"),
        ({"tile": 8, "multiple": 16}, "use 16"),
        ({"tile": 96, "halo": 48, "multiple": 16}, "at least 112 px"),
        ({"tile": 64, "halo": 4, "shrink": 8}, "less than the 8 px"),
        ({"tile": 16, "halo": 8, "shrink": 8}, "more than 16 px"),
        ({"tile": 64, "overlap": 60}, "48 px or less"),
        ({"tile": 64, "overlap": 64}, "at least 65 px"),
        ({"tile": 0}, "at least 1 px, got 0"),
        ({"tile": 64.5}, "got 64.5"),
        ({"tile": 64, "halo": -1}, "at least 0 px, got -1"),
        ({"tile": (64, 64, 64)}, "1 or 2 numbers, got 3"),
    ],
)
def test_impossible_choices_name_the_nearest_possible_ones(choices, words):
    with pytest.raises(TileError, match=words):
        plan_tiles((500, 500), **choices)


def test_the_smallest_tile_that_the_error_names_works():
    plan_tiles((500, 500), tile=112, halo=48, multiple=16)


def test_an_empty_image_is_refused():
    with pytest.raises(TileError, match="at least one pixel"):
        plan_tiles((0, 10), tile=64)


def test_there_is_no_tile_beyond_the_last():
    plan = plan_tiles((100, 100), tile=64)
    for number in (-1, len(plan)):
        with pytest.raises(IndexError):
            plan.tile_at(number)


def test_a_plan_says_what_it_does():
    shape = (1000, 3000)
    exact = plan_tiles(shape, tile=512, halo=48, multiple=16)
    assert exact.words() == "3 × 7 tiles of 512 × 512 px, halo 48 px"
    soft = plan_tiles(shape, tile=(512, 640), halo=(0, 16), overlap=(64, 128), multiple=16)
    assert soft.words() == ("3 × 6 tiles of 512 × 640 px, halo 0 × 16 px, blended over 64 × 128 px")
    assert plan_tiles((9, 9), tile=16).words() == "1 tile of 16 × 16 px, the whole image at once"


def test_a_tile_fits_the_image_where_the_network_is_free():
    assert fit_tile((100, 2000), 512, multiple=16) == (112, 512)
    assert fit_tile((100, 2000), (64, 512), multiple=1, shrink=10) == (64, 512)
    assert fit_tile((30, 2000), (64, 512), multiple=1, shrink=10) == (50, 512)


@st.composite
def tile_searches(draw):
    ndim = draw(st.integers(2, 3))
    multiple = draw(st.sampled_from([1, 8, 16]))
    return (
        tuple(draw(st.integers(1, 3000)) for _ in range(ndim)),
        multiple,
        draw(st.integers(0, 6)) * multiple,
        draw(st.sampled_from([1e5, 1e7, 1e9])),
        draw(st.integers(1, 8)),
    )


@settings(derandomize=True, deadline=None, max_examples=40)
@given(tile_searches())
def test_a_chosen_tile_is_legal_within_image_and_budget(search):
    shape, multiple, halo, budget, workers = search
    tile = choose_tile(
        shape,
        multiple=multiple,
        halo=halo,
        bytes_per_px=10,
        budget_bytes=budget,
        workers=workers,
    )
    plan = plan_tiles(shape, tile=tile, halo=halo, multiple=multiple)
    assert plan.tile == fit_tile(shape, tile, multiple=multiple)
    smallest = fit_tile(shape, 2 * halo + multiple, multiple=multiple)
    used = np.prod(tile) * 10 * min(workers, len(plan))
    assert used <= budget or tile == smallest


def test_a_chosen_tile_computes_no_more_than_any_square_one():
    shape, halo, multiple, workers, budget = (4096, 4096), 96, 16, 2, 1.2e9
    facts = {"halo": halo, "multiple": multiple}

    def cost(tile):
        plan = plan_tiles(shape, tile=tile, **facts)
        return -(-len(plan) // workers) * np.prod(plan.tile)

    chosen = choose_tile(shape, **facts, bytes_per_px=1100, budget_bytes=budget, workers=workers)
    affordable = int((budget / 1100 / workers) ** 0.5) // 16 * 16
    assert cost(chosen) <= min(cost(side) for side in range(256, affordable + 1, 16))


def test_a_chosen_tile_of_a_huge_image_is_found_quickly():
    began = time.perf_counter()
    choose_tile(
        (200_000, 200_000), multiple=16, halo=48, bytes_per_px=500, budget_bytes=1e9, workers=4
    )
    choose_tile(
        (4000, 9000, 9000), multiple=8, halo=24, bytes_per_px=900, budget_bytes=4e9, workers=4
    )
    assert time.perf_counter() - began < 1


def test_small_tiles_are_chosen_only_when_memory_asks_for_them():
    facts = {"multiple": 16, "halo": 0, "bytes_per_px": 100, "workers": 1}
    assert min(choose_tile((5000, 5000), **facts, budget_bytes=1e9)) >= 256
    assert choose_tile((5000, 5000), **facts, budget_bytes=100 * 64 * 64) <= (256, 256)
    assert choose_tile((5000, 5000), **facts, budget_bytes=1) == (16, 16)


@pytest.mark.parametrize("multiple", [1, 2, 4, 8])
@pytest.mark.parametrize("shrink", range(6))
def test_a_chosen_tile_is_always_a_legal_one(multiple, shrink):
    halos = {shrink} | {h for h in range(0, 17, multiple) if h >= shrink}
    for halo, budget in product(halos, (1e4, 1e9)):
        facts = {"multiple": multiple, "halo": halo, "shrink": shrink}
        tile = choose_tile((90, 300), **facts, bytes_per_px=10, budget_bytes=budget, smallest=16)
        assert len(plan_tiles((90, 300), tile=tile, **facts)) >= 1


@pytest.mark.parametrize("shrink", range(1, 4))
@pytest.mark.parametrize("overlap", [0, 3])
def test_the_tile_that_a_refusal_names_is_legal(shrink, overlap):
    facts = {"halo": 6, "overlap": overlap, "multiple": 2, "shrink": shrink}
    with pytest.raises(TileError) as refusal:
        plan_tiles((90,), tile=13, **facts)
    named = int(re.search(r"at least (\d+) px", str(refusal.value))[1])
    assert named > 13
    assert len(plan_tiles((90,), tile=named, **facts)) > 1
