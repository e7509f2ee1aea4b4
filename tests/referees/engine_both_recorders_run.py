"""Step the real engine with its own recorder and the tap both on.

    ENGINE_PYTHON engine_both_recorders_run.py OUT ENVIRONMENTS STEPS

Runs in the engine's environment, of a release that has a recorder. Writes OUT.h5, by
the engine, OUT.isoscope.h5, by the tap, and OUT.npz: what each call of reset and step
returned, in the order of the calls.
"""

import sys
from pathlib import Path

import numpy as np
import superdex.physics as sdp

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "recipe"))
sys.dont_write_bytecode = True
sdp.initialize(num_worker_threads=0)

from cartpole_env import CartPole  # noqa: E402  the engine has to be initialised first

from isoscope.core import tap  # noqa: E402

out, count, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
settings = {"use_shared_scenes": True, "steps_per_episode": 17}
envs = [CartPole(settings) for _ in range(count)]
for env in envs:
    tap.attach(env, record=f"{out}.isoscope.h5", snapshots_every=10)
names = ("env", "control_step", "obs", "actions", "reward", "terminated", "truncated")
kept = {name: [] for name in names}
control = [0] * count
nothing = np.full(1, np.nan, np.float32)


def keep(number, obs, action=nothing, reward=np.nan, terminated=False, truncated=False):
    told = number, control[number], obs, action, reward, terminated, truncated
    for name, value in zip(names, told, strict=True):
        kept[name].append(np.array(value))


def reset(number, **how):
    control[number] = 0
    obs, _ = envs[number].reset(**how)
    keep(number, obs)


scene = envs[0]._scene
parameters = sdp.RecordingParams()
parameters.record_dynamic_actor_state = True
scene.start_recording(f"{out}.h5", parameters)
chance = np.random.default_rng(3)
for number in range(count):
    reset(number, seed=number)
for _ in range(steps):
    for number, env in enumerate(envs):
        action = chance.uniform(-3.5, 3.5, 1).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(action)
        control[number] += 1
        keep(number, obs, action, reward, terminated, truncated)
        if terminated or truncated:
            reset(number)
scene.stop_recording()
for env in envs:
    env.close()
tap.detach()
np.savez(f"{out}.npz", **{name: np.stack(values) for name, values in kept.items()})
