"""What a watched native scene was in before and after each step, as it is told."""

from __future__ import annotations

import enum
import struct
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.tap.adapters.superdex import engine, told_configuration
from isoscope.core.tap.adapters.superdex import watch as watching
from isoscope.core.tap.adapters.superdex.build import statuses_of
from isoscope.core.tap.merge import Merger
from isoscope.core.tap.packet import Outflow
from isoscope.core.tap.raw_natives import Layout
from isoscope.core.tap.target import Target


class Status(enum.Enum):
    CONVERGED = 1
    DIVERGED = 2


class OldStatus:
    """As the engine's first release has it, which can't be gone through itself."""

    CONVERGED = SimpleNamespace(name="CONVERGED", value=1)
    DIVERGED = SimpleNamespace(name="DIVERGED", value=2)
    __members__: ClassVar = {"CONVERGED": CONVERGED, "DIVERGED": DIVERGED}


class Bytes(bytearray):
    """The engine's array of bytes, as far as it is used."""


class Scene:
    """One number is all of its state."""

    def __init__(self) -> None:
        self.state = 0
        self.held: dict[int, int] = {}
        self.unreadable = False
        self.time_s = 0.0
        self.gravity = -9.8

    def capture_state_to_bytes(self, into: Bytes) -> None:
        # States have several lengths.
        into += str(self.state).encode()

    def get_solver_stats(self) -> Any:
        return SimpleNamespace(
            convergence_status=Status.CONVERGED,
            max_non_linear_iters=1,
            residual_norm=0.0,
        )

    def get_total_simulation_time(self) -> float:
        return self.time_s


PHYSICS = SimpleNamespace(
    Scene=Scene, DynamicArrayUint8=Bytes, ConvergenceStatus=Status
)


class Actors:
    """One body with one value, which is the state and what is put in."""

    def __init__(self, recorder: Any, scene: Scene, *_: Any) -> None:
        self._scene = scene
        self.known: dict[int, Any] = {}
        self._frame = recorder.frame([r.Field(name="x")], np.float64, scene=0)

    def refresh(self) -> Any:
        return self

    def frames(self) -> list[Any]:
        return [self._frame]

    def layout(self) -> Layout:
        return Layout("<f8", 1, [0])

    def read_inputs(self) -> dict[Any, bytes]:
        return {(0, "x"): struct.pack("<d", self._scene.state)}

    def taken_inputs(self) -> dict[Any, slice]:
        return {(0, "x"): slice(0, 8)}

    def taker(self, _: Any) -> Any:
        def take(head: bytes) -> bytes:
            if self._scene.unreadable:
                raise RuntimeError("can't be read")
            return head + struct.pack("<d", self._scene.state)

        return take


class Guard:
    """Counts what failed."""

    def __init__(self) -> None:
        self.failures = 0

    def failed(self, error: BaseException) -> None:
        self.failures += 1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        return None


