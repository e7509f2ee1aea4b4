"""Every id has a check, an explanation, a run that triggers it and one that doesn't."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app import environments
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.isolation.explain.explaining import EXPLANATIONS
from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from isoscope.core.isolation.ids import ERRORS, NOTES, SEVERITIES, WARNINGS
from isoscope.core.isolation.registry import CHECKS, all_checks
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.stored import StoredRecorder
from isoscope.core.recording.registry import load
from tests.core.envs.rail_scene import make_rail_scene
from tests.core.isolation.building import Run
from tests.core.isolation.recorded_demo import recorded
from tests.core.isolation.told import episodes, last, store
from tests.core.isolation.worlds import found as found_in

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
BOX = [r.Space(role="action", dtype="float32", shape=[1], low=[-3.0], high=[3.0])]
SEEN = [r.Space(role="observation", dtype="float32", shape=[4])]


def started(path: Path, **more: Any) -> Run:
    return Run(path, 2, **more).resets().steps(3)


def missed_restore(path: Path) -> Run:
    run = started(path)
    run.step(0)
    run.step(1, restore=False)
    return run


def snapshot_lost(path: Path) -> Run:
    run = started(path)
    run.k[1] += 1
    run.restore(1)
    run.event("exception", 1, ok=0, detail={"doing": "step", "problem": "torn"})
    run.failure("step", 1, "RuntimeError: torn", episode=1, control_step=4)
    run.step(0)
    run.reset(1)
    return run


def restore_failed(path: Path) -> Run:
    run = started(path)
    run.event("restore", 1, ok=0, detail={"problem": "no such handle"})
    run.failure("restore", 1, "no such handle")
    run.step(0)
    run.reset(1)
    return run


def config_changed(path: Path) -> Run:
    run = started(path)
    run.configure(1, "joint/friction", 0.05, 0.15)
    run.step(1)
    run.step(0)
    return run.steps(2)


def with_event(kind: str, env: int, **more: Any) -> Callable[[Path], Run]:
    def make(path: Path) -> Run:
        run = started(path)
        run.event(kind, env, **more)
        return run

    return make


def scene_key(path: Path) -> Run:
    run = Run(path, 2)
    for env in range(2):
        wanted = {"gravity": [0.0, -9.8 + env, 0.0]}
        run.event("acquire" if env else "create", env, detail={"wanted": wanted})
    return run.resets().steps(2)


def second_thread(path: Path) -> Run:
    run = started(path)
    run.thread = 12
    run.step(1)
    return run


def step_after_done(path: Path) -> Run:
    run = started(path)
    run.step(1, terminated=1)
    return run.steps(2)


def reset_row(path: Path) -> Run:
    run = episodes(Run(path, 2), 1, terminated=1)
    run.reset(1)
    store(run, last(run), transition=True)
    return run


def final_observation(path: Path) -> Run:
    run = started(path)
    run.step(1, truncated=1)
    at = last(run)
    run.reset(1)
    store(run, at, observation_after=run.seen[1])
    return run


def stored_wrong(**columns: Any) -> Callable[[Path], Run]:
    def make(path: Path) -> Run:
        run = Run(path, 2, info=("load",)).resets().steps(3)
        run.step(0, values={"load": 1.0})
        run.step(1, terminated=1)
        store(run, last(run), **columns)
        run.reset(1)
        return run

    return make


def aliasing(path: Path) -> Run:
    run = Run(path, 1).resets()
    for _ in range(6):
        run.step(0)
    values = np.repeat(run.seen[0][None], 4, axis=0)
    numbers = np.arange(last(run) - 3, last(run) + 1)
    StoredRecorder(run.recorder).rows(numbers, {"observation_after": values})
    return run


def observation_schema(path: Path) -> Run:
    run = started(path)
    store(run, last(run), observation_after=run.seen[1][::-1].copy())
    return run


def target_as_action(path: Path) -> Run:
    run = started(path)
    store(run, last(run), action=np.array([run.world[0][0]], np.float32))
    return run


def unclipped(path: Path) -> Run:
    run = started(path, spaces=BOX)
    run.vectors.put(1, [9.0])
    run.recorder.transition(r.Transition(1, 1, 4, 1.0, 0, 0, 1), run.vectors)
    return run


def with_step(**more: Any) -> Callable[[Path], Run]:
    def make(path: Path) -> Run:
        run = started(path)
        run.step(1, **more)
        return run

    return make


def absent_field(path: Path) -> Run:
    run = started(path)
    columns = {"native/Ball.targetPose": np.zeros((1, 1))}
    StoredRecorder(run.recorder).rows(np.array([last(run)]), columns)
    return run


def seeded(*seeds: int) -> Callable[[Path], Run]:
    def make(path: Path) -> Run:
        run = Run(path, 2)
        for _ in range(2):
            for env, seed in enumerate(seeds):
                run.reset(env, seed=seed + 10 * run.episode[env] * (len(seeds) > 1))
            run.step(0)
        return run

    return make


def one_start(path: Path) -> Run:
    run = Run(path, 2)
    for env in range(2):
        run.reset(env, at=0.5)
    return run.steps(2)


def unseeded(path: Path) -> Run:
    extra = {"cores": 4, "action_space_seeds": [None, 3]}
    run = Run(path, 2, extra=extra)
    for env in range(2):
        run.reset(env, seed=env + 1)
    for k in range(3):
        digest = f"sampled {k}".encode().ljust(16)
        run.step(0, action_rng_digest=digest)
        run.step(1)
    return run


def shared_generator(path: Path) -> Run:
    run = Run(path, 2)
    for env in range(2):
        run.reset(env, seed=100 + env)
    for k in range(4):
        for env in range(2):
            run.step(env, rng=f"shared {k}")
    return run


def threads(path: Path) -> Run:
    return Run(path, 2, threads=8, processes=2, extra={"cores": 4}).resets().steps(2)


def hidden_state(path: Path) -> Run:
    run = Run(path, 1, hidden=True)
    for first in (0.125, 0.75):
        run.reset(0, values={"hidden_state": 0.5})
        for k in range(3):
            run.step(0, values={"hidden_state": first if k == 0 else 0.5 * k})
    return run


def restamped(path: Path) -> Run:
    run = Run(path, 1).resets()
    seen = None
    for k in range(8):
        run.step(0)
        seen = seen if k == 4 else run.seen[0].copy()
        run.recorder.stream(
            r.StreamSample("camera", k, 0.04 * k, env=0, row=run.rows - 1, data=seen)
        )
    return run


def moved(path: Path) -> Run:
    run = Run(path, 1).resets().steps(3)
    run.k[0] += 1
    first = run.native(0, 0, 1.0)
    place, speed, rest = run.world[0]
    run.world[0] = (place + 1e-3, speed, rest)
    second = run.native(0, 1, 1.0)
    run.capture(0)
    run.transition(0, first, second, 1.0)
    return run


def profile(path: Path) -> Run:
    run = started(path)
    for entry in (("step", 1.0, "s", ""), ("a", 0.9, "s", "step"), ("a", 0.9, "s")):
        told = r.ProfileEntry(*entry, **({"parent": "step"} if len(entry) == 3 else {}))
        run.recorder.profile(told)
    return run


def dropped(path: Path) -> Run:
    run = started(path)
    run.recorder.dropped(r.Dropped("events", 3, run.rows))
    return run


def returns(path: Path) -> Run:
    run = episodes(Run(path, 2), 1, terminated=1)
    store(run, last(run), **{"return": 100.0})
    return run


def rewound(path: Path) -> Run:
    run = started(path)
    earlier = run.own[0]
    run.steps(3)
    run.own[0] = earlier
    return run.steps(2)


def no_time(path: Path) -> Run:
    run = started(path)
    run.restore(0)
    run.native(0, -1, h_s=0.0, kind=3)
    return run.steps(2)


def free(path: Path) -> Run:
    run = started(path)
    run.native(0, 0, free=True)
    return run.steps(2)


def examined(path: Path) -> Examined:
    recording = load(path)
    return Examined(recording, attribute(recording))


def rounded() -> Any:
    recording = load(RECORDINGS / "shared_cartpole_2env.h5")
    for actor in recording.actors:
        for track in actor.fields.tracks.values():
            if track.dtype.kind == "f":
                track.values[:] = track.values.astype(np.float16)
    return recording


RUNS: dict[str, Callable[[Path], Run]] = {
    "missed-restore": missed_restore,
    "snapshot-lost": snapshot_lost,
    "restore-failed": restore_failed,
    "config-changed": config_changed,
    "stale-read": with_event("render", 0),
    "scene-key": scene_key,
    "cleanup-failed": with_event("cleanup", -1, ok=0, detail={"problem": "busy"}),
    "thread-shared-scene": second_thread,
    "step-after-done": step_after_done,
    "reset-row": reset_row,
    "final-observation": final_observation,
    "end-flags": stored_wrong(terminated=True, truncated=True),
    "aliasing": aliasing,
    "observation-schema": observation_schema,
    "action-range": unclipped,
    "non-finite": with_step(reward=math.inf),
    "unconverged": with_step(native={"solver_status": 2}),
    "masked-info": stored_wrong(info__load=0.0),
    "absent-field": absent_field,
    "target-as-action": target_as_action,
    "duplicate-seeds": seeded(7, 7),
    "identical-start": one_start,
    "same-seed-every-reset": seeded(7),
    "unseeded-action-space": unseeded,
    "shared-task-state": shared_generator,
    "context-threads": threads,
    "hidden-state-not-reset": hidden_state,
    "frame-restamped": restamped,
    "callback-moved-state": moved,
    "handle-as-env": stored_wrong(env=float((1 << 32) + 1)),
    "profile-sum": profile,
    "incomplete-recording": dropped,
    "clock-mismatch": lambda path: started(path, control_hz=20.0),
    "return-units": returns,
    "rewind": rewound,
    "zero-step": no_time,
    "free-scene": free,
}
BARE = {"hidden-leak", "rounded-values"}


def test_each_has_a_check_an_explanation_and_a_run() -> None:
    ids = {*ERRORS, *WARNINGS, *NOTES}
    assert set(CHECKS) == ids == set(EXPLANATIONS) == set(RUNS) | BARE
    for key, check in all_checks().items():
        assert check.SEVERITY == SEVERITIES[key]
        told = EXPLANATIONS[key]
        assert all((told.means, told.comes_about, told.do, told.needs))


def test_symptoms_ask_for_checks_that_there_are() -> None:
    assert {key for symptom in SYMPTOMS for key in symptom.checks} <= set(CHECKS)
    assert len({symptom.key for symptom in SYMPTOMS}) == len(SYMPTOMS) == 12


@pytest.mark.parametrize("key", RUNS)
def test_a_run_that_triggers_it(tmp_path: Path, key: str) -> None:
    run = RUNS[key](tmp_path)
    found = [f for f in run.findings() if f.id == key]
    assert found
    assert found[0].remedy
    assert found[0].message.startswith(found[0].headline)


def test_a_run_that_triggers_none(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, spaces=[*BOX, *SEEN], info=("load",))
    episodes(run, 2, terminated=1)
    store(run, last(run), observation_after=run.seen[1], terminated=True)
    store(run, last(run), truncated=False, transition=True, env=1.0)
    store(run, last(run), **{"return": 4.0})
    assert [f.message for f in run.findings()] == []


def test_each_has_a_run_in_which_it_looks_and_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    settings = DemoSettings(
        envs=3,
        steps=12,
        device="cpu",
        frames=True,
        policy="smooth",
        task_settings={"max_steps": 4},
    )
    (tmp_path / "demo").mkdir()
    demo = recorded(tmp_path / "demo", settings).said
    run = Run(tmp_path, 2, spaces=[*BOX, *SEEN], threads=1, extra={"cores": 4})
    episodes(run, 2, terminated=1)
    store(run, last(run), **{"return": 4.0, "env": 1.0})
    twins = ("shared_cartpole_2env.h5", "independent_cartpole_env0.h5")
    bare = audit(Context(*(examined(RECORDINGS / name) for name in twins)))
    quiet: set[str] = set()
    for said in (demo, run.audit(), bare):
        assert [f.message for f in said.findings] == []
        quiet |= {check.id for check in said.checks if check.ran}
    assert quiet == set(CHECKS)


def test_a_twin_and_rounded_values_show_in_bare_recordings() -> None:
    twin = RECORDINGS / "independent_cartpole_env0.h5"
    leak = RECORDINGS / "shared_cartpole_leak_inertia.h5"
    assert found_in(leak, "hidden-leak", twin)
    assert not found_in(RECORDINGS / "shared_cartpole_2env.h5", "hidden-leak", twin)
    assert found_in(rounded(), "rounded-values")
    assert not found_in(RECORDINGS / "shared_cartpole_2env.h5", "rounded-values")
