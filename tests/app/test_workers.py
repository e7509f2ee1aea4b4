"""Work in threads: what it says arrives here, or not at all once it is dropped."""

from __future__ import annotations

import gc
import threading

import pytest

from isoscope.app.workers import Workers
from isoscope.core.errors import CancelledError
from tests.app.conftest import our_threads


@pytest.fixture
def workers(qapp):
    made = Workers()
    yield made
    assert made.close()
    assert our_threads() == []


def wait_for(qtbot, condition):
    qtbot.waitUntil(condition, timeout=5000)


def test_results_and_failures_arrive_in_this_thread(workers, qtbot):
    heard = []
    here = threading.get_ident()

    def note(what):
        heard.append((what, threading.get_ident() == here))

    workers.start(lambda job: 42, note, note)

    def fail(job):
        raise ValueError("no")

    workers.start(fail, note, lambda error: note(str(error)))
    wait_for(qtbot, lambda: len(heard) == 2)
    assert set(heard) == {(42, True), ("no", True)}
    assert not workers.busy


def test_progress_comes_before_the_end_and_not_too_often(workers, qtbot):
    heard = []

    def work(job):
        for done in range(10000):
            job.progress(done, 10000)
        return "end"

    workers.start(
        work, heard.append, heard.append, lambda done, total: heard.append(done)
    )
    wait_for(qtbot, lambda: "end" in heard)
    assert heard[-1] == "end"
    assert 2 <= len(heard) < 100


def test_a_cancelled_job_says_how_it_ended(workers, qtbot):
    heard = []

    def work(job):
        while not job.cancelled():
            pass
        raise CancelledError("stopped")

    job = workers.start(work, heard.append, heard.append)
    assert workers.busy
    job.cancel()
    wait_for(qtbot, lambda: bool(heard))
    assert isinstance(heard[0], CancelledError)


def test_a_dropped_job_is_not_heard_of_again(workers, qtbot):
    heard = []
    begun, go_on = threading.Event(), threading.Event()

    def work(job):
        begun.set()
        go_on.wait(5)
        return "late"

    job = workers.start(work, heard.append, heard.append)
    begun.wait(5)
    job.drop()
    go_on.set()
    job.future.result(5)
    qtbot.wait(50)
    assert heard == []
    assert job.over


def test_a_job_that_waits_is_never_begun_once_dropped(workers, qtbot):
    go_on = threading.Event()
    ran, undone = [], []
    block = [workers.start(lambda job: go_on.wait(5), ran.append, ran.append)]
    block.append(workers.start(lambda job: go_on.wait(5), ran.append, ran.append))
    waiting = workers.start(lambda job: ran.append("no"), ran.append, ran.append)
    waiting.if_never_begun(lambda: undone.append(True))
    waiting.drop()
    go_on.set()
    wait_for(qtbot, lambda: len(ran) == 2)
    assert "no" not in ran
    assert undone == [True]


def test_quick_work_does_not_wait_for_long_work(workers, qtbot):
    go_on, heard = threading.Event(), []
    for _ in range(4):
        workers.start(lambda job: go_on.wait(5), lambda _: None, heard.append)
    workers.start(lambda job: "quick", heard.append, heard.append, quick=True)
    wait_for(qtbot, lambda: heard == ["quick"])
    go_on.set()


def test_closing_does_not_wait_for_what_never_began(qapp):
    go_on, workers = threading.Event(), Workers()
    for _ in range(32):
        workers.start(lambda job: go_on.wait(20), lambda _: None, lambda _: None)
    threading.Timer(0.2, go_on.set).start()
    assert workers.close(timeout_s=60)
    assert go_on.is_set()


def test_garbage_is_collected_in_this_thread_while_there_are_workers(qapp, qtbot):
    assert gc.isenabled()
    workers = Workers()
    assert not gc.isenabled()

    collected_in = []

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            collected_in.append(threading.get_ident())

    def litter(job):
        for _ in range(3000):
            Cycle()

    done = []
    workers.start(litter, done.append, done.append)
    wait_for(qtbot, lambda: bool(done))
    assert collected_in == []
    wait_for(qtbot, lambda: len(collected_in) == 3000)
    assert set(collected_in) == {threading.get_ident()}
    assert workers.close()
    assert gc.isenabled()