class Run:
    """A watched scene of several environments."""

    def __init__(self) -> None:
        self.guard = Guard()
        self.recorder = IntakeRecorder(Intake(1 << 24, lambda: None))
        self.outflow = Outflow(self.recorder.intake)
        session = SimpleNamespace(recorder=self.recorder, on=True, guard=self.guard)
        self.scene = Scene()
        made: Any = watching.SceneWatch
        self.watch = made(self.scene, PHYSICS, session, 0, {})
        self._next = 0

    def begins(self, env: int) -> None:
        self.watch.owner = SimpleNamespace(
            **{"number": env, "episode": 1, "control_step": 1, "substep": 0},
            **{"first_row": -1, "last_row": -1},
        )

    def ends(self) -> Any:
        self.watch.hand_on()
        owner, self.watch.owner = self.watch.owner, None
        return owner

    def step(self, to: int, before: Any = None, after: Any = None) -> None:
        """Step, with callbacks within the step."""

        def stepped(scene: Scene, h_s: float) -> None:
            if before is not None:
                before()
            scene.state = to
            scene.time_s += h_s
            if after is not None:
                after()

        engine.watched[self.scene] = self.watch
        try:
            engine._step(stepped, "step")(self.scene, 0.01)
        finally:
            del engine.watched[self.scene]

    def pull(self, gravity: float) -> None:
        """Set the gravity, as the engine's wrapped method does."""

        def given(scene: Scene, gravity: float) -> None:
            scene.gravity = gravity

        engine.setting(given, "set_gravity", lambda _: self.watch)(self.scene, gravity)

    def put_in(self, value: int) -> None:
        self.watch.overtaken()
        self.scene.state = value

    def capture(self, value: int = -1) -> Any:
        value = self._next if value < 0 else value
        self._next += 1
        self.scene.held[value] = self.scene.state
        self.watch.captured(SimpleNamespace(value=value))
        return SimpleNamespace(value=value)

    def restore(self, handle: Any, released: bool = False) -> None:
        self.scene.state = self.scene.held[handle.value]
        self.watch.restored(handle, released)

    def tables(self) -> dict[str, Any]:
        target = Target(Intake(1 << 24, lambda: None))
        merged = Outflow(target.intake)
        Merger(target).take(self.outflow.take())
        found: dict[str, list[Any]] = {}
        for block in merged.take().blocks:
            schema = target.intake.buffers[block.table].schema
            rows = np.frombuffer(block.content, schema.dtype)
            name = "frame" if schema.name.startswith("frame") else schema.name
            found.setdefault(name, []).append(rows)
        return {name: np.concatenate(rows) for name, rows in found.items()}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    class Configuration:
        def __init__(self, scene: Scene, *_: Any) -> None:
            self._scene = scene

        def look_for_pairs(self) -> None: ...

        def read(self, _: Any) -> dict[str, Any]:
            return {"gravity": [0.0, self._scene.gravity, 0.0]}

    monkeypatch.setattr(told_configuration, "Configuration", Configuration)
    monkeypatch.setattr(watching, "Actors", Actors)
    return Run()


def digest(state: int) -> list[int]:
    return list(blake2b(str(state).encode(), digest_size=16).digest())


@pytest.mark.parametrize("kind", [Status, OldStatus])
def test_the_solvers_statuses_are_found_in_every_release(kind: Any) -> None:
    found = statuses_of(SimpleNamespace(ConvergenceStatus=kind))
    assert [(s.name, s.value) for s in found] == [("CONVERGED", 1), ("DIVERGED", 2)]


def both(natives: Any) -> list[Any]:
    return [[n["digest_before"].tolist(), n["digest_after"].tolist()] for n in natives]


def test_each_step_has_the_digests_of_what_was_there_and_all_values(run: Run) -> None:
    """Four environments in turn, far longer than anything is tried out."""
    chance = np.random.default_rng(3)
    own = [run.capture() for _ in range(4)]
    states, expected = [0] * 4, []
    for _ in range(150):
        for env in range(4):
            run.begins(env)
            run.restore(own[env], released=True)
            for _ in range(2):
                to = int(chance.integers(1, 2_000))
                run.step(to)
                expected.append((states[env], to))
                states[env] = to
            own[env] = run.capture()
            owner = run.ends()
            assert (owner.first_row, owner.last_row) == (
                len(expected) - 2,
                len(expected) - 1,
            )
    tables = run.tables()
    told = [[digest(a), digest(b)] for a, b in expected]
    assert both(tables["native"]) == told
    assert tables["frame"]["row"].tolist() == list(range(len(expected)))
    assert tables["frame"]["values"].ravel().tolist() == [b for _, b in expected]
    assert "dropped" not in tables
    assert run.guard.failures == 0


