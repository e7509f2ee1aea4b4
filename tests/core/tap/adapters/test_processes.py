"""Vector environments in processes: a tap in each changes nothing, bit for bit."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from isoscope.app.environments import EnvFactory
from isoscope.core import tap
from isoscope.core.envs.vector import HybridVectorEnv, WorkerDiedError
from isoscope.core.recording.registry import load
from tests.core.tap.adapters.same import assert_same, vector_run
from tests.core.tap.support import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

N, STEPS = 2, 60
MODES = list(AutoresetMode)


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("ISOSCOPE_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    tap.detach()
    torch.set_num_threads(threads)
    assert not list((tmp_path / "runtime").glob("*"))


def run_of(make: Callable[[list[Any]], Any], fns: list[Any]) -> list[Any]:
    """All that comes out, and the generators' last states, also in the workers."""
    env = make(fns)
    try:
        out = vector_run(env, STEPS)
        generators = env.get_attr("np_random")
        out.append([one.bit_generator.state for one in generators])
    finally:
        env.close()
    return out


def compare(
    make: Callable[[list[Any]], Any], make_env: Callable[..., Any], path: Path
) -> Any:
    """Compare a run with its twin that is tapped from both sides; gives the file's."""
    plain = run_of(make, [make_env] * N)
    fns = [tap.factory(make_env, record=path, snapshots_every=5) for _ in range(N)]
    told = run_of(lambda fns: tap.attach(make(fns)), fns)
    tap.detach()
    assert_same(told, plain)
    found = load(path).labelled
    assert found is not None
    acted = [t for t in found.transitions() if t.valid == 1]
    ends = sum(int(row[2].sum() + row[3].sum()) for row in plain[1:] if len(row) == 5)
    assert ends > 2
    assert {t.env for t in acted} == set(range(N))
    assert sum(t.terminated + t.truncated for t in acted) == ends
    return found


@pytest.mark.parametrize("mode", MODES[:1], ids=lambda m: m.name)
def test_a_process_each(mode: AutoresetMode, tmp_path: Path) -> None:
    vector = partial(AsyncVectorEnv, context="spawn", autoreset_mode=mode)
    compare(vector, partial(gym.make, "CartPole-v1"), tmp_path / "run.isoscope.h5")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[1:], ids=lambda m: m.name)
def test_a_process_each_in_other_modes(mode: AutoresetMode, tmp_path: Path) -> None:
    test_a_process_each(mode, tmp_path)


@pytest.mark.parametrize("mode", MODES[:1], ids=lambda m: m.name)
def test_our_own_in_shared_scenes(mode: AutoresetMode, tmp_path: Path) -> None:
    vector = partial(HybridVectorEnv, autoreset_mode=mode)
    found = compare(vector, EnvFactory("CartPole"), tmp_path / "run.isoscope.h5")
    assert set(found.column("native", "env").tolist()) == set(range(N))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[1:], ids=lambda m: m.name)
def test_our_own_in_other_modes(mode: AutoresetMode, tmp_path: Path) -> None:
    test_our_own_in_shared_scenes(mode, tmp_path)


def test_our_hybrid_in_workers(tmp_path: Path) -> None:
    vector = partial(HybridVectorEnv, workers=2, autoreset_mode=MODES[0])
    compare(vector, partial(gym.make, "CartPole-v1"), tmp_path / "run.isoscope.h5")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("workers", [1, 2])
def test_shared_scenes_in_workers(
    workers: int, mode: AutoresetMode, tmp_path: Path
) -> None:
    vector = partial(HybridVectorEnv, workers=workers, autoreset_mode=mode)
    found = compare(vector, EnvFactory("CartPole"), tmp_path / "run.isoscope.h5")
    assert set(found.column("native", "env").tolist()) == set(range(N))


def step_on(env: HybridVectorEnv, acting: Any, times: int) -> None:
    for _ in range(times):
        env.step(acting)


def test_a_hybrid_worker_that_is_killed_is_told_and_new_ones_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    fns = [tap.factory(partial(gym.make, "CartPole-v1"), record=path) for _ in range(N)]
    acting = np.zeros(N, np.int64)
    for round_ in range(2):
        env = HybridVectorEnv(fns, workers=N)
        env.reset(seed=1)
        step_on(env, acting, 3)
        if not round_:
            session: Any = tap.current()
            merged = session.outlet._stream
            until(lambda merged=merged: merged.length("transitions") >= 3 * N)  # type: ignore[misc]
            os.kill(env.worker_info[1].pid, signal.SIGKILL)
            with pytest.raises(WorkerDiedError, match="environment 1"):
                step_on(env, acting, 100)
            until(lambda: "with environments 1 died" in capsys.readouterr().err)
        env.close()
    tap.detach()
    recording = load(path)
    found = recording.labelled
    assert found is not None
    assert recording.complete
    assert [(f.what, f.env) for f in found.failures()] == [("worker", 1)]
    counts = [sum(t.env == env for t in found.transitions()) for env in range(N)]
    assert counts[0] >= 6
    assert counts[1] >= 6
