"""Two environments of the real engine in one scene, one of which does something wrong.

    ENGINE_PYTHON engine_tapped_faults.py OUT FAULT

FAULT happens in environment 1's 5th control step, before its first native step;
``read`` after its last one, ``seeds`` at the first resets, and ``none`` never.
"""

import sys
from pathlib import Path

import numpy as np
import superdex.physics as sdp

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "recipe"))
sys.dont_write_bytecode = True
sdp.initialize(num_worker_threads=0)

from cartpole_env import CartPole  # noqa: E402

from isoscope.core import tap  # noqa: E402


def gravity(env):
    env._scene.set_gravity([0, -3.0, 0])


def inertia(env):
    values = list(env._agent.get_articulated_joint_inertia_params())
    values[0] = 30.0
    env._agent.set_articulated_joint_inertia_params(values)


def density(env):
    [link, *_] = env._agent.get_nested_link_actors()
    env._scene.get_actor(link).set_density(700.0)


def friction(env):
    params = sdp.ArticulatedJointFrictionParams(viscous=0.5)
    env._agent.set_articulated_joint_friction_params([params, params])


def exception(env):
    raise ArithmeticError("the policy's head is lost")


def pulled(env):
    """The same by a callback, within the native step."""
    scene = env._scene

    def pull(info):
        scene.cancel_callback(handle)
        gravity(env)

    handle = scene.register_pre_step_callback("pull", pull)


def none(env):
    pass


seeds = missed = none  # these are done where resets and restores are


def read(env):
    """Look at the other one, and forget to come back."""
    env._scene.restore_state(envs[0]._state_snapshot, False)


AT_THE_END = (read,)


class Faulty(CartPole):
    fault = None

    def _make_observation(self):
        self._fails(AT_THE_END)
        return super()._make_observation()

    def _fails(self, kinds):
        fault, place = type(self).fault, (self._episode, self._step_count)
        if fault in kinds and place[1] == 5 and self is envs[1]:
            type(self).fault = None
            fault(self)

    def _apply_action(self, action):
        fault, place = type(self).fault, (self._episode, self._step_count)
        if fault not in (None, *AT_THE_END) and place == (1, 4) and self is envs[1]:
            type(self).fault = None
            fault(self)
        super()._apply_action(action)


out, name = sys.argv[1:]
Faulty.fault = globals()[name]
settings = {"use_shared_scenes": True}
envs = [Faulty(settings) for _ in range(2)]
for env in envs:
    tap.attach(env, record=out, snapshots_every=4)
if name == "missed":
    envs[1].skip_restore = (1, 5)
chance = np.random.default_rng(2)
for k, env in enumerate(envs):
    env.reset(seed=4 if name == "seeds" else k)
for _ in range(8):
    for env in envs:
        try:
            _, _, terminated, truncated, _ = env.step(
                chance.uniform(-1, 1, 1).astype(np.float32)
            )
        except ArithmeticError:
            env.reset()
            continue
        if terminated or truncated:
            env.reset()
for env in envs:
    env.close()
tap.detach()
