"""A few threads that work through a list in order, with bounded work in hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

AHEAD = 2
"""Items in hand per worker: one being worked on, one waiting."""


def work_through(
    work: Callable[[Item], Done],
    items: Iterable[Item],
    *,
    workers: int,
    ordered: bool,
    stop: Callable[[], None],
) -> Iterator[Done]:
    """Yield ``work(item)`` for each item, several at a time.

    Parameters
    ----------
    work : callable
        Called in a worker thread (in this thread when there is one worker).
    items : iterable
        Taken lazily, never more than a few ahead.
    workers : int
        Threads, at least one.
    ordered : bool
        Yield in the order of ``items``; otherwise as they finish.
    stop : callable
        Called once when the caller leaves early or an item fails, to end calls under way.

    Yields
    ------
    Done
        What ``work`` returned.
    """
    if workers == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="onnxseg-tile")
    try:
        yield from _drain(pool, work, iter(items), AHEAD * workers, ordered)
    except BaseException:
        stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _drain(
    pool: ThreadPoolExecutor,
    work: Callable[[Item], Done],
    items: Iterator[Item],
    in_hand: int,
    ordered: bool,
) -> Iterator[Done]:
    """Keep ``in_hand`` futures alive and yield their results."""
    futures: deque[Future[Done]] = deque(pool.submit(work, i) for i in islice(items, in_hand))
    while futures:
        future = futures[0] if ordered else _first_done(futures)
        futures.remove(future)
        result = future.result()
        futures.extend(pool.submit(work, i) for i in islice(items, 1))
        yield result


def _first_done(futures: deque[Future[Done]]) -> Future[Done]:
    """Return any finished future, waiting for one."""
    return next(iter(wait(futures, return_when=FIRST_COMPLETED).done))
