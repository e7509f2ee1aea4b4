"""Run the real engine in its HybridVectorEnv with the tap, and keep what was returned.

    ENGINE_PYTHON engine_tapped_run.py OUT SPECIFICATION.json

Runs in the engine's environment. Writes OUT.isoscope.h5, by the tap, and OUT.npz: what
the vector environment itself gave, which the tap did not see.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "recipe"))
sys.dont_write_bytecode = True

from superdex.lab.gym.utils.vector import HybridVectorEnv  # noqa: E402

from isoscope.core import tap  # noqa: E402


def make_env(missed, episode_steps):
    from cartpole_env import CartPole

    env = CartPole({"use_shared_scenes": True, "steps_per_episode": episode_steps})
    if missed is not None:
        env.skip_restore = tuple(missed)
    return env


def main(out: str, wanted: dict) -> None:
    count = wanted["envs"]
    factories = [
        partial(make_env, wanted["missed"].get(str(g)), wanted["episode_steps"])
        for g in range(count)
    ]
    if wanted["tap"]:
        factories = [
            tap.factory(make, record=f"{out}.isoscope.h5", snapshots_every=10)
            for make in factories
        ]
    envs = HybridVectorEnv(factories, num_envs_per_worker=count // wanted["workers"])
    if wanted["tap"]:
        envs = tap.attach(envs)
    chance = np.random.default_rng(wanted["seed"])
    first, _ = envs.reset(seed=wanted["seed"])
    kept = {name: [] for name in ("actions", "obs", "reward", "ended", "cut")}
    for _ in range(wanted["steps"]):
        actions = chance.uniform(-3.5, 3.5, (count, 1)).astype(np.float32)
        obs, reward, ended, cut, _ = envs.step(actions)
        for name, value in zip(kept, (actions, obs, reward, ended, cut), strict=True):
            kept[name].append(np.array(value))
    envs.close()
    tap.detach()
    np.savez(f"{out}.npz", first=first, **{n: np.stack(v) for n, v in kept.items()})


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
