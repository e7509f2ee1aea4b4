"""An engine in a process of its own: it does as one here, and may go at any time."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

import isoscope.core.replay.worker
from isoscope.core.replay.branch.editing import StateEditing
from isoscope.core.replay.engine import Engine, ReadsLater, ReplayError
from isoscope.core.replay.worker.engine import READS, WorkerEngine
from isoscope.core.replay.worker.messages import Made, Make
from isoscope.core.replay.worker.process import Worker
from isoscope.core.tap.adapters.superdex.configuration import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAKE = Path(__file__).with_name("fake_engine.py")
SIDE = Path(isoscope.core.replay.worker.__file__).with_name("side.py")
WORLD = np.array([0], np.int64)
START_S = 60.0


def start() -> Worker:
    command = [sys.executable, str(SIDE), str(os.getpid())]
    return Worker(command, os.environ, "the engine's process")


def ask(worker: Worker, **request: Any) -> Made:
    told = {"file": str(FAKE), "actors": [("Sled", 4)], **request}
    answer = worker.ask(msgspec.msgpack.encode(Make(**told)), START_S)
    return msgspec.msgpack.decode(answer, type=Made)


def begin(**request: Any) -> WorkerEngine:
    worker = start()
    try:
        made = ask(worker, **{"factory": "make", **request})
        assert made.problem == ""
        return WorkerEngine(worker, made, "fake 1.0")
    except BaseException:
        worker.close(at_once=True)
        raise


@pytest.fixture
def engine() -> Iterator[WorkerEngine]:
    made = begin(driven={"Sled/force": [0]})
    yield made
    made.close()
    assert is_gone(made._worker.pid)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def push(engine: WorkerEngine, force: float, h_s: float = 0.5) -> None:
    engine.apply("Sled", "force", np.array([[force, 0.0]]), WORLD)
    engine.step(h_s, WORLD)


def pose(engine: WorkerEngine) -> float:
    values = engine.read("Sled", "pose", WORLD)
    assert values.shape == (1, 2)
    return float(values[0, 0])


# -- it does what it is told -----------------------------------------------------------


def test_it_steps(engine: WorkerEngine) -> None:
    one: Engine = engine
    assert isinstance(one, ReadsLater)
    assert engine.has("Sled", "pose")
    assert not engine.has("Sled", "height")
    assert not engine.has("Sledge", "pose")
    push(engine, 4.0)  # v = 0.5 · 4 / 2, q = 0.5 · v
    assert pose(engine) == 0.5
    assert engine.read("Sled", "jointVelocity", WORLD).tolist() == [[1.0, 0.0]]
    assert engine.read("Sled", "force", WORLD).tolist() == [[4.0, 0.0]]
    engine.step(0.5, WORLD[:0])  # nobody's step
    assert pose(engine) == 0.5


def test_states_are_kept_and_taken_up(engine: WorkerEngine) -> None:
    push(engine, 4.0)
    kept, written = engine.capture(), engine.state_bytes()
    push(engine, -1.0)
    after = pose(engine)
    engine.restore(kept)
    assert pose(engine) == 0.5
    push(engine, -1.0)
    assert pose(engine) == after
    engine.restore_bytes(written, [])
    assert pose(engine) == after
    engine.restore_bytes(written)
    assert pose(engine) == 0.5
    assert engine.state_bytes() == written
    engine.release(kept)
    engine.finish()


def test_a_part_of_the_state_is_edited(engine: WorkerEngine) -> None:
    one: Engine = engine
    assert isinstance(one, StateEditing)
    push(engine, 4.0)  # q = 0.5, v = 1
    assert pose(engine) == 0.5
    engine.edit_state("Sled", "positions", 0, [3.0], 0)
    assert pose(engine) == 3.0, "what was read before is not told again"
    assert engine.read("Sled", "jointVelocity", WORLD).tolist() == [[1.0, 0.0]]
    engine.edit_state("Sled", "jointVelocity", None, [-1.0, 0.0], 0)
    assert pose(engine) == 3.0
    assert engine.read("Sled", "jointVelocity", WORLD).tolist() == [[-1.0, 0.0]]


@pytest.mark.parametrize(
    ("actor", "field", "component", "value", "why"),
    [
        ("Sledge", "pose", None, [0.0, 0.0], "can be edited are Sled"),
        ("Sled", "translation", None, [0.0] * 3, "its state has positions, velocities"),
        ("Sled", "pose", None, [1.0], "1 number for 2"),
        ("Sled", "pose", 2, [1.0], "component 2; there are 0 to 1"),
        ("Sled", "pose", "Rail", [1.0], "no component Rail"),
    ],
)
def test_an_edit_of_what_is_not_there(
    engine: WorkerEngine,
    actor: str,
    field: str,
    component: int | str | None,
    value: list[float],
    why: str,
) -> None:
    push(engine, 4.0)
    before = engine.state_bytes()
    with pytest.raises(ReplayError, match=why):
        engine.edit_state(actor, field, component, value, 0)
    assert engine.state_bytes() == before


def test_states_are_told_later(engine: WorkerEngine) -> None:
    seen: list[tuple[float, bool | None]] = []

    def take(values: list[Any], equal: bool | None) -> None:
        seen.append((float(values[0][0]), equal))

    expected = []
    for k in range(READS + 5):
        push(engine, float(k % 7))
        engine.read_later([("Sled", "pose")], b"", take)
    assert len(seen) == READS
    engine.finish()
    q = v = 0.0
    for k in range(READS + 5):
        v += 0.5 * (k % 7) / 2.0
        q += 0.5 * v
        expected.append((q, None))
    assert seen == expected


def test_what_was_read_before_a_refusal_is_told(engine: WorkerEngine) -> None:
    seen: list[float] = []
    push(engine, 4.0)
    engine.read_later([("Sled", "pose")], b"", lambda v, e: seen.append(float(v[0][0])))
    engine.restore(99)
    with pytest.raises(ReplayError, match="fake"):
        engine.finish()
    assert seen == [0.5]


@pytest.mark.parametrize(
    "set_as", [{0: 4.0}, {0: 4.0, 1: 0.0}, {}], ids=["one", "both", "none"]
)
def test_the_whole_state_however_forces_were_set(
    engine: WorkerEngine, set_as: dict[int, float]
) -> None:
    force = set_as.get(0, 0.0)
    v = 0.5 * force / 2.0
    state = struct.pack("<ddq", 0.5 * v, v, len(set_as))
    state += b"".join(struct.pack("<qd", *one) for one in set_as.items())
    whole = b"fake\x01\x00\x01\x00" + bytes(8) + struct.pack("<Q", len(state)) + state
    told = hashlib.blake2b(whole, digest_size=16).digest()
    seen: list[bool | None] = []
    start = engine.capture()
    for digests in (told, told, bytes([1] * 16), told):
        engine.restore(start)
        push(engine, force)
        engine.read_later([("Sled", "pose")], digests, lambda v, e: seen.append(e))
    engine.finish()
    assert seen == [True, True, None, True]
    same: list[bool] = []
    for data in (whole, whole[:24] + bytes(8) + whole[32:], whole):
        engine.restore(start)
        push(engine, force)
        before = engine.state_bytes()
        engine.compare_later(data, same.append)
        engine.finish()
        assert engine.state_bytes() == before
    assert same == [True, force == 0, True]


def test_a_digest_is_no_proof_of_a_difference(engine: WorkerEngine) -> None:
    """Padding that the engine writes out is another process's."""
    push(engine, 4.0)
    whole = engine.state_bytes()
    gap = whole[:8] + b"garbage!" + whole[16:]
    seen: list[bool | None] = []
    told = hashlib.blake2b(gap, digest_size=16).digest()
    engine.read_later([("Sled", "pose")], told, lambda v, e: seen.append(e))
    engine.compare_later(gap, seen.append)
    engine.finish()
    assert seen == [None, True]


