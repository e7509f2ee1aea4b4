"""Windows on a run whose own recording stops: they go on with what comes next."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from isoscope.core import tap
from isoscope.core.live.source import LiveSource, Phase
from tests.core.live.test_joined_late import found
from tests.core.live.test_live import Window as Plain
from tests.core.live.test_live import hub
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Window(Plain):
    """One that is closed in the end."""

    opened: ClassVar[list[Plain]] = []

    def follow(self, source: LiveSource) -> None:
        super().follow(source)
        self.opened.append(self)


@pytest.fixture(autouse=True)
def closed(alone: None) -> Iterator[None]:
    yield
    while Window.opened:
        Window.opened.pop().close()


def recorded(path: Path) -> tuple[Any, Window]:
    """A run of ten steps that records, and a window that reads its file."""
    env = tap.attach(FakeEnv(), path, name="mine")
    window = Window()
    run(env, 5)
    until(lambda: window.rows == 10)
    assert window.source.path == path
    assert not window.source.left
    return env, window


def kill_keeper() -> None:
    os.kill(hub()._stream._process.pid, signal.SIGKILL)
    session: Any = tap.current()
    until(lambda: "recording_stopped" in session.state)


def fill_disk(env: Any, path: Path) -> int:
    """Let its file have no more room; how many steps there were then."""
    keeper: int = hub()._stream._process.pid
    room = path.stat().st_size + (2 << 20)
    resource.prlimit(keeper, resource.RLIMIT_FSIZE, (room, room))
    session: Any = tap.current()
    steps = 5
    while "recording_stopped" not in session.state:
        steps += 1
        run(env, 1, seed=1)
        tap.stream("noise", steps, 0.0, 0.0, os.urandom(1 << 20))
        until(lambda told=2 * steps: hub()._stream.length("native") == told)
        assert steps < 100
    return steps


def onward(window: Window) -> Window:
    """The window that goes on where this one is left."""
    window.wait()
    assert window.error is None
    assert "stopped" in window.source.left
    assert window.source.stopped == window.source.left
    assert window.source.phase is Phase.RUNNING
    after = Window.__new__(Window)
    source = window.source.onward()
    after.follow(source)
    until(lambda: hub()._guests.watching)
    return after


def test_a_window_goes_on_where_the_keeper_was_killed(tmp_path: Path) -> None:
    env, window = recorded(tmp_path / "run.isoscope.h5")
    kill_keeper()
    run(env, 5)
    second = onward(window)
    problems = [p.message for p in window.source.recording.problems]
    assert any("cut" in problem for problem in problems)
    run(env, 6)
    until(lambda: second.rows >= 12)
    source = second.source
    assert not source.whole
    assert source.phase is Phase.RUNNING
    assert not source.left
    # Of a run that records no more a window that joins then has a mirror, too.
    late = Window()
    until(lambda: late.rows == 1)
    assert late.source.path not in (window.source.path, source.path)
    run(env, 1)
    until(lambda: late.rows == 3)
    tap.detach()
    second.wait()
    late.wait()
    recording = source.recording
    assert source.phase is Phase.ENDED
    assert recording.complete
    (actor,) = recording.actors
    state = actor.fields.tracks["translation"].read(0, 14)
    assert state.valid.all()
    assert recording.labels is not None
    np.testing.assert_array_equal(recording.labels.control_step[:12:2], np.arange(1, 7))
    assert len(source.reader.labelled.transitions()) == 7
    (failure,) = source.reader.labelled.failures()
    assert (failure.what, failure.row) == ("recording", 0)
    assert "the process that writes it ended" in failure.message


def test_nobody_has_it_merged_where_nobody_looks(tmp_path: Path) -> None:
    env, window = recorded(tmp_path / "run.isoscope.h5")
    kill_keeper()
    window.wait()
    stream = hub()._stream
    run(env, 5)
    assert stream.here is None
    for _ in range(2):  # they come and go
        window = Window()
        until(lambda: hub()._guests.watching)
        run(env, 2)
        until(lambda window=window: window.rows >= 4)
        assert not window.source.whole
        window.close()
        until(lambda: stream.here is None)
    tap.detach()


def test_a_mirror_goes_on_where_the_keeper_was_killed(tmp_path: Path) -> None:
    """One that was told by the keeper, and not out of the file."""
    env, _ = recorded(tmp_path / "run.isoscope.h5")
    mirror = Window(keep=tmp_path / "kept.isoscope.h5")
    until(lambda: hub()._guests.watching)
    run(env, 5)
    until(lambda: mirror.rows >= 10)
    kill_keeper()
    run(env, 1)
    second = onward(mirror)
    assert mirror.source.recording.complete
    run(env, 4)
    until(lambda: second.rows == 8)
    tap.detach()


def test_a_window_goes_on_where_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    env, window = recorded(path)
    steps = fill_disk(env, path)
    for _ in range(3):
        run(env, 1, seed=1)
    until(lambda: hub()._stream.length("native") == 2 * steps + 6)
    second = onward(window)
    had = window.rows
    until(lambda: second.rows >= 1)
    run(env, 4)
    until(lambda: second.rows == 9)
    (failure,) = second.source.reader.labelled.failures()
    lost = 2 * steps + 6 - 1 - had  # the last one is what it begins with
    assert "run.isoscope.h5 stopped: File too large; what" in failure.message
    assert failure.message.endswith(f"; {lost} steps after that are missing")
    assert not second.source.whole
    # Whether the keeper lives or not: nothing more is written.
    kill_keeper()
    run(env, 1)
    third = onward(second)
    run(env, 4)
    until(lambda: third.rows == 8)
    tap.detach()


def test_nothing_is_wrong_with_a_file_that_is_watched_no_longer(tmp_path: Path) -> None:
    _, window = recorded(tmp_path / "run.isoscope.h5")
    window.cancel()
    window.wait()
    recording = window.source.recording
    assert not recording.complete
    assert "incomplete-recording" not in found(recording)
    tap.detach()


def test_who_joins_late_takes_what_the_run_kept(tmp_path: Path) -> None:
    """The file is there, but grows no more: it is not what is watched."""
    path = tmp_path / "run.isoscope.h5"
    env, window = recorded(path)
    fill_disk(env, path)
    window.wait()
    source = LiveSource(window.source.run)
    assert source.path != path
    source.close()
    tap.detach()
