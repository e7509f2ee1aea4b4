"""State-pinned and action replay: what was recorded is exact, what differs is named.

Bodies that fall on the ground, 60 control steps. At step 30 somebody moves one by
1e-6 m, or makes friction 5 % larger, and tells nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.recording.labelled.labelled import Key
from isoscope.core.replay.again import ReplayOptions, replay
from tests.core.replay.recorded import record_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.isolation.context import Examined

SETTINGS = {"control_hz": 50, "simulation_hz": 100, "max_steps": 100}
STEPS, AT, M = 60, 30, 2
BALL, CRATE = 0, 1


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def falling(path: Path, before: Any = None, every: int = 1) -> Examined:
    made = EnvFactory("FallingBodies", SETTINGS, scene="independent")
    return record_in_turn(path, made, 1, STEPS, every, before)


def push(env: int, step: int, one: Any) -> None:
    """Move the ball by 1e-6 m, past whoever listens."""
    if step == AT:
        scene = one.unwrapped.scene
        moved = scene.positions(BALL) + 0.0
        moved[:, 0] += 1e-6
        type(scene).set_state(scene, BALL, moved, scene.velocities(BALL) + 0.0)


def rough(env: int, step: int, one: Any) -> None:
    """Make friction 5 % larger, past whoever listens."""
    if step == AT:
        scene = one.unwrapped.scene
        friction = scene.persistent_configuration()["friction"]
        type(scene).configure(scene, "friction", friction * 1.05)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    return falling(tmp_path_factory.mktemp("clean") / "run.isoscope.h5")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    return falling(tmp_path_factory.mktemp("pushed") / "run.isoscope.h5", push)


@pytest.fixture(scope="module")
def roughened(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    return falling(tmp_path_factory.mktemp("rough") / "run.isoscope.h5", rough)


def states(examined: Examined) -> dict[str, Any]:
    """Each actor's recorded places, [T, 3]."""
    labelled = examined.recording.labelled
    assert labelled is not None
    return {
        actor.info.name: labelled.fields[
            Key("native", "state", number, "translation")
        ].values
        for number, actor in labelled.actors.items()
        if not actor.info.static
    }


def first_apart(a: Examined, b: Examined) -> int:
    """The first native row at which two runs of the same differ."""
    one, two = states(a), states(b)
    rows = [np.flatnonzero((one[n] != two[n]).any(axis=1)) for n in one]
    return min(int(r[0]) for r in rows if len(r))


def test_a_clean_run_is_the_same_again(clean: Examined) -> None:
    for mode in ("actions", "pinned"):
        seen = replay(clean, make_builtin, ReplayOptions(mode=mode))
        assert seen.first_divergence is None
        assert seen.claims.bit_for_bit.answer == "yes"
        assert seen.compared_steps == STEPS * M
    labelled = clean.recording.labelled
    assert labelled is not None
    assert "friction" in {c.key for c in labelled.changes()}


def test_a_push_of_1e_6(pushed: Examined) -> None:
    seen = replay(pushed, make_builtin)
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (0, 1, AT)
    assert (first.substep, first.equal_steps) == (0, (AT - 1) * M)
    assert (first.actor, first.field, first.unit) == ("Ball", "translation", "m")
    assert first.size == pytest.approx(1e-6, rel=1e-3)
    assert seen.claims.same_configuration.answer == "yes"
    assert seen.claims.within_tolerance.answer != "not_checkable"
    assert seen.claims.bit_for_bit.answer == "no"
    assert seen.growth[0].native == first.native
    assert seen.growth[0].size == first.size


def test_a_push_of_1e_6_is_within_a_tolerance_for_a_while(pushed: Examined) -> None:
    options = ReplayOptions(
        tolerances={"translation": 1e-4, "translationCom": 1e-4}, start=0, steps=AT
    )
    seen = replay(pushed, make_builtin, options)
    assert seen.first_divergence is None
    assert seen.claims.within_tolerance.answer == "yes"


def test_pinned_it_stays_in_its_control_step(pushed: Examined) -> None:
    seen = replay(pushed, make_builtin, ReplayOptions(mode="pinned"))
    first = seen.first_divergence
    assert first is not None
    assert first.control_step == AT
    # from the next recorded state on it is the same again
    assert max(one.differing_steps for one in seen.max_difference) == M


def test_friction_changed_by_5_percent(clean: Examined, roughened: Examined) -> None:
    apart = first_apart(clean, roughened)
    assert apart >= 1 + (AT - 1) * M
    seen = replay(roughened, make_builtin)
    first = seen.first_divergence
    assert first is not None
    assert first.native == apart
    labels = roughened.attribution.labels
    assert first.control_step == labels.control_step[apart]
    one, two = states(clean), states(roughened)
    assert first.actor is not None
    assert (one[first.actor][apart] != two[first.actor][apart]).any()
    assert first.equal_steps == apart - 1  # all but the reset's own step


def test_friction_that_was_recorded_is_done_again(tmp_path: Path) -> None:
    def told(env: int, step: int, one: Any) -> None:
        if step == AT:
            scene = one.unwrapped.scene
            friction = scene.persistent_configuration()["friction"]
            scene.configure("friction", friction * 1.05)

    seen = replay(falling(tmp_path / "run.isoscope.h5", told), make_builtin)
    assert seen.first_divergence is None
    assert seen.claims.same_configuration.answer == "yes"
    assert seen.claims.bit_for_bit.answer == "yes"
