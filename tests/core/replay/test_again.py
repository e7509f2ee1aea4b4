"""Our own recordings, stepped again: the same to the last bit, or told where not."""

from __future__ import annotations

import json
from dataclasses import replace as with_
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.jsonform import encode
from isoscope.core.replay.again import ReplayOptions, replay
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.replay_sentence import replay_verdict
from tests.core.isolation.worlds import World, examine
from tests.core.replay.recorded import record_batch, record_in_turn

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.engine import Blueprint, Engine
    from isoscope.core.replay.replay_forms import Replay

MODES = ("actions", "pinned", "alone")
TASKS: dict[str, dict[str, Any]] = {
    "CartPole": {"max_steps": 6},
    "CartPoleLab": {"max_steps": 6},
    "DoublePendulumRail": {"max_steps": 5},
    "FallingBodies": {"max_steps": 2, "control_hz": 50, "simulation_hz": 50},
    "Pusher": {"max_steps": 2, "control_hz": 50, "simulation_hz": 50},
}


def factory(task: str, scene: Any = "shared", precision: Any = "float64") -> EnvFactory:
    return EnvFactory(
        task,
        TASKS[task],
        scene=scene,
        precision=precision,
        integrator="semi_implicit" if task != "CartPole" else None,
    )


def answers(seen: Replay) -> list[str]:
    claims = seen.claims
    return [getattr(claims, name).answer for name in claims.__struct_fields__]


def assert_the_same(examined: Examined, states: bool = True) -> None:
    """In every mode, to the last bit, all that is no reset."""
    kind = examined.attribution.labels.kind
    for mode in MODES:
        seen = replay(examined, make_builtin, ReplayOptions(mode=mode))
        assert seen.not_checkable == []
        assert answers(seen) == ["yes", "yes", "yes"], seen.claims
        assert seen.first_divergence is None
        assert seen.compared_steps == int((kind == 0).sum())
        assert seen.states_equal == seen.states_compared
        if states:
            assert seen.states_compared > 0


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("scene", ["shared", "independent"])
@pytest.mark.parametrize("task", TASKS)
def test_in_turn(tmp_path: Path, task: str, scene: str, precision: str) -> None:
    made = factory(task, scene, precision)
    path, long = tmp_path / "run.isoscope.h5", TASKS[task]["max_steps"] > 2
    every = 3 if long else 1
    assert_the_same(record_in_turn(path, made, steps=8 if long else 3, every=every))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_resident_batches(tmp_path: Path, mode: str, precision: str) -> None:
    made = factory("CartPole", precision=precision)
    path = tmp_path / "run.isoscope.h5"
    # what unseen worlds do is not known, so whole states are not compared
    assert_the_same(
        record_batch(path, made, 4, visible=[1, 3], mode=mode), states=False
    )


def test_a_batch_of_which_all_is_seen(tmp_path: Path) -> None:
    examined = record_batch(tmp_path / "run.isoscope.h5", factory("FallingBodies"))
    seen = replay(examined, make_builtin)
    assert answers(seen) == ["yes", "yes", "yes"]
    assert seen.states_equal == seen.states_compared > 0


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_worlds_that_end_at_other_times(tmp_path: Path, mode: str) -> None:
    made = EnvFactory("CartPole", {"upright_rad": 0.03}, integrator="semi_implicit")
    examined = record_batch(tmp_path / "run.isoscope.h5", made, 3, 12, mode=mode)
    labelled = examined.recording.labelled
    assert labelled is not None
    assert len({r.row for r in labelled.resets()}) > 3, "they end together"
    assert_the_same(examined, states=False)  # alone, whole states are not compared


# -- a part of it ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cartpoles(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    """Two CartPoles that share a scene; episodes of 6, a snapshot every 4 steps."""
    path = tmp_path_factory.mktemp("replay") / "run.isoscope.h5"
    return record_in_turn(path, factory("CartPole"))


