"""The process that writes a tap's file: it ends with the run, and never harms it."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, Any

from isoscope.core import tap
from isoscope.core.live import discovery
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.tap import process
from isoscope.core.tap.kept import KeptStream
from isoscope.core.tap.merge import PacketError
from isoscope.core.tap.merged import MergedStream
from isoscope.core.tap.packet import Outflow, Packet, Rows
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import Child, opened, until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def stream() -> KeptStream:
    session: Any = tap.current()
    found = session.outlet._stream
    assert isinstance(found, KeptStream)
    return found


def written(rows: int) -> bool:
    return stream().length("native") == rows


def test_a_killed_run_leaves_a_file_and_no_process(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    with Child("tests.core.tap.tapped", path) as child:
        keeper = int(child.says())
        steps = 0
        while steps < 1000:
            steps = int(child.says())
        os.kill(child.process.pid, signal.SIGKILL)
        child.process.wait()
        until(lambda: not process.alive(keeper))
    assert discovery.running() == []
    found = opened(path)
    assert not found.recording.complete
    assert any("cut" in problem.message for problem in found.recording.problems)
    told = found.labelled.transitions()
    # All but what the hub had not passed on: less than a second, 20 of a hundred.
    assert len(told) >= steps - 2000
    assert [t.control_step for t in told] == list(range(1, len(told) + 1))
    # Of the control step that was going on there may be native steps.
    assert 0 <= len(found.recording) - 2 * len(told) <= 2


def test_a_run_goes_on_without_its_keeper(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    env = tap.attach(FakeEnv(), path)
    run(env, 5)
    until(lambda: written(10))
    session: Any = tap.current()
    os.kill(stream()._process.pid, signal.SIGKILL)
    until(lambda: "recording_stopped" in session.state)
    assert run(env, 25, seed=1) == run(FakeEnv(), 25, seed=1)
    assert session.on
    tap.detach()
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert f"recording to {path} stopped" in said
    assert len(opened(path).recording) <= 10


def test_a_full_disk_stops_the_recording_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    env = tap.attach(FakeEnv(), path)
    session: Any = tap.current()
    room = path.stat().st_size + (4 << 20)
    limit = resource.RLIMIT_FSIZE
    resource.prlimit(stream()._process.pid, limit, (room, room))
    steps = 0
    while "recording_stopped" not in session.state:
        steps += 1
        assert run(env, 1, seed=1) == run(FakeEnv(), 1, seed=1)
        tap.stream("noise", steps, 0.0, 0.0, os.urandom(1 << 20))
        until(lambda: written(2 * steps))  # noqa: B023  it is called at once
        assert steps < 100
    assert session.on
    tap.detach()
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "File too large" in said
    found = opened(path)
    assert not found.recording.complete
    assert len(found.recording) >= 2


def test_what_comes_back_is_what_is_merged_here(tmp_path: Path) -> None:
    path = tmp_path / "a.isoscope.h5"
    said: list[str] = []
    kept = KeptStream(path, overwrite=False, tell=said.append)
    here = MergedStream(None)
    sources = kept.source("session"), here.source("session")
    recorder = IntakeRecorder(Intake(1 << 30, lambda: None))
    outflow = Outflow(recorder.intake)

    def step(count: int) -> None:
        for _ in range(count):
            recorder.native(r.NativeStep(env=1, h_s=0.1))
        recorder.failure(r.Failure("step", "it went wrong"))
        packet = outflow.take()
        for source in sources:
            source.take(packet)

    def same(one: Packet, other: Packet) -> None:
        assert one.definitions == other.definitions
        assert one.blobs == other.blobs
        for a, b in zip(one.blocks, other.blocks, strict=True):
            assert (a.table, a.first, a.count) == (b.table, b.first, b.count)
            assert bytes(a.content) == bytes(b.content)

    try:
        step(3)
        here.take()
        until(lambda: kept.length("native") == 3)
        assert not kept.take()  # nobody looks
        for _ in range(2):
            same(kept.latest.packet(), here.latest.packet())
            step(2)
            same(until(kept.take), here.take())
            assert kept.latest.references == here.latest.references
        kept.watch(False)
        step(1)
        until(lambda: kept.length("native") == 8)
        assert not kept.take()
    finally:
        kept.close()
    assert said == []
    recording = opened(path).recording
    assert recording.complete
    assert len(recording) == 8


def test_what_makes_no_sense_is_told_later(tmp_path: Path) -> None:
    said: list[str] = []
    kept = KeptStream(tmp_path / "a.isoscope.h5", overwrite=False, tell=said.append)
    try:
        source = kept.source("worker 1")
        source.take(Packet(b"", [Rows(99, 0, 1, b"nonsense")], []))

        def refused() -> bool:
            try:
                source.take(Packet())
            except PacketError:
                return True
            return False

        until(refused)
    finally:
        kept.close()
    assert said == []
    assert opened(tmp_path / "a.isoscope.h5").recording.complete
