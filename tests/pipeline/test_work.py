"""Threads in hand: order, bounds, and what happens when someone leaves early."""

from __future__ import annotations

import threading
import time

import pytest

from napari_onnxseg.pipeline.work import AHEAD, work_through


def nothing() -> None:
    """Stop nothing."""


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_comes_back_once_in_order(workers):
    found = work_through(lambda n: n * n, range(50), workers=workers, ordered=True, stop=nothing)
    assert list(found) == [n * n for n in range(50)]


def test_out_of_order_gives_the_same_results():
    def work(n: int) -> int:
        time.sleep(0.001 * (n % 3))
        return n

    found = work_through(work, range(30), workers=3, ordered=False, stop=nothing)
    assert sorted(found) == list(range(30))


def test_items_are_taken_only_a_few_ahead():
    taken = []

    def items():
        for n in range(1000):
            taken.append(n)
            yield n

    found = work_through(lambda n: n, items(), workers=2, ordered=True, stop=nothing)
    next(found)
    assert len(taken) <= AHEAD * 2 + 1
    found.close()


def test_leaving_early_stops_the_calls_under_way_and_the_threads():
    before, release = threading.active_count(), threading.Event()

    def work(n: int) -> int:
        if n > 0:
            release.wait(10)
        return n

    found = work_through(work, range(100), workers=2, ordered=True, stop=release.set)
    next(found)
    begin = time.perf_counter()
    found.close()
    assert time.perf_counter() - begin < 5
    assert threading.active_count() == before


def test_a_failing_item_stops_the_others_and_is_raised():
    stopped = []

    def work(n: int) -> int:
        if n == 3:
            raise ValueError("item 3")
        return n

    found = work_through(
        work, range(100), workers=2, ordered=True, stop=lambda: stopped.append(True)
    )
    with pytest.raises(ValueError, match="item 3"):
        list(found)
    assert stopped == [True]
