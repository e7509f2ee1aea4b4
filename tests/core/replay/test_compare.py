"""Two recordings of the same environments: what can be claimed, and where they part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.jsonform import encode
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.compare import TOLERANCE, compare
from isoscope.core.replay.sentence import verdict
from tests.core.isolation.worlds import World, examine, push_of

if TYPE_CHECKING:
    from isoscope.core.replay.forms import Comparison

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


def of(a: Any, b: Any, tolerance: float | None = None) -> Comparison:
    a = RECORDINGS / f"{a}.h5" if isinstance(a, str) else a
    b = RECORDINGS / f"{b}.h5" if isinstance(b, str) else b
    return compare(examine(a), examine(b), tolerance)


def answers(seen: Comparison) -> tuple[str, str, str]:
    claims = seen.claims
    return (
        claims.same_configuration.answer,
        claims.within_tolerance.answer,
        claims.bit_for_bit.answer,
    )


def run(
    order: list[int],
    rounds: int = 10,
    episode: int = 100,
    pushed: tuple[int, int] | None = None,
    missed: tuple[int, int] | None = None,
    shuffle: bool = False,
    **world_options: Any,
) -> World:
    """Environments by their own numbers, in this order of turns; all else the same."""
    world = World(**world_options)
    for env in order:
        world.reset(env, 0.3 * env)
    for k in range(1, rounds + 1):
        turns = list(np.random.default_rng(k).permutation(order)) if shuffle else order
        for env in turns:
            push = push_of(env, k) + (0.25 if (env, k) == pushed else 0.0)
            world.step(env, push, restore=(env, k) != missed)
            if k % episode == 0:
                world.reset(env, 0.3 * env + 0.01 * k)
    return world


# -- grouping and order ----------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        run([3, 2, 1, 0]),
        run([0, 1, 2, 3], shuffle=True),
        run([2, 0]),
        run([1]),
    ],
    ids=["reversed", "shuffled", "two of them", "one alone"],
)
def test_grouping_and_order_change_nothing_where_nothing_leaks(other: World) -> None:
    seen = of(run([0, 1, 2, 3]), other)
    assert seen.first_divergence is None
    assert seen.claims.within_tolerance.answer == "yes"
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.compared_steps == len(other.rows)
    assert all(one.value == 0 for one in seen.max_difference)


def test_environments_are_paired_by_how_they_begin() -> None:
    seen = of(run([0, 1, 2, 3]), run([2, 0]))
    assert [(p.env_a, p.env_b, p.how) for p in seen.pairs] == [
        (0, 1, "starts"),
        (2, 0, "starts"),
    ]
    assert any("env 0 of A is env 1 of B" in note for note in seen.notes)
    assert any("only A has environments 1 and 3" in note for note in seen.notes)


def test_another_order_is_told_and_is_no_difference() -> None:
    seen = of(run([0, 1, 2]), run([2, 1, 0]))
    assert any("in another order" in note for note in seen.notes)
    assert seen.configuration_differences == []


def test_shared_against_alone_by_the_engine() -> None:
    seen = of("shared_cartpole_2env", "independent_cartpole_env0")
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.compared_steps == 62
    assert [(d.key, d.a, d.b) for d in seen.configuration_differences] == [
        ("environments", 2, 1)
    ]


def test_a_recording_that_begins_in_the_middle() -> None:
    seen = of("shared_cartpole_2env", "shared_cartpole_midstart")
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.compared_steps == 82
    assert seen.not_checkable == []


def test_a_recording_of_a_scene_that_nobody_resets() -> None:
    seen = of("restore_twice", "restore_twice")
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.compared_steps == 45


def test_a_shorter_recording_is_no_divergence() -> None:
    seen = of(run([0, 1], rounds=10), run([0, 1], rounds=6))
    assert seen.first_divergence is None
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.compared_steps == 2 * (1 + 2 * 6)


# -- where they part -------------------------------------------------------------------


def test_the_first_divergence_by_the_engine() -> None:
    seen = of("shared_cartpole_2env", "shared_cartpole_missed_restore")
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step, first.substep) == (0, 1, 9, 0)
    assert first.native == 34
    assert first.equal_steps == 17
    assert first.size is not None
    assert first.size > 0.1
    assert first.unit is not None
    assert "in B it went on from env 1's state" in first.why
    assert [p.first_divergence is None for p in seen.pairs] == [False, True]
    assert answers(seen)[1:] == ("no", "no")


def test_a_leak_of_gravity_is_named() -> None:
    seen = of("shared_cartpole_2env", "shared_cartpole_leak_gravity")
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (1, 2, 6)
    assert "under another gravity" in first.why
    assert answers(seen) == ("no", "no", "no")
    (gravity,) = seen.configuration_differences
    assert gravity.key == "gravity"
    assert gravity.b[1] == [0.0, -3.0, 0.0]


def test_a_leak_that_nothing_shows() -> None:
    seen = of("shared_cartpole_2env", "shared_cartpole_leak_inertia")
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (1, 2, 6)
    assert seen.claims.same_configuration.answer == "not_checkable"
    other = seen.pairs[0].first_divergence
    assert other is not None
    assert (other.env, other.episode, other.control_step) == (0, 2, 4)


@pytest.mark.parametrize("env", [0, 2])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_another_action_is_found_in_its_step(env: int, order: list[int]) -> None:
    seen = of(run([0, 1, 2]), run(order, pushed=(env, 6)))
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.control_step, first.substep) == (env, 6, 0)
    assert first.in_b is not None
    assert first.in_b.control_step == 6
    apart = [p.env_a for p in seen.pairs if p.first_divergence is not None]
    assert apart == [env]


def test_the_largest_difference_and_where() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    b.actors[0].fields.tracks["rotation"].values[9, 0] += 0.125
    seen = of(a, b)
    largest = seen.max_difference[0]
    assert (largest.actor, largest.field) == ("Ball", "rotation")
    assert largest.value == 0.125
    assert largest.at is not None
    assert largest.at.native == 9
    assert largest.differing_steps == 1
    assert largest.compared_steps == seen.compared_steps


def test_an_episode_that_ended_in_one_only() -> None:
    seen = of(run([0, 1], rounds=12), run([0, 1], rounds=12, episode=5))
    first = seen.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (0, 1, 6)
    assert first.actor is None
    assert first.size is None
    assert "ended in B and goes on in A" in first.why
    assert answers(seen)[1:] == ("no", "no")
    # What comes after is in another place of the schedule.
    assert seen.compared_steps == 2 * (1 + 2 * 5)


def test_it_reads_the_same_from_the_other_side() -> None:
    a, b = run([0, 1], rounds=12), run([0, 1], rounds=12, episode=5)
    first = of(b, a).first_divergence
    assert first is not None
    assert "ended in A and goes on in B" in first.why
    assert first.native is None
    assert first.in_b is not None


# -- precision, tolerance, other paces -------------------------------------------------


def test_float32_against_float64() -> None:
    seen = of("shared_cartpole_2env", "fp64_shared_cartpole_2env")
    assert answers(seen) == ("no", "yes", "no")
    assert seen.judged_by == "tolerance"
    assert seen.tolerance == TOLERANCE
    assert seen.first_divergence is None
    assert seen.claims.bit_for_bit.reason == "A is float32 and B float64"
    assert {d.key for d in seen.configuration_differences} == {"precision"}


def test_a_tolerance_that_is_too_tight_for_it() -> None:
    seen = of("shared_cartpole_2env", "fp64_shared_cartpole_2env", 1e-6)
    assert seen.first_divergence is not None
    assert seen.claims.within_tolerance.answer == "no"


def test_a_tolerance_lets_small_differences_pass() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    b.actors[0].fields.tracks["translation"].values[9, 0] += 1e-5
    exact, loose = of(a, b), of(a, b, 1e-4)
    assert exact.first_divergence is not None
    assert exact.claims.within_tolerance.answer == "yes"
    assert loose.first_divergence is None
    assert loose.claims.bit_for_bit.answer == "no"


def _paced(substeps: int, h_scale: float, envs: int = 2) -> World:
    world = World(gravity=0.0)
    for env in range(envs):
        world.reset(env, 0.3 * env)
    for _ in range(8):
        for env in range(envs):
            world.restore(env)
            for _ in range(substeps):
                world.native(0.02 * h_scale)
            world.capture(env)
    return world


def test_another_m_is_compared_by_control_step() -> None:
    seen = of(_paced(2, 1.0), _paced(4, 0.5))
    assert seen.compared_steps == 2 * 9
    assert {d.key for d in seen.configuration_differences} == {"h_s", "substeps"}
    assert any("M differs" in note for note in seen.notes)
    assert seen.claims.within_tolerance.answer == "yes"
    assert seen.claims.bit_for_bit.answer in ("no", "not_checkable")


def test_another_h_is_compared_by_time_where_m_is_unknown() -> None:
    seen = of(_paced(2, 1.0, envs=1), _paced(4, 0.5, envs=1))
    assert seen.compared_steps == 1 + 16
    assert any("end at the same time" in note for note in seen.notes)


# -- NaN, absent, signs ----------------------------------------------------------------


def test_nan_against_a_number_is_a_difference() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    b.actors[0].fields.tracks["rotation"].values[9, 0] = np.nan
    seen = of(a, b)
    first = seen.first_divergence
    assert first is not None
    assert (first.native, first.field) == (9, "rotation")
    assert first.size == np.inf
    assert json.loads(encode(seen))["first_divergence"]["size"] == "inf"
    assert answers(seen)[1:] == ("no", "no")


def test_nan_against_nan_is_equal_and_told() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    for recording in (a, b):
        recording.actors[0].fields.tracks["rotation"].values[9, 0] = np.nan
    seen = of(a, b)
    assert seen.first_divergence is None
    assert seen.claims.bit_for_bit.answer == "yes"
    assert "NaN in both" in seen.claims.bit_for_bit.reason
    assert any("Ball.rotation is NaN in both in 1 step" in n for n in seen.notes)


def test_the_sign_of_a_zero_is_another_bit_and_no_divergence() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    assert b.actors[0].fields.tracks["rotation"].values[9, 0] == 0
    b.actors[0].fields.tracks["rotation"].values[9, 0] = -0.0
    seen = of(a, b)
    assert seen.first_divergence is None
    assert answers(seen)[1:] == ("yes", "no")


def test_a_quaternion_and_its_negative_are_one_rotation() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    b.actors[0].fields.tracks["rotation"].values[:] *= -1
    seen = of(a, b)
    assert seen.first_divergence is None
    assert seen.claims.bit_for_bit.answer == "no"


def test_absent_is_never_compared() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    b.actors[0].fields.tracks["rotation"].values[9] = 7.0
    b.actors[0].fields.tracks["rotation"].valid[9] = False
    seen = of(a, b)
    assert seen.first_divergence is None
    assert answers(seen)[1:] == ("not_checkable", "not_checkable")
    assert any(
        "rotation of Ball is absent on one side" in x for x in seen.not_checkable
    )


def test_a_field_that_one_lacks() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    del b.actors[0].fields.tracks["rotation"]
    seen = of(a, b)
    assert "only A has the field Ball.rotation" in seen.not_checkable
    assert seen.claims.bit_for_bit.answer == "not_checkable"
    (fields,) = seen.configuration_differences
    assert (fields.key, fields.a) == ("fields", ["Ball.rotation"])


def test_a_field_of_another_shape() -> None:
    a, b = run([0, 1]).recording(), run([0, 1]).recording()
    track = b.actors[0].fields.tracks["rotation"]
    b.actors[0].fields.tracks["rotation"] = Track.of(track.values[:, :3].copy())
    seen = of(a, b)
    assert "the field Ball.rotation differ in shape" in seen.not_checkable


def test_actors_that_one_lacks() -> None:
    seen = of("rigid_contacts_all", "create_destroy")
    (actors,) = seen.configuration_differences
    assert (actors.key, actors.a, actors.b) == ("actors", [], ["Late (Rigid)"])
    assert "only B has the moving actor Late" in seen.not_checkable


# -- nothing to compare ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("no_state", "no_state"),
        ("rigid_contacts_all", "shared_cartpole_2env"),
        ("soft_body", "no_state"),
    ],
)
def test_where_nothing_can_be_compared_nothing_is_claimed(a: str, b: str) -> None:
    seen = of(a, b)
    assert seen.compared_steps == 0
    assert seen.first_divergence is None
    assert answers(seen)[1:] == ("not_checkable", "not_checkable")
    assert seen.not_checkable
    assert verdict(seen).startswith("Nothing could be compared: ")


def test_steps_of_nobody_are_told() -> None:
    world = World()
    for env in range(2):
        world.reset(env)
    for k in range(1, 8):
        for env in range(2):
            world.step(env, push_of(env, k))
    seen = of(world, world)
    assert any("(identical_states)" in line for line in seen.not_checkable)
    assert seen.claims.bit_for_bit.answer == "not_checkable"


# -- the written form ------------------------------------------------------------------


def test_the_written_form() -> None:
    seen = of("shared_cartpole_2env", "shared_cartpole_missed_restore")
    written = json.loads(encode(seen))
    assert next(iter(written)) == "schema"
    assert written["schema"] == "isoscope.compare/1"
    assert Path(written["a"]).stem == "shared_cartpole_2env"
    assert Path(written["b"]).stem == "shared_cartpole_missed_restore"
    assert written["engine"] is None
    assert written["snapshots_used"] == []
    assert written["compared_steps"] == 84
    assert set(written["claims"]) == {
        "same_configuration",
        "within_tolerance",
        "bit_for_bit",
    }
    for claim in written["claims"].values():
        assert claim["answer"] in ("yes", "no", "not_checkable")
        assert claim["reason"]
    first = written["first_divergence"]
    assert {
        key: first[key]
        for key in ("env", "episode", "control_step", "substep", "native")
    } == {"env": 0, "episode": 1, "control_step": 9, "substep": 0, "native": 34}
    assert set(first) >= {"actor", "field", "size", "unit"}
    largest = written["max_difference"][0]
    assert set(largest) >= {"actor", "field", "value", "unit", "at"}
    assert largest["at"]["env"] == 0
    assert isinstance(written["configuration_differences"], list)
    assert isinstance(written["not_checkable"], list)


def test_the_sentence_on_top() -> None:
    same = of(run([0, 1]), run([1, 0]))
    assert verdict(same) == "2 environments equal to the last bit in 42 native steps."
    other = of("shared_cartpole_2env", "shared_cartpole_missed_restore")
    said = verdict(other)
    assert said.startswith(
        "env 0 departs at episode 1, control step 9 (native step 34)"
    )
    assert said.endswith("1 of 2 environments depart.")
    precise = of("shared_cartpole_2env", "fp64_shared_cartpole_2env")
    assert verdict(precise) == "2 environments equal within 0.001 in 125 native steps."
