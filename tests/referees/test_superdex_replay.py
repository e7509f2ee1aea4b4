"""The real engine steps its own recordings again: to the last bit, or told where not.

Trial cases 5, 6 and 7 on it, and what becomes of a replay whose engine is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.doctor.programs import VARIABLE
from isoscope.app.main import main as isoscope
from isoscope.app.replay_engines import EngineOptions, engine_maker
from isoscope.core.attribution.attributor import attribute
from isoscope.core.errors import IsoscopeError
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.registry import load
from isoscope.core.replay.again import ReplayOptions, replay
from isoscope.core.replay.tape import tapes
from tests.environments import environment
from tests.referees.test_superdex_tap import ENGINE_1_0_1, LINKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.replay.engine import Blueprint, EngineMaker
    from isoscope.core.replay.replay_forms import Replay
    from isoscope.core.replay.worker.engine import WorkerEngine

pytestmark = pytest.mark.referee

RUN = Path(__file__).with_name("engine_replayed_run.py")
ENVS, STEPS, M = 4, 500, 2
ALONE = ReplayOptions(mode="alone")


@pytest.fixture(scope="module")
def engine() -> Iterator[Path]:
    python = environment("superdex-1.0.1", "3.12", ENGINE_1_0_1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(python))
        yield python


@pytest.fixture(scope="module")
def recorded(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each run, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("replayed")

    def made(run: str) -> Path:
        out = folder / f"{run}.isoscope.h5"
        if not out.exists():
            places = {"PYTHONPATH": str(LINKS), "XDG_RUNTIME_DIR": str(folder)}
            subprocess.run(
                [engine, RUN, out, run],
                check=True,
                timeout=300,
                env={**os.environ, **places},
            )
        return out

    return made


def examine(path: Path) -> Examined:
    recording = load(path)
    return Examined(recording, attribute(recording))


def maker(examined: Examined, module: str | None = None) -> EngineMaker:
    labelled = examined.recording.labelled
    assert labelled is not None
    return engine_maker(labelled.identity, EngineOptions(module=module))


def again(path: Path, options: ReplayOptions | None = None) -> Replay:
    examined = examine(path)
    return replay(examined, maker(examined), options)


def answers(seen: Replay) -> list[str]:
    claims = seen.claims
    return [getattr(claims, name).answer for name in claims.__struct_fields__]


def places(seen: Replay) -> dict[int, tuple[int | None, int | None]]:
    return {
        p.env_a: (p.first_divergence.episode, p.first_divergence.control_step)
        for p in seen.pairs
        if p.first_divergence is not None
    }


# -- bit for bit -----------------------------------------------------------------------


def test_four_environments_alone_to_the_last_bit(
    recorded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded("together")
    capsys.readouterr()
    given = ["--alone", "--twice", "--engine", "superdex", "--json"]
    assert isoscope(["replay", str(path), *given]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    seen = json.loads(said.out)
    assert [c["answer"] for c in seen["claims"].values()] == ["yes", "yes", "yes"]
    assert seen["not_checkable"] == []
    assert seen["compared_steps"] == ENVS * STEPS * M
    assert seen["states_equal"] == seen["states_compared"] == ENVS * STEPS * M
    assert [(one["env"], one["equal"]) for one in seen["twice"]] == [
        (env, True) for env in range(ENVS)
    ]
    assert seen["b"] == "superdex 1.0.1 (float32)"


def test_nothing_of_an_ordinary_run_is_missing(recorded: Any) -> None:
    recording = load(recorded("together"))
    assert recording.problems == []
    assert recording.labelled is not None
    assert not recording.labelled.records("dropped", r.Dropped)
    compared = 0
    for actor in recording.actors:
        for name in actor.fields:
            window = recording.track_of(actor, name).read(0, len(recording))
            assert window.valid.all(), (actor.name, name)
            compared += 1
    assert compared >= 2 * 6 + 3
    last: dict[int, bytes] = {}
    for k, native in enumerate(recording.labelled.records("native", r.NativeStep)):
        if native.control_step > 0:
            assert native.digest_before == last[native.env], k
        last[native.env] = native.digest_after


@pytest.mark.parametrize("mode", ["actions", "pinned"])
def test_together_to_the_last_bit(recorded: Any, mode: Any) -> None:
    seen = again(recorded("together"), ReplayOptions(mode=mode))
    assert answers(seen) == ["yes", "yes", "yes"]
    assert seen.compared_steps == ENVS * STEPS * M
    assert seen.not_checkable == []


def test_pose_controllers_to_the_last_bit(recorded: Any) -> None:
    """Their states have gaps: digests tell nothing, the engine compares snapshots."""
    seen = again(recorded("servo"), ALONE)
    assert answers(seen) == ["yes", "yes", "yes"]
    assert seen.compared_steps == ENVS * 60 * M
    assert seen.states_equal == seen.states_compared >= ENVS


def test_from_the_middle(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded("together")
    capsys.readouterr()
    given = ["--from", "control:3/4/20", "--env", "3", "--steps", "10", "--json"]
    assert isoscope(["replay", str(path), *given]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["compared_steps"] == 10 * M
    assert seen["claims"]["bit_for_bit"]["answer"] == "yes"


# -- trial case 7: what reached another environment ------------------------------------


def test_an_inertia_leak_is_named_at_the_first_step_that_it_reached(
    recorded: Any,
) -> None:
    path = recorded("leak")
    together = again(path)
    assert answers(together) == ["yes", "yes", "yes"]
    alone = again(path, ALONE)
    # Those after env 1 in the turn are reached in the same step, env 0 in the next.
    assert places(alone) == {0: (1, 9), 2: (1, 8), 3: (1, 8)}
    assert [one.key for one in alone.configuration_differences] == [
        "CartPole#0/jointInertia"
    ]
    for pair in alone.pairs:
        if pair.first_divergence is not None:
            assert pair.first_divergence.substep == 0
            assert "jointInertia" in pair.first_divergence.why


def test_a_missed_restore(recorded: Any) -> None:
    path = recorded("missed")
    together = again(path)
    assert together.first_divergence is None, "it is missed again"
    assert together.claims.bit_for_bit.answer == "yes"
    alone = again(path, ALONE)
    assert places(alone) == {2: (1, 9)}
    first = alone.first_divergence
    assert first is not None
    assert first.equal_steps == 8 * M
    assert "goes on from env 1's state" in first.why


# -- trial case 5: pinned, and from the actions ----------------------------------------


@pytest.mark.parametrize("mode", ["actions", "pinned"])
def test_bodies_in_contact(recorded: Any, mode: Any) -> None:
    seen = again(recorded("falling"), ReplayOptions(mode=mode))
    assert answers(seen) == ["yes", "yes", "yes"]
    assert seen.compared_steps == 60 * M
    assert seen.states_equal == seen.states_compared == 60 * M


def test_a_push_of_1e_6(recorded: Any) -> None:
    seen = again(recorded("pushed"))
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (0, 1, 30)
    assert (first.substep, first.equal_steps) == (0, 29 * M)
    assert (first.actor, first.field, first.unit) == ("Crate", "translation", "m")
    assert first.size == pytest.approx(1e-6, rel=0.1)  # float32 at 0.5 m
    assert answers(seen)[::2] == ["yes", "no"]
    pinned = again(recorded("pushed"), ReplayOptions(mode="pinned"))
    assert pinned.first_divergence is not None
    assert pinned.first_divergence.control_step == 30
    # From the snapshot after control step 40 on it is the same again.
    assert max(one.differing_steps for one in pinned.max_difference) <= 11 * M


def test_friction_that_nobody_told(recorded: Any) -> None:
    seen = again(recorded("rough"))
    first = seen.first_divergence
    assert first is not None
    assert (first.control_step, first.actor) == (30, "Crate")
    assert first.equal_steps == 29 * M


def test_friction_that_was_told_is_changed_again(recorded: Any) -> None:
    seen = again(recorded("told"))
    assert answers(seen) == ["yes", "yes", "yes"]


def test_friction_changed_here(recorded: Any) -> None:
    examined = examine(recorded("falling"))
    make = maker(examined)

    def rougher(blueprint: Blueprint) -> Any:
        made: Any = make(blueprint)
        configure = made.configure

        def other(values: Any) -> None:
            changed = dict(values)
            for key, value in values.items():
                if key.startswith("Crate#") and "coulomb_friction" in key:
                    changed[key] = value * 1.05
            configure(changed)

        made.configure = other
        return made

    seen = replay(examined, rougher)
    assert answers(seen)[0] == "no"
    [one] = seen.configuration_differences
    assert "coulomb_friction_coefficient" in one.key
    assert seen.first_divergence is not None
    assert seen.first_divergence.actor == "Crate"
    assert seen.first_divergence.control_step == 1


# -- trial case 6: a restore is a function of the state --------------------------------


def test_restored_twice(recorded: Any) -> None:
    examined = examine(recorded("falling"))
    [tape] = tapes(examined)
    labels = examined.attribution.labels
    taken = [s for at in tape.snapshots.values() for s in at]
    [snapshot] = [s for s in taken if s.control_step == 20]
    data = tape.labelled.snapshot_data(snapshot.id)
    assert data
    own = tape.rows[(tape.rows > snapshot.row) & (labels.control_step[tape.rows] > 20)]
    world = np.array([0], np.int64)
    made: Any = maker(examined)(tape.blueprint)

    def step(rows: Any) -> list[bytes]:
        states = []
        for row in rows.tolist():
            for control in tape.controls:
                window = control.track.read(row, row + 1)
                made.apply(control.actor, control.name, window.values, world)
            made.step(0.01, world)
            states.append(made.state_bytes())
        return states

    try:
        made.restore_bytes(data)
        step(own[: 5 * M])
        made.restore_bytes(data)
        first = step(own[: 20 * M])
        step(own[: 35 * M])
        made.restore_bytes(data)
        assert step(own[: 20 * M]) == first
    finally:
        made.close()


# -- what can't be told, and what is refused -------------------------------------------


def test_another_source_is_no_proof_of_the_configuration(
    recorded: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded("missed")
    copy = tmp_path / "mine.py"
    here = repr(str(RUN.parents[1] / "data" / "recipe"))
    text = RUN.read_text().replace(
        'str(Path(__file__).parents[1] / "data" / "recipe")', here
    )
    copy.write_text(text)
    capsys.readouterr()
    given = ["--module", f"{copy}:make_cartpole", "--steps", "3", "--json"]
    assert isoscope(["replay", str(path), *given]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert claims["same_configuration"]["answer"] == "not_checkable"
    assert "not the source that was recorded" in claims["same_configuration"]["reason"]
    assert claims["bit_for_bit"]["answer"] == "yes"


def refused(path: Path, *given: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert isoscope(["replay", str(path), *given]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) == 1
    return said.err


def test_another_scene(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(recorded("missed"), "--module", f"{RUN}:make_falling", capsys=capsys)
    assert "is not the recorded one: without CartPole" in said


def test_a_factory_that_is_not_there(
    recorded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(recorded("missed"), "--module", f"{RUN}:absent", capsys=capsys)
    assert "has no absent" in said


def test_another_build(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    examined = examine(recorded("missed"))
    [tape] = tapes(examined)
    made = maker(examined)
    told = {**tape.blueprint.build, "version": "1.0.0"}
    object.__setattr__(tape.blueprint, "build", told)
    with pytest.raises(IsoscopeError, match=r"are of superdex 1\.0\.0 .* has superdex"):
        made(tape.blueprint)
    object.__setattr__(tape.blueprint, "precision", "float64")
    with pytest.raises(IsoscopeError, match="fp64"):
        made(tape.blueprint)


def test_a_snapshot_that_is_cut(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    examined = examine(recorded("missed"))
    labelled = examined.recording.labelled
    assert labelled is not None
    whole = type(labelled).snapshot_data

    def cut(self: Any, number: int) -> bytes | None:
        data = whole(self, number)
        return data[:-9] if data and number == 2 else data

    monkeypatch.setattr(type(labelled), "snapshot_data", cut)
    with pytest.raises(IsoscopeError, match=r"snapshot 2, .* cut or damaged"):
        replay(examined, maker(examined))


def test_an_engine_that_is_killed_halfway(
    recorded: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.core.replay.worker.engine import WorkerEngine

    path = recorded("together")
    taken = iter(range(1_000))
    pids = []
    step = WorkerEngine.step

    def dying(self: WorkerEngine, h_s: float, worlds: Any) -> None:
        if next(taken, None) is None:
            pids.append(self._worker.pid)
            os.kill(self._worker.pid, signal.SIGKILL)
        step(self, h_s, worlds)

    monkeypatch.setattr(WorkerEngine, "step", dying)
    capsys.readouterr()
    assert isoscope(["replay", str(path), "--json"]) == 2
    said = capsys.readouterr()
    assert "was ended by SIGKILL" in said.err
    assert len(said.err.splitlines()) == 1
    seen = json.loads(said.out)
    assert 900 < seen["compared_steps"] <= 1_000
    assert "SIGKILL" in seen["stopped"]
    assert seen["claims"]["bit_for_bit"]["answer"] == "not_checkable"
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
