"""Record runs of the real engine by the tap, to be stepped again.

    ENGINE_PYTHON engine_replayed_run.py OUT RUN

Runs in the engine's environment. RUN is one of those at the end. What makes the
environments is in here too, as what a user's program has.
"""

import sys
from pathlib import Path

import numpy as np
import superdex.physics as sdp

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "recipe"))
sys.dont_write_bytecode = True
sdp.initialize(num_worker_threads=0)

from cartpole_env import CartPole, CartPoleCfg  # noqa: E402
from scenes import falling_bodies  # noqa: E402
from superdex.lab.gym.envs import (  # noqa: E402
    ActionSpace,
    MochiEnv,
    MochiEnvCfg,
    ObservationSpace,
)

ENVS, STEPS, EPISODE = 4, 500, 60
LEAK_AT, MISSED = (1, 8), (2, (1, 9))  # env and its control step, in episode 1
HANDLED, HANDLED_AT = 1, 8  # the environment, and from which control step on
FALL_STEPS, FALL_AT = 60, 30


class Falling(MochiEnv):
    """A crate that slides and a ball that rolls; the action pushes the crate along."""

    disturb = None  # what is done before control step FALL_AT

    def __init__(self):
        super().__init__(
            MochiEnvCfg(
                control_frequency=50,
                simulation_frequency=100,
                steps_per_episode=1000,
                use_shared_scenes=False,
            )
        )
        self._load_scene("falling", self._made)
        self._setup_observation_space(
            height=ObservationSpace(-np.inf, np.inf, (1,), dtype=np.float32)
        )
        self._setup_action_space(force=ActionSpace(-30.0, 30.0, (1,), dtype=np.float32))

    def _made(self):
        scene, self.ball, self.crate = falling_bodies()
        return scene, self.crate

    def _reset_scene(self):
        self._scene.restore_state(self._initial_state_snapshot, False)
        place = sdp.TransformRT(translation=[0.4, 0.099, 0.0])
        self.ball.set_root_transform(place)
        self.crate.set_root_transform(sdp.TransformRT(translation=[0.0, 0.099, 0.0]))
        self.crate.set_velocity([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])

    def _apply_action(self, action):
        if self.disturb is not None and self._step_count == FALL_AT - 1:
            disturb, self.disturb = self.disturb, None
            disturb(self)
        self.crate.set_external_forces_on_dofs([0], [float(action["force"].item())])

    def _make_observation(self):
        place = self.crate.get_root_transform().translation.tolist()
        return {"height": np.array(place[1:2], np.float32)}, {}

    def _compute_reward_terms(self, action, observation, info):
        return {"none": 0.0}


def make_cartpole(episode=EPISODE):
    return CartPole(CartPoleCfg(use_shared_scenes=True, steps_per_episode=episode))


def make_falling():
    return Falling()


def push(env):
    """Move the crate by 1e-6 m by hand, which nobody records."""
    place = env.crate.get_root_transform()
    x, y, z = place.translation.tolist()
    env.crate.set_root_transform(
        sdp.TransformRT(translation=[x + 1e-6, y, z], rotation=place.rotation)
    )


def rough(env):
    """Make friction 5 % larger, past whoever listens."""
    params = env.crate.get_contact_params()
    params.coulomb_friction_coefficient *= 1.05
    type(env.crate).set_contact_params.__wrapped__(env.crate, params)


def told(env):
    """Make friction 5 % larger, as users do."""
    params = env.crate.get_contact_params()
    params.coulomb_friction_coefficient *= 1.05
    env.crate.set_contact_params(params)


class Leaking(CartPole):
    """Changes an inertia of the scene that it shares, within its step."""

    leaks = False

    def _apply_action(self, action):
        if self.leaks and self._step_count == LEAK_AT[1] - 1 and self._episode == 1:
            self.leaks = False
            values = list(self._agent.get_articulated_joint_inertia_params())
            values[0] = 30.0
            self._set(values)
        super()._apply_action(action)

    def _set(self, values):
        self._agent.set_articulated_joint_inertia_params(values)


class LeakingUnheard(Leaking):
    """Changes it past whoever listens."""

    def _set(self, values):
        setter = type(self._agent).set_articulated_joint_inertia_params
        setter.__wrapped__(self._agent, values)


