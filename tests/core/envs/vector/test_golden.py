"""All three autoreset modes, against the golden table and Gymnasium's own."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.core.envs.vector import HybridVectorEnv, TransitionStream
from tests.core.envs.vector.worlds import Counting, cartpole
from tests.data.recipe.make_autoreset import TABLES, rows

DATA = Path(__file__).parents[3] / "data" / "gymnasium_autoreset.json"
GOLDEN = json.loads(DATA.read_text("utf-8"))
KEYS = (
    "event",
    "t",
    "mask",
    "action",
    "prev_obs",
    "obs",
    "true_next_obs",
    "reward",
    "terminated",
    "truncated",
    "info_keys",
    "valid",
)
MODES = list(AutoresetMode)


def golden(table: str, mode: AutoresetMode) -> list[dict[str, Any]]:
    found = GOLDEN[table][mode.value]
    events = found["steps"] if isinstance(found, dict) else found
    return [
        {
            key: event[key]
            for key in KEYS
            if key in event and (key != "info_keys" or event["event"] == "step")
        }
        for event in events
    ]


def same(one: Any, other: Any) -> None:
    """Compare two steps bit for bit, infos where their masks are true."""
    if isinstance(one, dict):
        assert list(sorted(one)) == list(sorted(other))
        for key in one:
            mask = one.get(f"_{key}")
            if mask is not None and not isinstance(one[key], dict):
                same(list(one[key][mask]), list(other[key][mask]))
            else:
                same(one[key], other[key])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    else:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


def test_gymnasium_here_gives_the_golden_table() -> None:
    for table, (limits, steps) in TABLES.items():
        for mode in MODES:
            envs = SyncVectorEnv(
                [partial(cartpole, limit) for limit in limits], autoreset_mode=mode
            )
            assert rows(envs, steps)[1] == golden(table, mode)
            envs.close()


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_ours_gives_the_golden_table(mode: AutoresetMode, workers: int) -> None:
    envs = HybridVectorEnv([cartpole] * 2, workers=workers, autoreset_mode=mode)
    try:
        for table, (limits, steps) in TABLES.items():
            envs.set_attr("limit", limits)
            assert rows(envs, steps)[1] == golden(table, mode)
    finally:
        envs.close()


@pytest.mark.parametrize(("workers", "lanes"), [(0, 1), (0, 2), (1, 1), (2, 2)])
@pytest.mark.parametrize("mode", MODES)
def test_ours_equals_sync(mode: AutoresetMode, workers: int, lanes: int) -> None:
    count = max(workers, 1) * lanes
    limits = [7, 3, 5, 11][:count]
    factories = [partial(cartpole, limit) for limit in limits]
    theirs = SyncVectorEnv(factories, autoreset_mode=mode)
    ours = HybridVectorEnv(factories, workers=workers, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    try:
        same(ours.reset(seed=5), theirs.reset(seed=5))
        for t in range(40):
            actions = rng.integers(0, 2, count)
            step = theirs.step(actions)
            same(ours.step(actions), step)
            done = step[2] | step[3]
            if mode is AutoresetMode.DISABLED and done.any():
                same(
                    ours.reset(seed=t, options={"reset_mask": done.copy()}),
                    theirs.reset(seed=t, options={"reset_mask": done.copy()}),
                )
            elif t % 9 == 8:  # a reset by mask in the modes that reset themselves
                mask = np.zeros(count, dtype=np.bool_)
                mask[0] = True
                same(
                    ours.reset(options={"reset_mask": mask.copy()}),
                    theirs.reset(options={"reset_mask": mask.copy()}),
                )
    finally:
        ours.close()
        theirs.close()


@pytest.mark.parametrize(("workers", "nested"), [(0, False), (0, True), (2, True)])
@pytest.mark.parametrize("mode", MODES)
def test_infos_and_nested_observations_equal_sync(
    mode: AutoresetMode, workers: int, nested: bool
) -> None:
    lengths = [(3, 4, 2), (5,), (1, 2), (4, 1, 1)]
    factories = [partial(Counting, part, nested=nested) for part in lengths]
    theirs = SyncVectorEnv(factories, autoreset_mode=mode)
    ours = HybridVectorEnv(factories, workers=workers, autoreset_mode=mode)
    try:
        same(ours.reset(seed=[1, None, 3, 4]), theirs.reset(seed=[1, None, 3, 4]))
        for t in range(20):
            actions = np.full((4, 1), t / 4, dtype=np.float32)
            step = theirs.step(actions)
            same(ours.step(actions), step)
            done = step[2] | step[3]
            if mode is AutoresetMode.DISABLED and done.any():
                same(
                    ours.reset(options={"reset_mask": done.copy()}),
                    theirs.reset(options={"reset_mask": done.copy()}),
                )
    finally:
        ours.close()
        theirs.close()


@pytest.mark.parametrize("table", list(TABLES))
@pytest.mark.parametrize("mode", MODES)
def test_the_rule_gives_the_golden_transitions(table: str, mode: AutoresetMode) -> None:
    events = golden(table, mode)
    stream = TransitionStream(mode, 2)
    stream.reset(np.array(events[0]["prev_obs"]))
    for event in events:
        if event["event"] == "reset_mask":
            stream.reset(np.array(event["obs"]), np.array(event["mask"]))
            continue
        ended = np.array(event["terminated"]) | np.array(event["truncated"])
        info: dict[str, Any] = {}
        if mode is AutoresetMode.SAME_STEP and ended.any():
            finals = np.full(2, None, dtype=object)
            for lane in np.flatnonzero(ended):
                finals[lane] = np.array(event["true_next_obs"][lane])
            info = {"final_obs": finals, "_final_obs": ended}
        names = ("action", "obs", "reward", "terminated", "truncated")
        found = stream.step(*(np.array(event[name]) for name in names), info)
        assert found.valid.tolist() == event["valid"]
        assert found.obs.tolist() == event["prev_obs"]
        assert found.next_obs.tolist() == event["true_next_obs"]
