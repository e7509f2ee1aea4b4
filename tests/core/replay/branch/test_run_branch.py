"""Branches stepped beside the recorded run: equal without edits, named with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.replay.again import replay
from isoscope.core.replay.branch.branches import source_of
from isoscope.core.replay.branch.exporting import export_branch
from isoscope.core.replay.branch.model import (
    Branch,
    new_branch,
    parse_action,
    parse_configuration,
    parse_state,
)
from isoscope.core.replay.branch.run import branch_report
from isoscope.core.replay.branch.running import (
    place_of,
    recorded_reward,
    run_branch,
    tape_of,
)
from tests.core.replay.recorded import read, record_batch, record_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.model import Edit
    from isoscope.core.replay.engine import EngineMaker

LENIENT = {"upright_rad": 3.0, "max_steps": 12}
SMALL: dict[str, dict[str, Any]] = {
    "CartPoleLab": {"max_steps": 6},
    "DoublePendulumRail": {"max_steps": 5},
    "FallingBodies": {"max_steps": 3, "control_hz": 50, "simulation_hz": 50},
    "Pusher": {"max_steps": 3, "control_hz": 50, "simulation_hz": 50},
}


@pytest.fixture(scope="module")
def cartpoles(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    """Two CartPoles in one scene; episodes of 12, a snapshot every 5 steps."""
    path = tmp_path_factory.mktemp("branch") / "run.isoscope.h5"
    made = EnvFactory("CartPole", LENIENT, integrator="semi_implicit")
    return record_in_turn(path, made, steps=20, every=5)


def branch_at(
    examined: Examined,
    env: int,
    episode: int,
    step: int,
    *edits: Edit,
    **others: Any,
) -> Branch:
    labels = examined.attribution.labels
    at = (labels.env == env) & (labels.episode == episode)
    row = int(np.flatnonzero(at & (labels.control_step == step))[0])
    e, k, native = place_of(examined, env, row)
    assert (e, k) == (episode, step)
    return new_branch(
        name="what if",
        source=source_of(examined),
        file="run",
        env=env,
        episode=e,
        control_step=k,
        native=native,
        edits=edits,
        **others,
    )


def bits(run: Any) -> list[str]:
    claims = run.report.claims
    return [getattr(claims, name).answer for name in claims.__struct_fields__]


# -- without edits it is the recorded run ----------------------------------------------


@pytest.mark.parametrize("step", [1, 6, 12])
def test_without_edits(cartpoles: Examined, step: int) -> None:
    run = run_branch(cartpoles, make_builtin, branch_at(cartpoles, 1, 1, step))
    assert bits(run) == ["yes", "yes", "yes"]
    assert run.route == "actions"
    assert run.unedited is None
    assert run.rows.min() >= 0
    assert len(run) == 2 * (13 - step)
    assert run.begun.native_steps <= 2 * 5  # the last snapshot, not the first
    recorded = recorded_reward(cartpoles, run)
    assert branch_report(run).total_reward == recorded == 13 - step


@pytest.fixture(scope="module")
def of_task(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Examined]:
    """Two environments of a task in one scene, recorded when it is first asked for."""
    folder, known = tmp_path_factory.mktemp("tasks"), dict[str, "Examined"]()

    def recorded(task: str) -> Examined:
        if task not in known:
            made = EnvFactory(task, SMALL[task], integrator="semi_implicit")
            path = folder / f"{task}.isoscope.h5"
            known[task] = record_in_turn(path, made, steps=3, every=2)
        return known[task]

    return recorded


@pytest.mark.parametrize("task", SMALL)
def test_all_tasks(of_task: Callable[[str], Examined], task: str) -> None:
    examined = of_task(task)
    run = run_branch(examined, make_builtin, branch_at(examined, 0, 1, 2))
    assert bits(run) == ["yes", "yes", "yes"]
    assert run.route == "actions", run.why_native
    labelled = examined.recording.labelled
    assert labelled is not None
    seen = labelled.track("transitions", "observation_after", "value")
    terms = [
        n for n, t in enumerate(labelled.transitions()) if (t.env, t.episode) == (0, 1)
    ]
    assert run.outcomes
    for outcome, number in zip(run.outcomes, terms[2:], strict=False):
        window = seen.read(number, number + 1)
        assert np.array_equal(outcome.observation, window.values[0])
        told = labelled.transitions(number, number + 1)[0]
        assert outcome.reward == pytest.approx(told.reward, rel=1e-6)


def test_a_world_of_a_batch(tmp_path: Path) -> None:
    made = EnvFactory("CartPole", LENIENT, integrator="semi_implicit")
    path = tmp_path / "run.isoscope.h5"
    examined = record_batch(path, made, 4, steps=5, visible=[1, 3])
    for env in examined.environments():
        run = run_branch(examined, make_builtin, branch_at(examined, env, 1, 3))
        assert bits(run) == ["yes", "yes", "yes"]
    out = export_branch(examined, run, tmp_path / "b.isoscope.h5")
    again = replay(read(out), make_builtin)
    assert again.claims.bit_for_bit.answer == "yes"
    assert again.compared_steps == len(run)


# -- with edits ------------------------------------------------------------------------


def test_another_action(cartpoles: Examined) -> None:
    made = branch_at(cartpoles, 1, 1, 3, parse_action("5:control=3"))
    run = run_branch(cartpoles, make_builtin, made)
    first = run.report.first_divergence
    assert first is not None
    labels = cartpoles.attribution.labels
    assert (first.env, first.control_step, first.substep) == (1, 5, 0)
    assert labels.control_step[first.native or 0] == 5
    assert run.report.growth[0].native == first.native
    assert run.unedited is not None
    assert run.unedited.first_divergence is None
    force = run.controls["CartPole", "force"]
    assert (force[run.control_steps == 5, 0] == 30).all()
    assert run.actions is not None
    assert run.actions[5 - 3, 0] == 3


def test_an_action_beyond_its_limits_is_clipped_and_told(cartpoles: Examined) -> None:
    made = branch_at(cartpoles, 1, 1, 3, parse_action("5-6:control=9"))
    run = run_branch(cartpoles, make_builtin, made)
    assert run.actions is not None
    assert run.actions[2:4, 0].tolist() == [3, 3]
    assert any("clipped" in note for note in run.notes)


def test_a_native_input(cartpoles: Examined) -> None:
    edit = parse_action("5-:CartPole.force[Slide]+=2.5")
    made = branch_at(cartpoles, 1, 1, 3, edit)
    run = run_branch(cartpoles, make_builtin, made)
    plain = run_branch(cartpoles, make_builtin, branch_at(cartpoles, 1, 1, 3))
    off = run.controls["CartPole", "force"] - plain.controls["CartPole", "force"]
    assert (off[run.control_steps >= 5, 0] == 2.5).all()
    assert (off[run.control_steps < 5] == 0).all()
    assert (off[:, 1] == 0).all()


def test_by_native_inputs_where_the_task_isnt_known(cartpoles: Examined) -> None:
    labelled = cartpoles.recording.labelled
    assert labelled is not None
    identity = labelled.identity
    scaled = {**identity.extra["settings"], "force_scale_n": 11.0}
    labelled.identity = msgspec.structs.replace(
        identity, extra={**identity.extra, "settings": scaled}
    )
    try:
        made = branch_at(cartpoles, 1, 1, 3)
        run = run_branch(cartpoles, make_builtin, made)
        assert run.route == "native"
        assert "other settings" in run.why_native
        assert bits(run) == ["yes", "yes", "yes"]
        assert run.actions is None
        edited = branch_at(cartpoles, 1, 1, 3, parse_action("5:control=3"))
        with pytest.raises(IsoscopeError, match="actions can't be edited"):
            run_branch(cartpoles, make_builtin, edited)
    finally:
        labelled.identity = identity


def test_another_configuration(cartpoles: Examined) -> None:
    made = branch_at(cartpoles, 0, 2, 2, parse_configuration("damping=0.5,0.5"))
    run = run_branch(cartpoles, make_builtin, made)
    assert bits(run) == ["no", "no", "no"]
    (one,) = run.report.configuration_differences
    assert (one.key, one.a, one.b) == ("damping", [0.05, 0.05], [0.5, 0.5])
    assert run.report.first_divergence is not None
    assert run.report.first_divergence.control_step == 2


def test_one_number_is_for_all_of_an_array(cartpoles: Examined) -> None:
    edit = parse_configuration("damping=0.5")
    made = branch_at(cartpoles, 0, 2, 2, edit, steps=1)
    run = run_branch(cartpoles, make_builtin, made)
    (one,) = run.report.configuration_differences
    assert (one.key, one.b) == ("damping", [0.5, 0.5])


def test_another_state(cartpoles: Examined) -> None:
    edit = parse_state("CartPole.positions[Hinge]=0.25")
    run = run_branch(cartpoles, make_builtin, branch_at(cartpoles, 0, 2, 2, edit))
    assert run.start["CartPole", "pose"][1] == 0.25
    first = run.report.first_divergence
    assert first is not None
    assert first.equal_steps == 0


def test_a_free_body(of_task: Callable[[str], Examined]) -> None:
    examined = of_task("FallingBodies")
    labelled = examined.recording.labelled
    assert labelled is not None
    name = next(a.info.name for a in labelled.actors.values() if not a.info.static)
    edits = (
        parse_state(f"{name}.translation=0,3,0"),
        parse_state(f"{name}.rotation=0,0,2,2"),
        parse_state(f"{name}.velocity[1]=-1"),
    )
    run = run_branch(examined, make_builtin, branch_at(examined, 0, 1, 2, *edits))
    assert run.start[name, "translation"].tolist() == [0, 3, 0]
    half = np.sqrt(0.5)
    assert run.start[name, "rotation"] == pytest.approx([0, 0, half, half])
    assert run.states[name, "translation"][0, 1] == pytest.approx(3 - 0.02, abs=0.01)


@pytest.mark.parametrize("what", ["hold", "zero"])
def test_past_the_end(cartpoles: Examined, what: Any) -> None:
    made = branch_at(cartpoles, 1, 1, 10, steps=6, past_end=what)
    run = run_branch(cartpoles, make_builtin, made)
    assert run.control_steps[[0, -1]].tolist() == [10, 15]
    assert (run.rows[run.control_steps > 12] == -1).all()
    assert run.report.compared_steps == 6
    assert bits(run) == ["yes", "yes", "yes"]
    assert run.actions is not None
    last = run.actions[2]
    assert last != 0
    assert (run.actions[3:] == (last if what == "hold" else 0)).all()
    assert any("past the recorded end" in note for note in run.notes)


def test_it_ends_where_the_task_says(tmp_path: Path) -> None:
    made = EnvFactory("CartPole", {"upright_rad": 0.3}, integrator="semi_implicit")
    examined = record_in_turn(tmp_path / "r.isoscope.h5", made, steps=6, every=2)
    edit = parse_state("CartPole.positions[1]=0.29"), parse_action("2-:control=3")
    run = run_branch(
        examined, make_builtin, branch_at(examined, 0, 1, 2, *edit, steps=50)
    )
    assert "pole angle" in run.ended
    assert len(run) < 100
    assert run.outcomes[-1].reasons


# -- refused ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_engine(cartpoles: Examined) -> Iterator[EngineMaker]:
    """One engine for several branches; what it is left in is overwritten."""
    engine: Any = make_builtin(tape_of(cartpoles, 1).blueprint)
    close, engine.close = engine.close, lambda: None
    yield lambda _: engine
    close()


@pytest.mark.parametrize(
    "edit",
    [
        parse_action("5:nothing=1"),
        parse_action("5:CartPole.force[Wheel]=1"),
        parse_action("99:control=1"),
        parse_configuration("nothing=1"),
        parse_configuration("model=1"),
        parse_configuration("damping=1,2,3,4"),
        parse_configuration("damping=[[1],[2,3]]"),
        parse_state("Nobody.positions=1"),
        parse_state("CartPole.translation=0,1,2"),
        parse_state("CartPole.positions=1"),
        parse_state("CartPole.positions[7]=1"),
        parse_state("CartPole.positions[Wheel]=1"),
    ],
    ids=lambda edit: str(edit)[:60],
)
def test_an_edit_of_what_is_not_there(
    cartpoles: Examined, one_engine: EngineMaker, edit: Edit
) -> None:
    with pytest.raises(IsoscopeError) as told:
        run_branch(cartpoles, one_engine, branch_at(cartpoles, 1, 1, 6, edit))
    assert "\n" not in str(told.value)


def test_a_link_says_what_can_be_edited_instead(cartpoles: Examined) -> None:
    edit = parse_state("CartPole/Pole.omega=0,0,1")
    with pytest.raises(IsoscopeError, match=r"it is a link.*edit CartPole\.pose or"):
        run_branch(cartpoles, make_builtin, branch_at(cartpoles, 1, 1, 3, edit))


def test_another_recordings_and_other_places(cartpoles: Examined) -> None:
    made = branch_at(cartpoles, 1, 1, 3)
    for wrong in (
        {"source": "0" * 32},
        {"env": 7},
        {"episode": 9},
        {"native": made.native + 1},
    ):
        with pytest.raises(IsoscopeError):
            run_branch(cartpoles, make_builtin, msgspec.structs.replace(made, **wrong))
    with pytest.raises(IsoscopeError, match="no environment 5"):
        place_of(cartpoles, 5, 0)
    with pytest.raises(IsoscopeError, match="no step from"):
        place_of(cartpoles, 1, len(cartpoles.recording))


def test_progress_can_stop_it(cartpoles: Examined) -> None:
    def stop(done: int, total: int) -> None:
        raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        run_branch(cartpoles, make_builtin, branch_at(cartpoles, 1, 1, 3), stop)


def test_an_engine_that_dies_halfway(cartpoles: Examined) -> None:
    def make(blueprint: Any) -> Any:
        engine = make_builtin(blueprint)
        step, left = engine.step, iter(range(5))

        def dying(h_s: float, worlds: Any) -> None:
            if next(left, None) is None:
                raise OSError("the worker is gone")
            step(h_s, worlds)

        engine.step = dying  # type: ignore[method-assign]  # that is the point
        return engine

    run = run_branch(cartpoles, make, branch_at(cartpoles, 1, 1, 6))
    assert run.stopped == "the worker is gone"
    assert len(run) == run.report.compared_steps == 5
    assert run.report.claims.bit_for_bit.answer == "not_checkable"


# -- another one leaks in --------------------------------------------------------------


def test_what_a_leak_did_is_not_the_edits_doing(tmp_path: Path) -> None:
    def leak(env: int, step: int, one: Any) -> None:
        if env == 0 and step == 7:
            scene = one.unwrapped.scene
            scene.configure("damping", np.array([0.6, 0.6]))

    made = EnvFactory("CartPole", LENIENT, integrator="semi_implicit")
    path = tmp_path / "run.isoscope.h5"
    examined = record_in_turn(path, made, steps=10, every=5, before=leak)
    edit = parse_action("9:control=3")
    run = run_branch(examined, make_builtin, branch_at(examined, 1, 1, 6, edit))
    assert run.unedited is not None
    assert run.unedited.first_divergence is not None
    assert run.unedited.first_divergence.control_step == 7
    assert any("without the edits" in note for note in run.notes)
    # from after the leak on, the beginning needs the whole scene as recorded
    later = run_branch(examined, make_builtin, branch_at(examined, 1, 1, 9))
    assert later.begun.together
    assert later.begun.equal
    assert bits(later) == ["yes", "yes", "yes"]


# -- as a recording of its own ---------------------------------------------------------


def test_exported_it_opens_and_steps_again(cartpoles: Examined, tmp_path: Path) -> None:
    edits = (
        parse_action("5:control=3"),
        parse_configuration("damping=0.5,0.5"),
        parse_state("CartPole.positions[1]=0.1"),
    )
    made = branch_at(cartpoles, 1, 1, 3, *edits, steps=15)
    run = run_branch(cartpoles, make_builtin, made)
    out = export_branch(cartpoles, run, tmp_path / "b.isoscope.h5")
    examined = read(out)
    labelled = examined.recording.labelled
    assert labelled is not None
    told = labelled.identity.extra["branch"]
    assert (told["source"], told["at"]) == (made.source, "control:1/1/3")
    assert len(told["edits"]) == 3
    assert source_of(examined) != made.source
    labels = examined.attribution.labels
    assert labels.control_step.tolist() == run.control_steps.tolist()
    assert set(labels.env.tolist()) == {1}
    for actor in examined.recording.actors:
        for name, track in actor.fields.tracks.items():
            if (actor.name, name) in run.states:
                window = track.read(0, len(run))
                assert window.valid.all()
                assert np.array_equal(
                    window.values, run.states[actor.name, name], equal_nan=True
                )
    transitions = labelled.transitions()
    assert [t.control_step for t in transitions] == list(range(3, 18))
    assert [t.first_row for t in transitions] == list(range(0, 30, 2))
    again = replay(examined, make_builtin)
    assert [
        getattr(again.claims, n).answer for n in again.claims.__struct_fields__
    ] == [
        "yes",
        "yes",
        "yes",
    ]
    assert again.compared_steps == len(run)
    # a branch of a branch
    second = run_branch(examined, make_builtin, branch_at(examined, 1, 1, 8))
    assert bits(second) == ["yes", "yes", "yes"]


def test_it_is_written_whole_or_not_at_all(
    cartpoles: Examined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_branch(cartpoles, make_builtin, branch_at(cartpoles, 1, 1, 3))
    for name in ("b.h5", "nowhere/b.isoscope.h5"):
        with pytest.raises(IsoscopeError):
            export_branch(cartpoles, run, tmp_path / name)
    path = cartpoles.recording.path
    assert path is not None
    content = path.read_bytes()
    with pytest.raises(IsoscopeError):
        export_branch(cartpoles, run, path, overwrite=True)
    assert path.read_bytes() == content

    def cut(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", cut)
    with pytest.raises(IsoscopeError, match="no space left"):
        export_branch(cartpoles, run, tmp_path / "b.isoscope.h5")
    assert list(tmp_path.iterdir()) == []