class Servo(CartPole):
    """Follows a pose, which is set in the first native step of a control step only."""

    handles = None

    def __init__(self, cfg):
        super().__init__(cfg)
        if not self._agent.has_articulated_pose_controller():
            tracking = sdp.PoseTrackingParams()
            tracking.stiffness, tracking.damping = 200.0, 20.0
            params = sdp.PoseControllerParams()
            params.joint_tracking = [tracking]
            self._agent.add_articulated_pose_controller(params)

    def _simulate(self, action):
        self._first = True
        super()._simulate(action)

    def _apply_action(self, action):
        if self._first:
            target = 0.1 * float(action["control"].item())
            self._agent.set_articulated_target_pose([target, 0.05])
            if self.handles is not None and self._episode == 1:
                self.handles(self, self._step_count + 1)
        self._first = False


def make_servo():
    return Servo(CartPoleCfg(use_shared_scenes=True, steps_per_episode=EPISODE))


class Handled(CartPole):
    """Does something to its own robot besides the action, in some control steps."""

    handles = None

    def _apply_action(self, action):
        if self.handles is not None and self._episode == 1:
            self.handles(self, self._step_count + 1)
        super()._apply_action(action)

    @property
    def pole(self):
        [_, pole] = self._agent.get_nested_link_actors()
        return self._scene.get_actor(pole)


def pushes(env, control_step):
    """Push the pole for a while, with all of a force's components and with some."""
    if control_step == HANDLED_AT:
        env.pole.set_external_forces_on_dofs([0, 4], [3.0, 0.5])
    elif control_step == HANDLED_AT + 2:
        env.pole.set_external_forces_on_dofs(list(range(6)), [0.0, 0, 0, 0, 0, -1.0])
    elif control_step == HANDLED_AT + 4:
        env.pole.clear_external_forces()


def places(env, control_step):
    """Give the joints other velocities, which is what a push in no time does."""
    if control_step == HANDLED_AT:
        env._agent.set_articulated_joint_velocities([0.1, 0.2])


def hurries(env, control_step):
    """Tell the controller, if there is one, how fast its target moves."""
    if control_step == HANDLED_AT:
        env._agent.set_articulated_target_velocity([0.3, 0.0])


def make_handled():
    return Handled(CartPoleCfg(use_shared_scenes=True, steps_per_episode=EPISODE))


def make_leaking():
    return Leaking(CartPoleCfg(use_shared_scenes=True, steps_per_episode=EPISODE))


def make_leaking_unheard():
    return LeakingUnheard(
        CartPoleCfg(use_shared_scenes=True, steps_per_episode=EPISODE)
    )


def cartpoles(
    out, make=make_cartpole, steps=STEPS, leaks=False, missed=False, handles=None
):
    from isoscope.core import tap

    envs = [tap.factory(make, record=out, snapshots_every=50)() for _ in range(ENVS)]
    if leaks:
        envs[LEAK_AT[0]].leaks = True
    if handles is not None:
        envs[HANDLED].handles = handles
    if missed:
        envs[MISSED[0]].skip_restore = MISSED[1]
    chance = np.random.default_rng(5)
    for number, env in enumerate(envs):
        env.reset(seed=number)
    for _ in range(steps):
        for env in envs:
            action = chance.uniform(-1, 1, 1).astype(np.float32)
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
    for env in envs:
        env.close()
    tap.detach()


def falling(out, disturb=None):
    from isoscope.core import tap

    env = tap.factory(make_falling, record=out, snapshots_every=20)()
    env.disturb = disturb
    chance = np.random.default_rng(6)
    env.reset(seed=0)
    for _ in range(FALL_STEPS):
        env.step(chance.uniform(-20, 20, 1).astype(np.float32))
    env.close()
    tap.detach()


RUNS = {
    "together": cartpoles,
    "leak": lambda out: cartpoles(out, make_leaking, 40, leaks=True),
    "unheard": lambda out: cartpoles(out, make_leaking_unheard, 40, leaks=True),
    "clean": lambda out: cartpoles(out, steps=80),
    "missed": lambda out: cartpoles(out, steps=20, missed=True),
    "links": lambda out: cartpoles(out, make_handled, 40, handles=pushes),
    "placed": lambda out: cartpoles(out, make_handled, 40, handles=places),
    "hurried": lambda out: cartpoles(out, make_servo, 40, handles=hurries),
    "servo": lambda out: cartpoles(out, make_servo, 60),
    "falling": falling,
    "pushed": lambda out: falling(out, push),
    "rough": lambda out: falling(out, rough),
    "told": lambda out: falling(out, told),
}

if __name__ == "__main__":
    RUNS[sys.argv[2]](sys.argv[1])
