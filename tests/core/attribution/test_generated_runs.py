"""Shared runs of every kind, made small: every step must come back to its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.attribution.attributor import Attributor, attribute
from isoscope.core.attribution.result import Reason
from tests.core.attribution.shared_scene import Scene, Truth, run, turns

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution

LABELS = ("env", "episode", "control_step", "substep")


def check(scene: Scene, truth: Truth, substeps: int) -> Attribution:
    found = attribute(scene.recording())
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name), getattr(truth, name), name
        )
    assert found.parent.tolist() == truth.parent
    assert found.substeps == substeps
    assert found.linked.all()
    assert not found.reason.any()
    return found


@pytest.mark.parametrize("order", ["fixed", "rounds", "random"])
@pytest.mark.parametrize("substeps", [1, 2, 4])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_every_step_comes_back(order: str, substeps: int, real: Any) -> None:
    scene, truth = run(5, 40, order=order, substeps=substeps, real=real, seed=3)
    found = check(scene, truth, substeps)
    assert found.environments == 5
    assert found.missed_restores == []
    assert found.rewinds == []
    assert found.origin == "reset"


@pytest.mark.parametrize("envs", [2, 3, 16])
def test_any_number_of_environments(envs: int) -> None:
    scene, truth = run(envs, 30, order="rounds", seed=envs)
    assert check(scene, truth, 2).environments == envs


def test_a_reset_may_take_a_turn_of_its_own() -> None:
    scene, truth = run(4, 60, resets="turn", seed=5)
    check(scene, truth, 2)


def test_two_episodes_that_end_in_one_round() -> None:
    # episodes of one length: all environments are reset in the same round
    scene, truth = run(3, 30, seed=8, length=5)
    assert truth.control_step.count(0) > 9
    check(scene, truth, 2)


def test_the_same_environment_twice_in_a_row_is_no_fork() -> None:
    scene, truth = run(2, 60, order="random", seed=1)
    twice = [a == b for a, b in zip(truth.env[::2], truth.env[2::2], strict=False)]
    assert any(twice)
    assert check(scene, truth, 2).missed_restores == []


@pytest.mark.parametrize("order", ["fixed", "rounds"])
def test_one_missed_restore(order: str) -> None:
    planned = turns(order, 4, 30, np.random.default_rng(11))
    turn = next(k for k in range(40, 60) if planned[k] == 2 != planned[k - 1])
    scene, truth = run(4, 30, order=order, seed=11, missed=((turn, 2),))
    found = check(scene, truth, 2)
    assert len(found.missed_restores) == 1
    seen = found.missed_restores[0]
    place = seen.place
    expected = truth.missed[0]
    got = (seen.native, place.env, place.episode, place.control_step, seen.victim.env)
    assert got == expected
    assert seen.victim_native == seen.native - 1
    assert truth.env[seen.orphan_native] == 2
    assert seen.tainted[0] == seen.native
    assert truth.episode[seen.tainted[1]] == place.episode


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 7),
    st.sampled_from([1, 2, 3]),
    st.integers(0, 10_000),
    st.lists(st.integers(8, 100), max_size=4, unique=True),
)
def test_missed_restores_in_a_fixed_order(
    envs: int, substeps: int, seed: int, at: list[int]
) -> None:
    # More than a round apart, so that what happened can be told: if the environment
    # whose reset state was taken does not go on from it either, the reset looks like
    # the other one's.
    rounds = 30
    apart: list[int] = []
    for turn in sorted(at):
        if turn < envs * rounds and (not apart or turn - apart[-1] > envs):
            apart.append(turn)
    planned = tuple((turn, turn % envs) for turn in apart)
    scene, truth = run(envs, rounds, substeps=substeps, seed=seed, missed=planned)
    found = check(scene, truth, substeps)
    got = [
        (m.native, m.place.env, m.place.episode, m.place.control_step, m.victim.env)
        for m in found.missed_restores
    ]
    assert got == truth.missed


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 9),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["fixed", "rounds", "random"]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 10_000),
)
def test_clean_runs_have_no_findings_and_no_wrong_step(
    envs: int, substeps: int, order: str, real: Any, seed: int
) -> None:
    scene, truth = run(envs, 30, order=order, substeps=substeps, real=real, seed=seed)
    found = attribute(scene.recording())
    assert found.parent.tolist() == truth.parent
    assert found.missed_restores == []
    assert found.rewinds == []
    # Near the end, in no order at all, an episode may stay without its environment.
    linked = found.linked
    assert linked.mean() > 0.7
    if order != "random":
        assert linked.all()
    for name in LABELS:
        expected = np.array(getattr(truth, name))
        np.testing.assert_array_equal(
            getattr(found.labels, name)[linked], expected[linked], name
        )


def test_the_last_turn_missed_shows_by_the_order_alone() -> None:
    # nobody steps after it, so that no state is continued twice
    envs, rounds = 3, 20
    last = envs * rounds - 1
    scene, truth = run(envs, rounds, seed=2, length=100, missed=((last, 2),))
    found = check(scene, truth, 2)
    assert [m.kind for m in found.missed_restores] == ["order"]
    assert found.missed_restores[0].native == len(scene) - 2


def test_a_neighbour_that_missed_right_behind_another() -> None:
    missed = ((21, 1), (22, 2))
    scene, truth = run(4, 20, seed=6, length=100, missed=missed)
    found = check(scene, truth, 2)
    assert [m.place.env for m in found.missed_restores] == [1, 2]
    assert [m.victim.env for m in found.missed_restores] == [0, 1]


def test_a_file_cut_in_the_middle_of_a_control_step() -> None:
    scene, truth = run(3, 20, substeps=4, seed=4)
    for _ in range(2):
        scene.h.pop(), scene.columns.pop(), scene.parents.pop()
    found = attribute(scene.recording())
    rows = len(scene)
    assert found.substeps == 4
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name), getattr(truth, name)[:rows]
        )


@pytest.mark.parametrize("order", ["fixed", "rounds"])
def test_a_recording_begun_in_the_middle(order: str) -> None:
    scene, truth = run(4, 30, order=order, seed=9, length=12)
    first = next(
        k
        for k in range(50, len(scene))
        if truth.substep[k] == 0 and truth.control_step[k] > 1
    )
    found = attribute(scene.recording(first))
    assert found.origin == "recording"
    assert found.environments == 4
    env = np.array(truth.env[first:])
    named = {}
    for mine, true in zip(found.labels.env.tolist(), env.tolist(), strict=True):
        assert named.setdefault(mine, true) == true
    assert len(set(named.values())) == 4
    control = np.array(truth.control_step[first:])
    episode = np.array(truth.episode[first:])
    for e in range(4):
        rows = np.flatnonzero(env == e)
        shift = np.where(
            episode[rows] == episode[rows[0]], max(control[rows[0]], 1) - 1, 0
        )
        np.testing.assert_array_equal(
            found.labels.control_step[rows], control[rows] - shift
        )
        np.testing.assert_array_equal(
            found.labels.episode[rows], episode[rows] - episode[rows[0]] + 1
        )
    np.testing.assert_array_equal(found.labels.substep, truth.substep[first:])


def test_a_recording_begun_inside_a_control_step() -> None:
    scene, truth = run(3, 20, substeps=4, seed=4, length=100)
    first = 3 + 12 * 5 + 3  # the last substep of somebody's control step
    assert truth.substep[first] == 3
    found = attribute(scene.recording(first))
    assert found.substeps == 4
    assert found.labels.substep.tolist() == truth.substep[first:]
    assert found.labels.control_step[0] == -1
    assert found.labels.control_step[1] == 1
    assert found.reason[0] != 0
    assert not found.reason[1:].any()


def test_bodies_asleep_are_followed_all_the_same() -> None:
    # no noise in velocity, no push: nothing ever moves, but starts differ in place
    scene, truth = run(3, 30, seed=7, push=0.0, length=100)
    for column in scene.columns:
        column["vcom"][:] = 0
        column["omega"][:] = 0
        column["vsym"][:] = 0
    for row, parent in enumerate(scene.parents):
        if parent >= 0:
            for name in ("translationCom", "rotation"):
                scene.columns[row][name] = scene.columns[parent][name]
    found = attribute(scene.recording())
    for name in LABELS:
        assert getattr(found.labels, name).tolist() == getattr(truth, name)


def test_taking_in_rows_bit_by_bit_gives_the_same() -> None:
    scene, truth = run(4, 30, order="random", seed=13, missed=((50, 0), (51, 1)))
    recording = scene.recording()
    whole = attribute(recording)
    rng = np.random.default_rng(0)
    grown = Attributor(recording)
    while len(grown) < len(recording):
        grown.update(len(grown) + int(rng.integers(1, 25)))
        grown.result()
    parts = grown.result()
    for name in (*LABELS, "kind"):
        np.testing.assert_array_equal(
            getattr(parts.labels, name), getattr(whole.labels, name)
        )
    assert parts.missed_restores == whole.missed_restores
    assert parts.parent.tolist() == truth.parent
    np.testing.assert_array_equal(parts.residual_m, whole.residual_m)
    np.testing.assert_array_equal(parts.margin_m, whole.margin_m)


def test_what_is_searched_does_not_grow_with_the_recording() -> None:
    scene, _ = run(3, 900, substeps=1, seed=1, length=7)
    attributor = Attributor(scene.recording())
    kept = []
    for stop in range(300, len(scene), 300):
        attributor.update(stop)
        kept.append(len(attributor.chains.live))
    # one for each environment, and ends of episodes that wait to be forgotten
    assert max(kept) <= 2048


@pytest.mark.parametrize("order", ["fixed", "rounds"])
@pytest.mark.parametrize("first_turn", range(20, 32))
def test_a_recording_begun_in_the_middle_where_resets_take_a_turn(
    order: str, first_turn: int
) -> None:
    # Somebody's cut episode may be over before the others are seen for the first time.
    scene, truth = run(5, 25, order=order, resets="turn", seed=17, length=4)
    whole = [k for k in range(5, len(scene)) if truth.substep[k] == 0]
    first = whole[first_turn]
    found = attribute(scene.recording(first))
    assert found.jumps == []
    assert not (found.reason == Reason.GAP).any()
    if order == "fixed":
        assert found.environments == 5
        assert found.linked.all()
    # In rounds it can't be told whether a reset is of one that was not seen before.
    named: dict[int, int] = {}
    proven = found.labels.env[found.linked].tolist()
    truly = np.array(truth.env[first:])[found.linked].tolist()
    for mine, true in zip(proven, truly, strict=True):
        assert named.setdefault(mine, true) == true
    assert len(set(named.values())) == len(named)


@pytest.mark.parametrize(("always", "since"), [(1, 0), (1, 6), (0, 6)])
@pytest.mark.parametrize("substeps", [2, 3])
def test_of_two_environments_one_never_restores(
    always: int, since: int, substeps: int
) -> None:
    # It never comes back to a state of its own, and takes turns all the same.
    missed = tuple((turn, always) for turn in range(since + always, 40, 2))
    scene, truth = run(2, 20, substeps=substeps, seed=18, length=100, missed=missed)
    found = check(scene, truth, substeps)
    got = [
        (m.native, m.place.env, m.place.episode, m.place.control_step, m.victim.env)
        for m in found.missed_restores
    ]
    assert got == truth.missed


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_bodies_that_turn_far_in_one_step_go_on_all_the_same(real: Any) -> None:
    # What a rotation is rounded by grows with how far it turns.
    for seed in range(5219, 5225):
        scene, truth = run(
            3, 40, substeps=5, seed=seed, real=real, length=2, bodies=1, noise=1.0
        )
        found = check(scene, truth, 5)
        assert found.jumps == []
        assert found.displaced_actors == {}


@pytest.mark.parametrize(
    ("order", "envs", "rounds", "length", "seed"),
    [
        ("random", 9, 40, 2, 5055),
        ("random", 9, 20, 5, 5738),
        ("random", 9, 8, 2, 5770),
        ("rounds", 5, 20, 5, 5683),
    ],
)
def test_of_several_that_ended_none_is_picked(
    order: str, envs: int, rounds: int, length: int, seed: int
) -> None:
    # Resets take a turn of their own, so that several wait for theirs at a time. None
    # is likelier for having waited longer, and one that happens to come right behind
    # its own last step makes no habit.
    scene, truth = run(
        envs, rounds, order=order, seed=seed, resets="turn", length=length
    )
    found = attribute(scene.recording())
    assert found.missed_restores == found.rewinds == found.jumps == []
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name)[found.linked],
            np.array(getattr(truth, name))[found.linked],
            name,
        )
