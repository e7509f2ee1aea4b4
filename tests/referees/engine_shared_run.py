"""Make one shared CartPole run with the real engine, and write what really happened.

    ENGINE_PYTHON engine_shared_run.py OUT SPECIFICATION.json

Runs in the engine's environment, beside nothing of ours but the recipe of the test
data. Writes OUT.h5 and OUT.truth.json, in the truth files' form.
"""

import json
import sys
from pathlib import Path

import numpy as np
import superdex.physics as sdp

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "recipe"))
sys.dont_write_bytecode = True
sdp.initialize(num_worker_threads=0)

from cartpole_env import CartPole  # noqa: E402  the engine has to be initialised first


def main(out: str, specification: dict) -> None:
    rng = np.random.default_rng(specification["seed"])
    count, steps = specification["envs"], specification["steps"]
    configuration = {
        "use_shared_scenes": True,
        "control_frequency": 50 // specification["substeps"],
        "steps_per_episode": specification["episode_steps"],
    }
    envs = [CartPole(configuration) for _ in range(count)]
    for env, episode, control_step in specification["missed"]:
        envs[env].skip_restore = (episode, control_step)
    scene = envs[0]._scene
    native, h = [], envs[0].get_simulation_timestep()
    episode, control = [0] * count, [0] * count

    def note(env: int, substep: int) -> None:
        place = {"env": env, "episode": episode[env], "control_step": control[env]}
        native.append({**place, "substep": substep, "h": h if control[env] else 1e-5})

    def reset(env: int, seed: int | None = None) -> None:
        episode[env] += 1
        control[env] = 0
        envs[env].reset(seed=seed)
        note(env, 0)

    scene.start_recording(f"{out}.h5", sdp.RecordingParams())
    for env in range(count):
        reset(env, seed=int(rng.integers(1, 1 << 30)))
    for _ in range(steps):
        order = np.arange(count)
        if specification["shuffled"]:
            rng.shuffle(order)
        for env in order.tolist():
            action = rng.uniform(-3, 3, 1).astype(np.float32)
            _, _, terminated, truncated, _ = envs[env].step(action)
            control[env] += 1
            for substep in range(specification["substeps"]):
                note(env, substep)
            if terminated or truncated:
                reset(env)
    scene.stop_recording()
    truth = Path(f"{out}.truth.json")
    truth.write_text(json.dumps({"native_steps": native}))
    for env in envs:
        env.close()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