def test_the_configuration(engine: WorkerEngine) -> None:
    here = dict(engine.configuration())
    assert here["gravity"] == [0.0, -9.8, 0.0]
    assert here["Sled#4/jointFriction/0/viscous"] == 0.0
    assert engine.configuration_digest() == digest(here)
    wanted = {
        "gravity": [0.0, None, -1.0],
        "Sled#4/jointFriction/0/viscous": 2.0,
        "Sled#4/jointInertia": [4.0, 1.0],
        "Sled#4/density": 3.0,
    }
    engine.configure(wanted)
    after = engine.configuration()
    assert after["gravity"] == [0.0, -9.8, -1.0]
    assert after["Sled#4/jointFriction/0/viscous"] == 2.0
    assert after["Sled#4/jointFriction/1/viscous"] == 0.0
    assert after["Sled#4/jointInertia"] == [4.0, 1.0]
    assert engine.configuration_digest() == digest(dict(after)) != digest(here)
    push(engine, 4.0)
    assert pose(engine) == 0.25


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"topology/actors": 3}, "actors: 3 in the recording, 1 here"),
        ({"Sled#4/jointInertia": [-1.0, 1.0]}, "an inertia below zero"),
    ],
)
def test_a_configuration_that_can_not_be(
    engine: WorkerEngine, values: dict[str, Any], said: str
) -> None:
    with pytest.raises(ReplayError, match=said):
        engine.configure(values)
    assert engine.configuration()["gravity"] == [0.0, -9.8, 0.0]


