"""The times of a step's stages: told only where somebody listens, and add up."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.envs import profiling
from isoscope.core.envs.profiling import Profiler, StepProfile, step_profiles, waiting
from isoscope.core.envs.vector.hybrid import HybridVectorEnv
from tests.core.envs.making import batch, env

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nobody_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that other tests left to the garbage collector may still be there."""
    monkeypatch.setattr(step_profiles, "_listeners", ())


@pytest.fixture
def told() -> Iterator[list[StepProfile]]:
    found: list[StepProfile] = []
    stop = step_profiles.listen(found.append)
    yield found
    stop()


def values(profile: StepProfile) -> dict[str, float]:
    return {entry.name: entry.value for entry in profile.entries}


def check_containment(profile: StepProfile) -> None:
    """Every parent is told before its parts, and is no shorter than their sum."""
    spent, inside = {}, {}
    for entry in profile.entries:
        if entry.unit != "s":
            continue
        assert entry.name.rpartition("/")[0] == entry.parent
        assert not entry.parent or entry.parent in spent
        spent[entry.name] = entry.value
        inside[entry.parent] = inside.get(entry.parent, 0.0) + entry.value
    for name, value in spent.items():
        assert inside.get(name, 0.0) <= value + 1e-9


def test_a_shared_scene_s_step_has_all_its_stages(told: list[StepProfile]) -> None:
    made = env(scene="shared", env_id=3)
    made.reset(seed=1)
    made.step(np.zeros(1, np.float32))
    made.close()
    reset, step = told
    assert (reset.what, step.what, step.env) == ("reset", "step", 3)
    assert set(values(step)) == {
        "step",
        "step/convert",
        "step/restore",
        "step/substeps",
        "step/substeps/apply",
        "step/capture",
        "step/observe",
        "step/reward",
        "step/stop",
    }
    assert {"reset", "reset/begin", "reset/observe", "reset/convert"} == set(
        values(reset)
    )
    for profile in told:
        check_containment(profile)


def test_nobody_listens_and_nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_clock() -> float:
        raise AssertionError("timed although nobody listens")

    monkeypatch.setattr(profiling, "perf_counter", no_clock)
    made = env()
    usual = made.lanes.stages
    made.reset(seed=1)
    made.step(np.zeros(1, np.float32))
    assert made.lanes.stages is usual
    made.close()


def test_what_the_environment_does_is_the_same() -> None:
    def run() -> list[bytes]:
        made = env(scene="shared")
        seen = [made.reset(seed=5)[0].tobytes()]
        for k in range(5):
            seen.append(made.step(np.full(1, 0.3 * k, np.float32))[0].tobytes())
        made.close()
        return seen

    stop = step_profiles.listen(lambda _: None)
    with_listener = run()
    stop()
    assert not step_profiles.listened_to
    assert run() == with_listener


def test_a_batch_tells_one_profile_a_step(told: list[StepProfile]) -> None:
    made = batch(n=3, first_env=4)
    made.reset(seed=1)
    made.step(np.zeros((3, 1), np.float32))
    made.step_device(np.zeros((3, 1), np.float32))
    made.close()
    assert [p.what for p in told] == ["reset", "step", "step"]
    assert told[1].envs == (4, 5, 6)
    assert told[1].env == -1
    for profile in told:
        check_containment(profile)


def test_a_failed_step_tells_nothing_and_puts_the_stages_back(
    told: list[StepProfile],
) -> None:
    made = env()
    made.reset(seed=1)
    usual = made.lanes.stages
    del told[:]
    with pytest.raises(Exception, match="shape"):
        made.step(np.zeros(7, np.float32))
    assert told == []
    assert made.lanes.stages is usual
    made.step(np.zeros(1, np.float32))
    assert [p.what for p in told] == ["step"]
    made.close()


def test_a_vector_environment_tells_how_long_it_waited(
    told: list[StepProfile],
) -> None:
    vector = HybridVectorEnv([env, env])
    vector.reset(seed=1)
    del told[:]
    vector.step(np.zeros((2, 1), np.float32))
    vector.close()
    whole = told[-1]
    assert whole.envs == ()
    assert set(values(whole)) == {"step", "step/convert", "step/wait"}
    check_containment(whole)


def test_a_worker_tells_how_long_nobody_asked_it(told: list[StepProfile]) -> None:
    with waiting([2, 3]):
        pass
    assert (told[0].what, told[0].envs) == ("wait", (2, 3))
    assert told[0].entries[0].name == "wait"


@dataclass
class Elsewhere:
    """As much of a lane group as says that its scene is on another device."""

    stages: object = None
    scene: SimpleNamespace = field(default_factory=SimpleNamespace)
    count: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(device="cuda:0")
    )


def test_launches_are_called_launches(told: list[StepProfile]) -> None:
    profiler = Profiler((0,), Elsewhere(), lazy=True)  # type: ignore[arg-type]
    with profiler.whole("step"):
        with profiler.part("substeps"):
            pass
        with profiler.part("convert"):
            pass
    assert list(values(told[0])) == [
        "step_launch",
        "step_launch/substeps_launch",
        "step_launch/convert",
    ]


def test_the_ledger_is_told_by_cause(told: list[StepProfile]) -> None:
    books = {"action": SimpleNamespace(h2d_bytes=8, d2h_bytes=0, d2d_bytes=0, syncs=0)}
    lanes = Elsewhere()
    lanes.scene.ledger = SimpleNamespace(by_cause=lambda: dict(books))
    profiler = Profiler((0,), lanes)  # type: ignore[arg-type]
    with profiler.whole("step"):
        books["action"] = SimpleNamespace(
            h2d_bytes=20, d2h_bytes=0, d2d_bytes=0, syncs=0
        )
        books["view"] = SimpleNamespace(h2d_bytes=0, d2h_bytes=96, d2d_bytes=0, syncs=2)
    copies = {e.name: (e.value, e.unit) for e in told[0].entries if e.unit != "s"}
    assert copies == {
        "copies/h2d/action": (12.0, "B"),
        "copies/d2h/view": (96.0, "B"),
        "copies/syncs/view": (2.0, ""),
    }
