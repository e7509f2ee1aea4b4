"""Write what a vector environment gives around the ends of episodes, in all three modes.

    python make_autoreset.py OUT.json

CartPole-v1, two environments, reset with seed 100, actions 0 and 1 in every step;
episodes of 3 and 3, of 3 and 4, and of the length that the poles give them (10 steps).
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

ACTIONS = [0, 1]
SEED = 100
# the limits of both environments, and how many steps are taken
TABLES: dict[str, tuple[list[int], int]] = {
    "max_episode_steps=[3,3]": ([3, 3], 9),
    "max_episode_steps=[3,4]": ([3, 4], 10),
    "default_limit_terminates_at_t9": ([500, 500], 14),
}


def rows(
    envs: VectorEnv[Any, Any, Any], steps: int
) -> tuple[Any, list[dict[str, Any]]]:
    """Step two environments; gives the first observation, and what each step gave."""
    mode = envs.metadata["autoreset_mode"]
    obs, _ = envs.reset(seed=SEED)
    first, done = np.array(obs), np.zeros(2, dtype=bool)
    previous = first
    events: list[dict[str, Any]] = []
    for t in range(steps):
        if mode == AutoresetMode.DISABLED and done.any():
            obs, _ = envs.reset(options={"reset_mask": done.copy()})
            previous = np.array(obs)
            events.append(
                {
                    "event": "reset_mask",
                    "mask": done.tolist(),
                    "obs": previous.tolist(),
                }
            )
            done[:] = False
        obs, reward, terminated, truncated, info = envs.step(np.array(ACTIONS))
        after = np.array(obs)
        true_next = after.copy()
        for lane in np.flatnonzero(info.get("_final_obs", [])):
            true_next[lane] = info["final_obs"][lane]
        valid = ~done if mode == AutoresetMode.NEXT_STEP else np.ones(2, dtype=bool)
        events.append(
            {
                "event": "step",
                "t": t,
                "action": ACTIONS,
                "prev_obs": previous.tolist(),
                "obs": after.tolist(),
                "true_next_obs": true_next.tolist(),
                "reward": reward.tolist(),
                "terminated": terminated.tolist(),
                "truncated": truncated.tolist(),
                "info_keys": sorted(info),
                "valid": valid.tolist(),
            }
        )
        previous, done = after, terminated | truncated
    return first.tolist(), events


def main(out: str) -> None:
    found: dict[str, Any] = {}
    for name, (limits, steps) in TABLES.items():
        found[name] = {}
        for mode in AutoresetMode:
            envs = SyncVectorEnv(
                [
                    partial(gymnasium.make, "CartPole-v1", max_episode_steps=limit)
                    for limit in limits
                ],
                autoreset_mode=mode,
            )
            first, events = rows(envs, steps)
            found[name][mode.value] = {"reset_obs": first, "steps": events}
            envs.close()
    Path(out).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
