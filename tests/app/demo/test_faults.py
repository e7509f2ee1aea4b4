"""Each fault does what it says at its place, and nothing else before it or beside."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.faults.configuration import IncompleteKey
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.manager import context
from isoscope.core.errors import UsageError
from tests.app.demo.tracing import Trace, traced

ENVS, ROUNDS = 3, 21
PLACES = {
    "step": Place(1, 2, 3),
    "reset": Place(1, 2, 0),
    "end": Place(1, 2, 2),
    "start": Place(1, 1, 0),
}
STATE = {"state", "control after", "stored next_obs"}
SEEN = {"control after", "stored next_obs"}
LEAK = STATE | {"configuration"}
ACTION = STATE | {"control raw", "control clipped", "control applied"}
DRAWN = ACTION | {"stored action"}
CARRIED = DRAWN | {"stored policy_state"}
LOST = {"stored info", "stored reward", "stored truncated", "stored usable", "return"}
INVALID = STATE | LOST | {"native status"}
INVALID |= {"control reward", "control truncated", "control valid"}
# What is not as in the clean run in the first round that shows it.
SHOWS: dict[str, set[str]] = {
    "missed-restore": STATE,
    "partial-restore": STATE,
    "gravity-leak": LEAK,
    "friction-leak": LEAK,
    "inertia-leak": {"configuration"},  # rails have none; only that it was set
    "density-leak": LEAK,
    "hidden-leak": STATE,
    "failing-cleanup": {"told failure"},
    "stale-observation": SEEN,
    "stale-render": {"frame data"},
    "observation-order": SEEN,
    "observation-unit": SEEN,
    "end-flags-swapped": {
        "control terminated",
        "control truncated",
        "stored terminated",
        "stored truncated",
    },
    "duplicate-seeds": {"seed", "streams", "start", "stored next_obs"},
    "same-seed-every-reset": {"streams", "start", "stored next_obs"},
    "identical-start": {"start", "stored next_obs"},
    "shared-rng": {"seed", "streams", "start", "stored next_obs"},
    "shared-task-state": {"control control_step"},
    "wrong-thread": {"told thread"},
    "step-after-done": {"native step", "seed", "start", "streams", "stored next_obs"},
    "unclipped-action": ACTION,
    "raw-clipped-swap": ACTION,
    "non-finite-force": INVALID,
    "diverging-solve": INVALID,
    "callback-moved-state": STATE,
    "zero-step": {"native step"},
    "reset-row": {"stored transition", "stored usable"},
    "final-observation": {"stored next_obs", "handed"},
    "end-flags-both": {"stored terminated"},
    "end-flags-neither": {"stored truncated"},
    "aliasing": {"handed"},
    "observation-dtype": {"stored next_obs"},
    "masked-info": {"stored info"},
    "handle-as-env": {"stored env"},
    "hidden-state-kept": CARRIED,
    "hidden-state-advanced": CARRIED,
    "unseeded-action-space": DRAWN | {"stored action_seeded"},
    "return-units": {"return"},
    "frame-restamped": {"frame data"},
    "profile-twice": {"profile"},
    "profile-units": {"profile"},
}
# An exception ends the step: much is missing, and these are there.
INTERRUPTED = {"told failure", "stored usable", "stored truncated"}
# They have a test of their own.
ELSEWHERE = {
    "failed-restore",
    "lost-snapshot",
    "incomplete-key",
    "double-seeds",
    "worker-death",
    "context-threads",
    "absent-field",
    "target-as-action",
}
# What a leak changes is changed for those that come after it in the same round.
SPREADS = {"gravity-leak", "friction-leak", "density-leak", "inertia-leak"}
LOUD = "ignore:overflow encountered:RuntimeWarning"
CASES = [
    (name, scene)
    for name, kind in all_faults().items()
    for scene in kind.SCENES
    if name not in ELSEWHERE
]


@cache
def _clean(settings: DemoSettings) -> Trace:
    context._managers.clear()
    return traced(settings, ROUNDS)


class _Settings(DemoSettings):
    def __hash__(self) -> int:
        return hash(repr(self))


def settings_for(name: str, scene: Any, **others: Any) -> DemoSettings:
    kind = all_faults()[name]
    return _Settings(
        envs=ENVS,
        scene=scene,
        device="cpu",
        autoreset=kind.MODES[0],  # type: ignore[arg-type]
        policy="smooth" if "policy-state" in kind.NEEDS else "random",
        frames="frames" in kind.NEEDS,
        task_settings={"max_steps": 8},
        **others,
    )


def order_of(name: str) -> FaultOrder:
    return FaultOrder(name, PLACES[all_faults()[name].WHEN])


def test_every_fault_is_looked_at() -> None:
    assert SHOWS.keys() | ELSEWHERE == all_faults().keys()


@pytest.mark.filterwarnings(LOUD)
@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize(("name", "scene"), CASES)
def test_a_fault_does_what_it_says_and_nothing_else(name: str, scene: str) -> None:
    settings = settings_for(name, scene)
    clean = _clean(settings)
    context._managers.clear()
    faulty = traced(replace(settings, faults=(order_of(name),)), ROUNDS)
    happened = faulty.run.faults[0].happened
    assert len(happened) == 1
    if not name.startswith("profile"):  # that is of a whole round
        assert happened[0].env == 1
        assert happened[0] >= PLACES[all_faults()[name].WHEN]
    first = _first_difference(clean, faulty)
    assert first == _round_of(name, happened[0], faulty)
    found = faulty.differences(clean, first)
    assert found - {"told cleanup"} == SHOWS[name]
    if scene != "resident" and name not in SPREADS:
        for kind in found:
            mine, theirs = faulty.rounds[first][kind], clean.rounds[first][kind]
            if kind.startswith("control"):
                differ = [a != b for a, b in zip(mine, theirs, strict=True)]
                assert differ == [False, True, False]
    if name in SPREADS:
        return
    at = min(max(first, 1), ROUNDS) - 1
    mine, theirs = faulty.stored[at].next_obs, clean.stored[at].next_obs
    assert (mine[[0, 2]] == theirs[[0, 2]]).all()


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("name", ["failed-restore", "lost-snapshot"])
def test_an_exception_ends_the_episode_and_the_others_go_on(name: str) -> None:
    settings = settings_for(name, "shared")
    clean = _clean(settings)
    context._managers.clear()
    faulty = traced(replace(settings, faults=(order_of(name),)), ROUNDS)
    first = _first_difference(clean, faulty)
    assert first == _round_of(name, PLACES["step"], faulty)
    assert faulty.differences(clean, first) >= INTERRUPTED
    rows, next_rows = faulty.stored[first - 1], faulty.stored[first]
    assert rows.usable.tolist() == [True, False, True]
    assert rows.truncated.tolist() == [False, True, False]
    # the next row resets it, and the others go on as if nothing had been
    assert next_rows.transition.tolist() == [True, False, True]
    for mine, theirs in zip(faulty.stored, clean.stored, strict=True):
        assert (mine.next_obs[[0, 2]] == theirs.next_obs[[0, 2]]).all()


@pytest.mark.usefixtures("on_rails")
@pytest.mark.parametrize("scene", ["shared", "independent", "resident"])
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_faults_whose_place_is_never_reached_change_nothing(
    scene: Any, mode: Any
) -> None:
    settings = _Settings(
        envs=ENVS,
        scene=scene,
        device="cpu",
        autoreset=mode,
        policy="smooth",
        frames=True,
        task_settings={"max_steps": 8},
    )
    orders = tuple(
        FaultOrder(name, Place(1, 999, 0 if kind.WHEN == "reset" else 2))
        for name, kind in all_faults().items()
        if scene in kind.SCENES
        and mode in kind.MODES
        and kind.WHEN != "start"
        and "workers" not in kind.NEEDS
    )
    assert len(orders) > 20
    clean = _clean(settings)
    context._managers.clear()
    faulty = traced(replace(settings, faults=orders), ROUNDS)
    for number in range(ROUNDS + 2):
        # native fields are looked at, since a fault asks for it; nothing else differs
        assert faulty.differences(clean, number) <= {"stored fields"}
    assert not any(fault.happened for fault in faulty.run.faults)


@pytest.mark.usefixtures("on_rails")
def test_with_an_incomplete_key_an_environment_gets_a_scene_that_it_did_not_want() -> (
    None
):
    settings = settings_for("incomplete-key", "shared")
    faulty = Trace(DemoRun(replace(settings, faults=(order_of("incomplete-key"),))))
    (scene,) = {id(g.scene): g.scene for g in faulty._groups()}.values()
    wanted = IncompleteKey.WANTED["gravity"]
    assert scene.persistent_configuration()["gravity"].tolist() != list(wanted)
    faulty.take(1)
    # a complete key parts them
    context._managers.clear()
    run = DemoRun(settings)
    assert len({id(g.scene) for g in Trace(run)._groups()}) == 1
    run.close()


@pytest.mark.usefixtures("on_rails")
def test_what_aliased_rows_hold_is_the_last_that_was_written() -> None:
    settings = settings_for("aliasing", "shared")
    faulty = traced(replace(settings, faults=(order_of("aliasing"),)), ROUNDS)
    # rounds from the place on, of one horizon: all hold the last one's
    alike = [
        (rows.next_obs == faulty.stored[15].next_obs).all(1)
        for rows in faulty.stored[11:15]
    ]
    assert [row.tolist() for row in alike] == [[False, True, False]] * 4


@pytest.mark.parametrize("name", ["absent-field", "target-as-action"])
def test_native_fields_that_are_absent_or_no_action(name: str) -> None:
    order = FaultOrder(name, Place(1, 1, 2))
    settings = DemoSettings(envs=2, device="cpu", faults=(order,))
    with DemoRun(settings) as run:
        kept: list[Any] = []
        run.parts.rollout.stored.connect(lambda rollout, rows: kept.append(rows))
        run.parts.rollout.begin()
        for _ in range(3):
            run.parts.rollout.round()
    (key,) = [k for k in kept[0].fields if k.endswith("targetPose")]
    absent = [np.isnan(rows.fields[key]).all(1).tolist() for rows in kept]
    assert run.faults[0].happened == [Place(1, 1, 2)]
    if name == "absent-field":
        assert absent == [[True, True], [True, False], [True, True]]
        assert not kept[1].fields[key][1].any()
    else:
        assert absent == [[True, True]] * 3
        pose = next(v for k, v in kept[1].fields.items() if k.endswith("/pose"))
        assert kept[1].action[1, 0] == np.float32(pose[1, 0])
        assert kept[1].action[0, 0] != np.float32(pose[0, 0])


def test_faults_of_workers() -> None:
    orders = tuple(
        FaultOrder(name, place)
        for name, place in {
            "double-seeds": Place(2, 1, 0),
            "context-threads": Place(0, 1, 0),
            "worker-death": Place(2, 1, 2),
        }.items()
    )
    settings = DemoSettings(
        envs=4, workers=2, device="cpu", steps=4, seed=5, faults=orders
    )
    with DemoRun(settings) as run:
        threads = {worker.threads for worker in run.parts.envs.worker_info}
        done = run.run()
        assert run.parts.envs.lane_seeds == (5, 6, 6, 7)
    assert len(threads) == 1
    assert min(t for t in threads if t is not None) >= 4
    assert done.control_steps == 1
    assert "SIGKILL" in done.ended
    assert [bool(fault.happened) for fault in done.faults[:2]] == [True, True]


@pytest.mark.parametrize(
    ("name", "others", "message"),
    [
        ("missed-restore", {"scene": "independent"}, "--scene shared"),
        ("missed-restore", {"envs": 1}, "no environment 1"),
        ("worker-death", {}, "--workers 2"),
        ("reset-row", {"autoreset": "same_step"}, "next_step"),
        ("final-observation", {}, "same_step"),
        ("hidden-state-kept", {}, "--policy smooth"),
    ],
)
def test_a_fault_that_a_run_cannot_show_is_refused(
    name: str, others: dict[str, Any], message: str
) -> None:
    settings = DemoSettings(device="cpu", faults=(order_of(name),), **others)
    with pytest.raises(UsageError, match=message):
        DemoRun(settings)


def _first_difference(clean: Trace, faulty: Trace) -> int | None:
    for number in range(len(faulty.rounds)):
        if faulty.differences(clean, number):
            return number
    return None


def _round_of(name: str, place: Place, trace: Trace) -> int:
    """The round in which a fault that happened at this place shows first."""
    if name == "failing-cleanup":
        return ROUNDS + 1
    rows = [
        rows.at(place.env, place.episode, place.control_step) for rows in trace.stored
    ]
    if name == "handle-as-env":
        return 12
    found = next((i + 1 for i, row in enumerate(rows) if row is not None), None)
    match name:
        case "step-after-done":
            return 18  # the row that had to reset it
        case "shared-task-state":
            return 13  # which counts itself, and so is not where the row says
        case "aliasing":
            return 16  # as the store is handed over
    assert found is not None
    return found
