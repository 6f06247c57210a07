import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.tiling.order import Agenda
from napari_onnxseg.tiling.plan import plan_tiles

fixed = settings(derandomize=True, deadline=None, max_examples=60)


def centre(plan, number):
    keep = plan.tile_at(number).keep
    return np.add(keep.start, keep.stop) / 2


@fixed
@given(
    st.tuples(st.integers(1, 300), st.integers(1, 300)), st.sampled_from([0, 8]), st.integers(0, 9)
)
def test_every_tile_comes_once_wherever_somebody_looks(shape, overlap, seed):
    plan = plan_tiles(shape, tile=40, halo=4, overlap=overlap)
    rng, agenda = np.random.default_rng(seed), Agenda(plan)
    taken = []
    while (number := agenda.take(rng.uniform(-50, 350, 2))) is not None:
        taken.append(number)
        assert len(agenda) == len(plan) - len(taken)
    assert sorted(taken) == list(range(len(plan)))


def test_the_nearest_comes_first():
    plan = plan_tiles((1000, 1000), tile=100)
    focus = (730, 260)
    order = list(Agenda(plan).in_order(focus))
    distances = [np.hypot(*(centre(plan, number) - focus)) for number in order]
    assert distances == sorted(distances)


def test_the_order_follows_a_view_that_moves():
    plan = plan_tiles((1000, 1000), tile=100)
    agenda = Agenda(plan)
    assert centre(plan, agenda.take((50, 50))).tolist() == [50, 50]
    assert centre(plan, agenda.take((950, 950))).tolist() == [950, 950]
    assert centre(plan, agenda.take((950, 950))).tolist() in ([850, 950], [950, 850])


def test_without_a_view_tiles_come_in_the_order_of_the_plan():
    plan = plan_tiles((100, 300), tile=50)
    assert list(Agenda(plan).in_order()) == list(range(len(plan)))
    agenda = Agenda(plan)
    first = agenda.take((75, 160))
    assert list(agenda.in_order()) == [i for i in range(len(plan)) if i != first]


def test_what_is_done_already_is_left_out():
    plan = plan_tiles((100, 300), tile=50)
    assert set(Agenda(plan, {0, 3, 7}).in_order((0, 0))) == set(range(len(plan))) - {0, 3, 7}
    assert list(Agenda(plan, range(len(plan))).in_order()) == []


@pytest.mark.parametrize("focus", [None, (150, 20)])
def test_blended_tiles_come_row_by_row(focus):
    plan = plan_tiles((300, 200), tile=60, overlap=20)
    rows = [number // plan.grid[1] for number in Agenda(plan).in_order(focus)]
    changes = [a for a, b in zip(rows, [*rows[1:], None], strict=True) if a != b]
    assert sorted(changes) == list(range(plan.grid[0]))