def test_snapshots_are_looked_at_first(engine: WorkerEngine) -> None:
    push(engine, 4.0)
    whole = engine.state_bytes()
    engine.check_bytes(whole)
    for wrong in (whole[:-3], whole + b"abc", whole[:10], b""):
        with pytest.raises(ReplayError, match=r"cut or damaged|another build"):
            engine.check_bytes(wrong)
    with pytest.raises(ReplayError, match="another build"):
        engine.check_bytes(b"fake\x02" + whole[5:])
    assert engine.state_bytes() == whole


def test_inputs_that_are_not_there(engine: WorkerEngine) -> None:
    with pytest.raises(ReplayError, match="no such control input"):
        engine.apply("Sled", "targetPose", np.zeros((1, 2)), WORLD)


# -- what makes the scene --------------------------------------------------------------


def refused(file: Path | str = FAKE, factory: str = "make", **more: Any) -> str:
    worker = start()
    try:
        return ask(worker, file=str(file), factory=factory, **more).problem
    finally:
        worker.close()
        assert is_gone(worker.pid)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("failing", "failing in .*fake_engine.py: ValueError: no such robot"),
        ("absent", "has no absent"),
        ("nothing", "can't be called"),
        ("text", "it made a builtins.str"),
    ],
)
def test_factories_that_make_nothing(factory: str, said: str) -> None:
    import re

    assert re.search(said, refused(factory=factory))


def test_modules_that_can_not_be_imported(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import nowhere_to_be_found")
    assert "No module named 'nowhere_to_be_found'" in refused(wrong)
    wrong.write_text("raise SystemExit(4)")
    assert "SystemExit: 4" in refused(wrong)


def test_environments_in_packages_and_in_resets(tmp_path: Path) -> None:
    package = tmp_path / "robots" / "rails"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sleds.py").write_text(FAKE.read_text())
    (package / "make.py").write_text("from .sleds import Environment, Later\n")
    made = begin(
        file=str(package / "make.py"),
        factory="Environment",
        arguments=[-1.0],
        named={"z": 2.0},
    )
    try:
        assert made.configuration()["gravity"] == [0.0, -1.0, 2.0]
    finally:
        made.close()
    made = begin(file=str(package / "make.py"), factory="Later")
    try:
        assert pose(made) == 0.0
    finally:
        made.close()
    assert not list(package.rglob("*.pyc"))


# -- when it goes ----------------------------------------------------------------------


def test_it_is_killed(engine: WorkerEngine) -> None:
    seen: list[float] = []
    for _ in range(READS + 3):
        push(engine, 4.0)
        engine.read_later(
            [("Sled", "pose")], b"", lambda v, e: seen.append(float(v[0][0]))
        )
    os.kill(engine._worker.pid, signal.SIGKILL)
    with pytest.raises(ReplayError, match="was ended by SIGKILL"):
        engine.finish()
    assert len(seen) == READS
    with pytest.raises(ReplayError, match="was ended by SIGKILL"):
        engine.state_bytes()


def test_its_last_words_are_told() -> None:
    worker = start()
    try:
        with pytest.raises(ReplayError) as error:
            ask(worker, factory="dying")
    finally:
        worker.close()
    assert str(error.value) == (
        "the engine's process ended with status 3; its last words: "
        "the licence has run out"
    )


def test_it_does_not_answer(
    engine: WorkerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.core.replay.worker.engine.ANSWER_S", 0.3)
    engine.step(-1.0, WORLD)
    with pytest.raises(ReplayError, match="no answer within 0 s"):
        engine.finish()
    assert is_gone(engine._worker.pid)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="No such file"):
        Worker([str(tmp_path / "python")], os.environ, "it")


PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, sys.argv[1], str(os.getpid())], stdin=subprocess.PIPE,
    stdout=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_it_does_not_outlive_who_started_it() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(SIDE)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_for(lambda: is_gone(child))


def wait_for(what: Callable[[], bool], within_s: float = 30.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False