def test_from_a_position_on(cartpoles: Examined) -> None:
    labels = cartpoles.attribution.labels
    at = (labels.env == 1) & (labels.control_step == 5)
    start = int(np.flatnonzero(at)[0])
    options = ReplayOptions(start, env=1, steps=1)
    seen = replay(cartpoles, make_builtin, options)
    assert seen.compared_steps == 2
    assert [p.env_a for p in seen.pairs] == [1]
    assert answers(seen) == ["yes", "yes", "yes"]
    # the last ones before it, not the first: of both, since they share the scene
    labelled = cartpoles.recording.labelled
    assert labelled is not None
    snapshots = {s.id: s for s in labelled.snapshots()}
    used = [snapshots[int(n)] for n in seen.snapshots_used]
    assert {(s.env, s.control_step) for s in used} == {(0, 4), (1, 4)}


def test_restored_twice(cartpoles: Examined) -> None:
    seen = replay(cartpoles, make_builtin, ReplayOptions(twice=True))
    assert [(one.env, one.equal, one.steps) for one in seen.twice] == [
        (0, True, 12),
        (1, True, 12),
    ]


def test_progress_can_stop_it(cartpoles: Examined) -> None:
    def stop(done: int, total: int) -> None:
        raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        replay(cartpoles, make_builtin, progress=stop)


# -- where it is not the same ----------------------------------------------------------


class Spoilt:
    """An engine that another one is behind, and of which something is changed."""

    def __init__(self, engine: Engine, **changed: Any) -> None:
        self._engine = engine
        for name, make in changed.items():
            setattr(self, name, make(engine))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def spoilt(**changed: Any) -> Any:
    def make(blueprint: Blueprint) -> Any:
        return Spoilt(make_builtin(blueprint), **changed)

    return make


def test_not_a_number_is_a_difference(cartpoles: Examined) -> None:
    def reading(engine: Engine) -> Any:
        def read(actor: str, field: str, worlds: Any) -> Any:
            values = engine.read(actor, field, worlds)
            return values * np.nan if field == "pose" else values

        return read

    seen = replay(cartpoles, spoilt(read=reading))
    first = seen.first_divergence
    assert first is not None
    assert (first.field, first.size) == ("pose", np.inf)
    assert answers(seen)[1:] == ["no", "no"]
    assert json.loads(encode(seen))["first_divergence"]["size"] == "inf"


def test_a_tolerance_in_the_fields_own_unit(cartpoles: Examined) -> None:
    def reading(engine: Engine) -> Any:
        def read(actor: str, field: str, worlds: Any) -> Any:
            values = engine.read(actor, field, worlds)
            return values + 1e-5 if field == "pose" else values

        return read

    make = spoilt(read=reading)
    strict = replay(cartpoles, make)
    assert strict.first_divergence is not None
    assert strict.first_divergence.size == pytest.approx(1e-5)
    loose = replay(cartpoles, make, ReplayOptions(tolerances={"pose": 2e-5}))
    assert loose.first_divergence is None
    assert answers(loose)[1:] == ["yes", "no"]
    tight = replay(cartpoles, make, ReplayOptions(tolerances={"pose": 0.5e-5}))
    assert tight.first_divergence is not None
    assert tight.first_divergence.field == "pose"


def test_another_configuration_is_named(cartpoles: Examined) -> None:
    def configuring(engine: Engine) -> Any:
        def configure(values: Any) -> None:
            engine.configure({**values, "damping": [0.0, 0.0]})

        return configure

    seen = replay(cartpoles, spoilt(configure=configuring))
    assert answers(seen)[0] == "no"
    (one,) = seen.configuration_differences
    assert (one.key, one.a, one.b) == ("damping", [0.05, 0.05], [0.0, 0.0])
    assert seen.first_divergence is not None
    assert "damping" in seen.first_divergence.why


def test_a_restore_that_is_no_function_of_the_state(cartpoles: Examined) -> None:
    count = iter(range(10_000))

    def restoring(engine: Engine) -> Any:
        def restore(data: bytes, worlds: Any = None) -> None:
            engine.restore_bytes(data, worlds)
            engine.configure({"damping": [0.05, 0.05 + 1e-3 * next(count)]})

        return restore

    seen = replay(cartpoles, spoilt(restore_bytes=restoring), ReplayOptions(twice=True))
    assert [one.equal for one in seen.twice] == [False, False]
    assert "not a function of the state" in seen.twice[0].why


