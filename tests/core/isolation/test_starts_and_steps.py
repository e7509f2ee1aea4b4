"""identical-start, rewind, zero-step, free-scene."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context
from isoscope.core.recording.model import StepKind
from tests.core.isolation.building import Run
from tests.core.isolation.worlds import World, examine, found, push_of, shared

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


# -- identical-start -------------------------------------------------------------------


def _starts(places: list[float], episode: int = 100, again: bool = False) -> World:
    world = World()
    for env, place in enumerate(places):
        world.reset(env, place)
    for k in range(1, 11):
        for env, place in enumerate(places):
            world.step(env, push_of(env, k))
            if k % episode == 0:
                world.reset(env, place if again else place + 0.01 * k + 0.001 * env)
    return world


def test_environments_that_begin_in_one_state() -> None:
    (finding,) = found(_starts([0.0, 0.4, 0.4]), "identical-start")
    assert finding.severity == "warning"
    assert finding.native == (1, 2)
    assert finding.episode == 1
    assert finding.control_step == 0
    assert finding.evidence["starts"] == [[1, 2]]


def test_all_resets_alike_are_told_as_such() -> None:
    (finding,) = found(_starts([0.1, 0.1]), "identical-start")
    assert "as every reset in this recording does" in finding.message


def test_other_starts_are_no_finding() -> None:
    assert found(_starts([0.0, 0.4, 0.8]), "identical-start") == []


def test_a_new_scene_s_first_step_is_no_start(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, scenes=[0, 1])
    for env in range(2):
        run.episode[env] = 1
        run.world[env] = (0.5, 0.0, 0.0)
        run.native(env, 0, h_s=1e-5)  # of the scene, as it is made in the reset
        run.episode[env] = 0
        run.reset(env)
    run.steps(4)
    assert [f for f in run.findings() if f.id == "identical-start"] == []


def test_one_environment_may_begin_alike_again_and_again() -> None:
    assert found(_starts([0.1], episode=4, again=True), "identical-start") == []


# -- rewind ----------------------------------------------------------------------------


def test_a_state_restored_on_purpose() -> None:
    seen = found(RECORDINGS / "restore_twice.h5", "rewind")
    assert [(f.severity, f.native) for f in seen] == [
        ("note", (15, 15)),
        ("note", (30, 30)),
    ]
    assert [f.evidence["to_native"] for f in seen] == [None, None]
    assert [f.evidence["left_native"] for f in seen] == [14, 29]


def test_a_missed_restore_is_no_rewind() -> None:
    path = RECORDINGS / "shared_cartpole_missed_restore.h5"
    assert found(path, "rewind") == []


# -- zero-step -------------------------------------------------------------------------


def test_a_step_of_no_duration() -> None:
    (finding,) = found(RECORDINGS / "variable_steps.h5", "zero-step")
    assert finding.severity == "note"
    assert finding.native == (8, 8)
    assert finding.value == 0.0


def test_steps_of_no_duration_in_a_row_are_one_note() -> None:
    world = shared(1, 4)
    for _ in range(3):
        world.native(0.0)
    (finding,) = found(world, "zero-step")
    assert finding.native[1] - finding.native[0] == 2


# -- free-scene ------------------------------------------------------------------------


def _free(rows: list[int], world: World):
    subject = examine(world)
    kind = subject.attribution.labels.kind
    kind[rows] = StepKind.FREE
    return [f for f in audit(Context(subject)).findings if f.id == "free-scene"]


def test_steps_that_no_control_step_took() -> None:
    seen = _free([8, 9, 14], shared(2, 8))
    assert [(f.severity, f.native) for f in seen] == [
        ("note", (8, 9)),
        ("note", (14, 14)),
    ]


def test_a_scene_that_nobody_resets_is_free_from_end_to_end() -> None:
    subject = examine(RECORDINGS / "rigid_contacts_all.h5")
    assert set(subject.attribution.labels.kind.tolist()) == {int(StepKind.FREE)}
    assert found(RECORDINGS / "rigid_contacts_all.h5", "free-scene") == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_bare_step_between_two_turns(count: int) -> None:
    world = World()
    for env in range(3):
        world.reset(env, 0.3 * env)
    bare = []
    for k in range(1, 21):
        for env in range(3):
            if (env, k) in ((1, 6), (2, 11)):
                bare.append((len(world.rows), len(world.rows) + count - 1))
                for _ in range(count):
                    world.native(0.02, 0.5)
            world.step(env, push_of(env, k))
    seen = found(world, "free-scene")
    assert [(f.severity, f.native) for f in seen] == [("note", one) for one in bare]
