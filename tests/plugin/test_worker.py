"""A run lives in its own thread, ends when asked, and never touches Qt from there."""

from __future__ import annotations

import threading
import time
import warnings

import pytest
from fakes import counting
from napari.utils import progress
from qtpy.QtCore import QThreadPool

from napari_onnxseg.errors import CancelledError, ChoiceError
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.worker import Outcome, Run, Watch, Worker


def ended(run, qtbot, timeout=5000) -> Outcome:
    with qtbot.waitSignal(run.ended, timeout=timeout) as blocker:
        run.start()
    return blocker.args[0]


def failing(error):
    def steps(cancel):
        yield Progress(1, 2)
        raise error

    return steps


def test_a_worker_exhausts_its_generator_and_closes_it():
    steps = counting(5, result="answer")
    worker = Worker(steps)
    worker.run()
    assert worker.outcome == Outcome("answer")
    assert worker.latest == Progress(5, 5)
    assert steps.closed


def test_a_cancelled_worker_closes_its_generator():
    steps = counting(1000, delay_s=0.01)
    worker = Worker(steps)
    worker.start()
    time.sleep(0.05)
    worker.cancel.set()
    worker.join(2)
    assert not worker.is_alive()
    assert worker.outcome.cancelled
    assert steps.closed


@pytest.mark.parametrize("error", [ValueError("a"), RuntimeError("b"), MemoryError("c")])
def test_any_error_reaches_the_main_thread(qtbot, error):
    assert ended(Run(failing(error), "run"), qtbot).error is error


def test_a_stray_stop_iteration_is_an_error_and_not_an_end(qtbot):
    outcome = ended(Run(failing(StopIteration("stray")), "run"), qtbot)
    assert isinstance(outcome.error, RuntimeError)


def test_signals_arrive_on_the_main_thread_and_steps_run_off_it(qtbot):
    seen, made = [], []

    def steps(cancel):
        for done in range(20):
            made.append(threading.current_thread())
            time.sleep(0.01)
            yield Progress(done + 1, 20)

    run = Run(steps, "run")
    run.stepped.connect(lambda _: seen.append(threading.current_thread()))
    run.ended.connect(lambda _: seen.append(threading.current_thread()))
    ended(run, qtbot)
    assert set(seen) == {threading.main_thread()}
    assert threading.main_thread() not in made
    assert len(seen) > 2


def test_only_one_run_at_a_time_whoever_asks(qtbot):
    first, second = Run(counting(1000, 0.005), "nuclei"), Run(counting(1), "other")
    first.start()
    with pytest.raises(ChoiceError, match="nuclei"):
        second.start()
    with qtbot.waitSignal(first.ended):
        first.cancel()
    assert ended(second, qtbot) == Outcome("done")


def test_a_cancelled_run_ends_within_a_second_and_its_bar_goes(qtbot):
    run = Run(counting(10_000, 0.02), "run")
    run.start()
    assert len(progress._all_instances) == 1
    qtbot.wait(100)
    asked = time.monotonic()
    with qtbot.waitSignal(run.ended, timeout=1000) as blocker:
        run.cancel()
    assert time.monotonic() - asked < 1
    assert blocker.args[0].cancelled
    assert not progress._all_instances


def test_a_call_that_can_be_ended_is_ended_by_cancel(qtbot):
    ends = threading.Event()

    def steps(cancel):
        yield Progress(0, 1)
        with cancel.calling(ends.set):
            ends.wait(30)
        cancel.check()

    run = Run(steps, "run")
    run.start()
    qtbot.wait(100)
    with qtbot.waitSignal(run.ended, timeout=1000):
        run.cancel()


def test_the_bar_counts_tiles_and_its_button_cancels(qtbot):
    run = Run(counting(500, 0.01), "nuclei · classes")
    run.start()
    (bar,) = progress._all_instances
    qtbot.waitUntil(lambda: bar.n > 3)
    assert bar.total == 500
    assert "nuclei" in bar.desc
    with qtbot.waitSignal(run.ended, timeout=1000) as blocker:
        bar.cancel()
    assert blocker.args[0].cancelled


def test_thousands_of_fast_tiles_do_not_flood_the_main_thread(qtbot):
    seen = []
    run = Run(counting(20_000), "run")
    run.stepped.connect(seen.append)
    assert ended(run, qtbot, 20_000) == Outcome("done")
    assert 1 <= len(seen) < 2000


def test_a_generator_that_fails_at_once_is_reported(qtbot):
    def broken(cancel):
        raise ValueError("no generator")

    assert "no generator" in str(ended(Run(broken, "run"), qtbot).error)


def test_warnings_of_the_process_are_left_alone(qtbot):
    before = warnings.showwarning, list(warnings.filters)
    assert ended(Run(counting(3), "run"), qtbot) == Outcome("done")
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_the_pool_that_other_plugins_share_stays_free(qtbot):
    run = Run(counting(1000, 0.01), "run")
    run.start()
    qtbot.wait(50)
    assert QThreadPool.globalInstance().activeThreadCount() == 0
    with qtbot.waitSignal(run.ended):
        run.cancel()


def test_a_watch_tells_the_end_once(qtbot):
    watch, seen = Watch(counting(2)), []
    watch.ended.connect(seen.append)
    watch.start()
    qtbot.waitUntil(lambda: bool(seen))
    qtbot.wait(150)
    assert seen == [Outcome("done")]


def test_a_cancelled_outcome_is_no_failure():
    assert Outcome(error=CancelledError("x")).cancelled
    assert not Outcome(error=ValueError("x")).cancelled