def test_an_engine_that_dies_halfway(cartpoles: Examined) -> None:
    def dying(engine: Engine) -> Any:
        left = iter(range(7))

        def step(h_s: float, worlds: Any) -> None:
            if next(left, None) is None:
                raise OSError("the worker is gone")
            engine.step(h_s, worlds)

        return step

    seen = replay(cartpoles, spoilt(step=dying))
    assert seen.compared_steps == 7
    assert seen.stopped == "the worker is gone"
    assert answers(seen)[1:] == ["not_checkable", "not_checkable"]
    assert "the worker is gone" in seen.claims.bit_for_bit.reason


# -- refused before anything is stepped ------------------------------------------------


def refused(examined: Examined, make: Any = make_builtin, **options: Any) -> str:
    with pytest.raises(IsoscopeError) as error:
        replay(examined, make, ReplayOptions(**options))
    return str(error.value)


def test_a_bare_recording() -> None:
    world = World()
    world.reset(0)
    assert "bare recording" in refused(examine(world))


def test_a_recording_without_snapshots(tmp_path: Path) -> None:
    made = factory("CartPole")
    examined = record_in_turn(tmp_path / "run.isoscope.h5", made, steps=2, every=0)
    assert "holds no snapshots" in refused(examined)


def test_what_is_not_there(cartpoles: Examined) -> None:
    assert "there are 0, 1" in refused(cartpoles, env=7)
    assert "translation" in refused(cartpoles, tolerances={"height": 1.0})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"engine": "isoscope 0.0.1 (torch 1)"}, "here is isoscope"),
        ({"precision": "float16"}, "don't tell their precision"),
        ({"configuration": {"model": "0" * 64}}, "not the one that was recorded"),
        ({"worlds": 3}, "another number of worlds"),
        ({"precision": "float32"}, "another precision"),
    ],
)
def test_of_another_build(
    cartpoles: Examined, change: dict[str, Any], said: str
) -> None:
    def make(blueprint: Blueprint) -> Engine:
        return make_builtin(with_(blueprint, **change))

    assert said in refused(cartpoles, make)


def test_a_snapshot_that_is_cut(
    cartpoles: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled = cartpoles.recording.labelled
    assert labelled is not None
    whole = type(labelled).snapshot_data

    def cut(self: Any, number: int) -> bytes | None:
        data = whole(self, number)
        return data[:-9] if data and number == 3 else data

    monkeypatch.setattr(type(labelled), "snapshot_data", cut)
    assert "it is cut" in refused(cartpoles)


def test_another_engine(cartpoles: Examined) -> None:
    def make(blueprint: Blueprint) -> Engine:
        identity = type(blueprint.identity)(engine="superdex")
        return make_builtin(with_(blueprint, identity=identity))

    assert "recorded from superdex" in refused(cartpoles, make)
    with pytest.raises(ReplayError, match="none of the program's"):
        make_builtin(_of_task(cartpoles, "Juggling"))


def _of_task(examined: Examined, task: str) -> Blueprint:
    from isoscope.core.replay.tape import tapes

    (tape,) = tapes(examined)
    identity = type(tape.blueprint.identity)(engine="isoscope", extra={"task": task})
    return with_(tape.blueprint, identity=identity)


# -- the written form ------------------------------------------------------------------


def test_the_written_form(cartpoles: Examined) -> None:
    seen = replay(cartpoles, make_builtin)
    told = json.loads(encode(seen))
    assert next(iter(told)) == "schema"
    assert told["schema"] == "isoscope.replay/1"
    assert told["engine"].startswith("isoscope ")
    assert told["snapshots_used"]
    assert set(told["claims"]) == {
        "same_configuration",
        "within_tolerance",
        "bit_for_bit",
    }
    assert replay_verdict(seen) == (
        "2 environments stepped again, equal to the last bit in 40 native steps."
    )
