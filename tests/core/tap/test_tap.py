"""The tap in one process: it records, changes nothing, and never gets in the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core import tap
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.tap import kept
from isoscope.core.tap.session import Command
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import ROOT, Child, opened, until

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = {"numpy", "zmq", "msgspec", "isoscope"}


def session() -> tap.TapSession:
    found = tap.current()
    assert found is not None
    return found


def test_a_run_is_recorded_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    assert run(tap.attach(FakeEnv(), path), 25, seed=3) == run(FakeEnv(), 25, seed=3)
    tap.detach()
    found = opened(path)
    assert found.recording.complete
    assert not found.recording.problems
    assert len(found.recording) == 50
    assert len(found.labelled.transitions()) == 25
    assert [t.seed for t in found.labelled.resets()] == [3, None, None]
    assert found.labelled.identity.engine == "fake"


def test_several_environments_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    envs = [tap.attach(FakeEnv(), path) for _ in range(3)]
    for env in envs:
        run(env, 4, seed=1)
    tap.detach()
    labelled = opened(path).labelled
    assert sorted({t.env for t in labelled.transitions()}) == [0, 1, 2]
    assert len(labelled.identity.seeds) <= 3


def test_a_stream_is_recorded(tmp_path: Path) -> None:
    tap.stream("nobody listens", 0, 0.0, 0.0, b"")
    path = tmp_path / "run.isoscope.h5"
    run(tap.attach(FakeEnv(), path), 2)
    tap.stream("camera", 7, 0.25, 0.5, b"picture", env=0)
    tap.detach()
    labelled = opened(path).labelled
    columns = labelled.streams()
    assert columns["name"].tolist() == ["camera"]
    assert columns["capture_id"].tolist() == [7]
    assert columns["row"].tolist() == [3]
    assert labelled.sample(0) == b"picture"


def test_an_environment_that_raises_raises(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    env = tap.attach(FakeEnv(fails_at=3), path)
    with pytest.raises(ValueError, match="fails here"):
        run(env, 5)
    env.reset()
    assert session().on
    tap.detach()
    labelled = opened(path).labelled
    assert [f.what for f in labelled.failures()] == ["step"]
    assert len(labelled.transitions()) == 2


def test_a_full_disk_stops_the_recording_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.isoscope.h5"
    monkeypatch.setattr(kept, "CODE", "no program")  # so this process writes
    env = tap.attach(FakeEnv(), path)
    capfd.readouterr()
    run(env, 5)
    until(lambda: session().recorder.rows == 10 and merged() == 10)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Container, "write_journal", full)
    run(env, 5)
    until(lambda: "recording_stopped" in session().state)
    monkeypatch.undo()
    assert run(env, 8, seed=1) == run(FakeEnv(), 8, seed=1)
    assert session().on
    until(lambda: merged() == 36)
    tap.detach()
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "No space left on device" in said


def merged() -> int:
    outlet: Any = session().outlet
    count: int = outlet._stream.length("native")
    return count


def test_a_fault_turns_the_tap_off_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.isoscope.h5"
    env = tap.attach(FakeEnv(), path)
    run(env, 2)

    def fail(*_: object) -> int:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(IntakeRecorder, "native", fail)
    assert run(env, 8, seed=1) == run(FakeEnv(), 8, seed=1)
    monkeypatch.undo()
    run(env, 8)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "RuntimeError: a fault of ours" in said
    assert "the run goes on without it" in said
    assert not session().on
    tap.detach()
    found = opened(path)
    assert found.recording.complete
    assert [f.what for f in found.labelled.failures()] == ["tap"]
    assert len(found.recording) == 4


def test_a_guard_lets_the_users_wishes_through() -> None:
    tap.attach(FakeEnv())
    with pytest.raises(KeyboardInterrupt), session().guard:
        raise KeyboardInterrupt
    assert session().on
    assert session().guard(lambda x: x + 1)(2) == 3


def test_what_can_not_be_taken_is_refused_and_counted() -> None:
    recorder = IntakeRecorder(Intake(100_000, lambda: None))
    snapshot = r.Snapshot(b"x" * 1000)
    ids = [recorder.snapshot(snapshot) for _ in range(200)]
    assert ids.count(-1) == 200 - len([i for i in ids if i >= 0])
    assert -1 in ids
    assert recorder.intake.backlog < 120_000


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    taken = tmp_path / "there.isoscope.h5"
    taken.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists"):
        tap.attach(FakeEnv(), taken)
    assert taken.read_bytes() == b"mine"
    with pytest.raises(WriteError):
        tap.attach(FakeEnv(), tmp_path / "nowhere" / "a.isoscope.h5")
    for address in ("tcp://0.0.0.0:*", "tcp://example.org:4000", "tcp://[::]:*"):
        with pytest.raises(UsageError, match="takes keys"):
            tap.attach(FakeEnv(), address=address)
    for address in ("ipc:///tmp/x", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "x"):
        with pytest.raises(UsageError, match="tapping"):
            tap.attach(FakeEnv(), address=address)
    assert tap.current() is None
    tap.attach(FakeEnv())
    with pytest.raises(UsageError, match="has a tap already"):
        tap.attach(FakeEnv(), tmp_path / "second.isoscope.h5")
    with pytest.raises(UsageError, match="neither a Gymnasium Env"):
        tap.attach(object())


def test_an_address_in_use_is_told() -> None:
    tap.attach(FakeEnv())
    outlet: Any = session().outlet
    address = outlet.run.address
    with Child("tests.core.tap.attacher", address) as child:
        assert "in use" in child.ended()
        assert child.process.returncode == 3


def test_commands_are_obeyed_or_refused() -> None:
    tap.attach(FakeEnv())
    answers: list[tuple[bool, str]] = []

    def ask(what: str) -> None:
        session().ask(Command(what, {}, lambda ok, text: answers.append((ok, text))))

    ask("pause")
    assert answers == [(False, "this run does not take the command 'pause'")]
    session().allow("pause")
    for _ in range(70):
        ask("pause")
    assert len(answers) == 7
    for command in session().commands():
        command.done("now")
        command.refused("only the first answer counts")
    assert answers[7:] == [(True, "now")] * 64
    assert session().commands() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_in_a_forked_child_the_tap_is_off(tmp_path: Path) -> None:
    with Child("tests.core.tap.forker", tmp_path / "run.isoscope.h5") as child:
        assert child.says() == "child off, 5 steps"
        assert child.says() == "parent on"
        assert child.ended().replace("\n", "") == ""
        assert child.process.returncode == 0
    found = opened(tmp_path / "run.isoscope.h5")
    assert found.recording.complete
    assert len(found.recording) == 20


def test_the_import_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules); import isoscope.core.tap\n"
        "mine = {n.partition('.')[0] for n in set(sys.modules) - before}\n"
        "print(*sorted(n for n in mine if n not in sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    brought = set(done.stdout.split())
    # Compiled parts of allowed ones go by names of their own.
    assert {n for n in brought if n not in ALLOWED and "cython" not in n} <= {
        "_cyutility",
        "typing_extensions",
        "pkg_resources",
    }
    assert not {"h5py", "torch", "PySide6", "gymnasium", "platformdirs"} & brought


def test_nothing_is_left_when_it_is_detached() -> None:
    before = threading.active_count()
    run(tap.attach(FakeEnv()), 3)
    assert threading.active_count() > before
    tap.detach()
    until(lambda: threading.active_count() == before)
    tap.detach()