def test_another_state_than_was_captured_is_what_the_step_begins_from(run: Run) -> None:
    run.begins(0)
    run.step(5)
    for _ in range(60):
        handle = run.capture()
        run.scene.held[handle.value] = 77  # the engine restores something else
        run.restore(handle)
        run.step(6)
    run.ends()
    assert both(run.tables()["native"])[1:] == [[digest(77), digest(6)]] * 60


def test_what_happens_is_told_once_wherever_it_was_handed_on(run: Run) -> None:
    run.begins(0)
    for _ in range(3):
        run.step(5)
        run.watch.hand_on()  # with nothing that happened
        run.restore(run.capture())
        run.watch.hand_on()  # without a step
        run.step(6)
    run.ends()
    events = run.tables()["events"]
    assert events["row"].tolist() == [1, 1, 3, 3, 5, 5]
    assert events["kind"].tolist() == [1, 0] * 3


def test_a_step_that_can_not_be_read_leaves_the_others_right(run: Run) -> None:
    run.begins(0)
    run.step(5)
    run.scene.unreadable = True
    run.step(123)
    run.scene.unreadable = False
    run.step(7)
    run.ends()
    assert run.guard.failures == 1
    assert both(run.tables()["native"]) == [
        [digest(0), digest(5)],
        [digest(123), digest(7)],
    ]


@pytest.mark.parametrize("how", ["captured", "released", "restored", "all"])
def test_a_handle_that_is_used_again_names_no_old_snapshot(run: Run, how: str) -> None:
    run.begins(0)
    run.step(5)
    handle = run.capture(9)
    number = run.watch.snapshot("asked", SimpleNamespace(value=9))
    run.restore(handle, released=how == "restored")
    run.step(6)
    if how in ("released", "all"):
        run.watch.released(handle if how == "released" else None)
    if how == "captured":
        run.capture(9)
    run.restore(handle)
    run.step(7)
    run.ends()
    assert run.tables()["native"]["restored_from"].tolist() == [-1, number, -1]


def test_what_a_callback_puts_in_after_a_step_is_not_what_was_applied(run: Run) -> None:
    run.begins(0)
    run.step(5)
    run.step(6, after=lambda: [*map(run.put_in, (50, 60))])
    run.step(7, before=lambda: run.put_in(70))
    run.ends()
    tables = run.tables()
    assert tables["frame"]["values"].ravel().tolist() == [5.0, 6.0, 7.0]
    # The state is the one that is there after the callbacks.
    assert both(tables["native"]) == [
        [digest(0), digest(5)],
        [digest(5), digest(60)],
        [digest(60), digest(7)],
    ]


def test_a_step_goes_by_what_a_callback_sets_before_it(run: Run) -> None:
    run.begins(0)
    run.step(5)
    run.step(6, before=lambda: run.pull(-1.0), after=lambda: run.pull(-2.0))
    run.step(7)
    run.step(8, after=lambda: run.pull(-3.0))
    run.step(9)
    run.ends()
    tables = run.tables()
    told = tables["native"]["gravity"][:, 1].tolist()
    assert told == [-9.8, -1.0, -2.0, -2.0, -3.0]
    changes = tables["changes"]
    assert changes["row"].tolist() == [0, 1, 2, 4]
    assert changes["env"].tolist() == [-1, 0, 0, 0]


@pytest.mark.parametrize("over", [False, True])
def test_a_step_that_a_callback_ends_badly_is_one_if_it_was_made(
    run: Run, over: bool
) -> None:
    def fails() -> None:
        raise LookupError

    run.begins(0)
    run.step(5)
    with pytest.raises(LookupError):
        run.step(6, **{"after" if over else "before": fails})
    run.step(7)
    run.ends()
    tables = run.tables()
    made = [[digest(0), digest(5)], [digest(5), digest(6)], [digest(6), digest(7)]]
    if not over:
        made[1:] = [[digest(5), digest(7)]]
    assert both(tables["native"]) == made
    assert len(tables["failures"]) == 1
    assert not engine.stepping
