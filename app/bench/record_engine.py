"""One side of the recording benchmark; runs in the engine's own Python.

    ENGINE_PYTHON record_engine.py SIDE SCENE OUT

SIDE is ``plain``, ``tapped`` or ``bare`` (the scene's own step, without environment).
For each line on standard input that holds a number, takes so many control steps (native
steps for ``bare``) and prints the seconds they took. At the end of input it closes, and
prints the number of native steps that were taken.
"""

# mypy: ignore-errors
# It runs where the engine is, and the type checker where it is not.

import sys
import time

import numpy as np
import superdex.physics as sdp
from superdex.lab.gym.envs import ActionSpace, MochiEnv, MochiEnvCfg, ObservationSpace
from superdex.physics.utils.configclasses import configclass

BODIES = {"cartpole": 0, "bodies": 24}  # falling beside the cart
SUBSTEPS = 2
H_S = 0.02

sdp.initialize(num_worker_threads=0)
REAL = np.float64 if sdp.uses_double_precision() else np.float32


def box(x, y, z):
    """A closed box of triangles with these extents, in metres."""
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    faces = [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
    vertices = corners * np.array([x, y, z]) / 2
    return sdp.create_tri_mesh_shape(
        vertices.astype(REAL).ravel(), np.array(faces, np.int32).ravel()
    )


def make_scene(bodies):
    """A cart with a pole on a hinge, and boxes that fall onto the ground."""
    scene = sdp.create_scene(f"bench {bodies}")
    params = sdp.ArticulatedActorParams(name="CartPole")
    params.world_from_root = sdp.TransformRT(translation=[0, 0, 0])
    slide, hinge = (
        sdp.ArticulatedJointType.PRISMATIC,
        sdp.ArticulatedJointType.REVOLUTE,
    )
    params.joints = [
        sdp.ArticulatedJointParams(name="Slide", type=slide, axis=[1, 0, 0]),
        sdp.ArticulatedJointParams(name="Hinge", type=hinge, axis=[0, 0, 1]),
    ]
    centre = sdp.TransformRT(translation=[0, 0.5, 0])
    kind = sdp.ColliderType.BOX
    params.links = [
        sdp.ArticulatedLinkParams(
            name="Cart",
            parent_link=-1,
            shape=box(0.4, 0.2, 0.2),
            collider_type=kind,
            layer="CP",
            density=1000.0,
        ),
        sdp.ArticulatedLinkParams(
            name="Pole",
            parent_link=0,
            parent_joint_from_link=centre,
            shape=box(0.05, 1.0, 0.05),
            collider_type=kind,
            layer="CP",
            density=500.0,
        ),
    ]
    actor = scene.create_articulated_actor(params)
    scene.enable_layer_contact_symmetric("CP", "CP", enable=False)
    if bodies:
        plane = sdp.create_plane_shape(normal=[0, 1, 0], distance=-2)
        scene.create_rigid_actor(name="Ground", layer="G", shape=plane, is_static=True)
    for k in range(bodies):
        place = [0.4 * (k % 6) - 1, -1.5 + 0.3 * (k // 6), 2.0]
        scene.create_rigid_actor(
            name=f"Box{k}",
            layer="G",
            shape=box(0.2, 0.2, 0.2),
            is_static=False,
            density=300.0,
            world_from_local=sdp.TransformRT(translation=place),
            collider_type=kind,
        )
    return scene, actor


def joints(fill, actor):
    """Values over the degrees of freedom."""
    out = sdp.DynamicArrayReal(actor.get_num_dofs())
    fill(out)
    return np.array(out, np.float32)


@configclass
class Cfg(MochiEnvCfg):
    """The task's settings."""

    control_frequency: int = 25
    simulation_frequency: int = 50
    bodies: int = 0


class Env(MochiEnv):
    """Push the cart; nothing ever ends."""

    def __init__(self, bodies):
        cfg = Cfg(bodies=bodies)
        super().__init__(cfg)
        self._load_scene(f"bench_{bodies}", lambda: make_scene(bodies))
        self._initial_pose = joints(self._agent.get_articulated_pose, self._agent)
        self._initial_velocity = self._initial_pose * 0

        def free():
            return ObservationSpace(-np.inf, np.inf, (2,), dtype=np.float32)

        self._setup_observation_space(pose=free(), velocity=free())
        self._setup_action_space(push=ActionSpace(-3.0, 3.0, (1,), dtype=np.float32))

    def _apply_action(self, action):
        force = [float(action["push"].item()) * 10.0]
        self._agent.set_external_forces_on_dofs([0], force)

    def _make_observation(self):
        agent = self._agent
        velocity = joints(agent.get_articulated_joint_velocities, agent)
        pose = joints(agent.get_articulated_pose, agent)
        return {"pose": pose, "velocity": velocity}, {"upright": abs(pose[1]) < 0.2}

    def _compute_reward_terms(self, action, observation, info):
        return {"upright_reward": float(info["upright"])}


def say(number):
    """Answer whoever started this."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main(side, scene_name, out):
    """Take steps as they are asked for."""
    env = Env(BODIES[scene_name])
    if side == "tapped":
        from isoscope.core import tap

        env = tap.attach(env, record=out)
    env.reset(seed=1)
    scene = env._scene
    actions = np.random.default_rng(1).uniform(-3, 3, (997, 1)).astype(np.float32)
    taken, clock = 0, time.perf_counter
    for line in sys.stdin:
        count = int(line)
        begun = clock()
        if side == "bare":
            for _ in range(count):
                scene.step(H_S)
        else:
            for k in range(taken, taken + count):
                env.step(actions[k % 997])
        say(clock() - begun)
        taken += count
    env.close()
    if side == "tapped":
        tap.detach()
    say(taken * (1 if side == "bare" else SUBSTEPS))


if __name__ == "__main__":
    main(*sys.argv[1:])
