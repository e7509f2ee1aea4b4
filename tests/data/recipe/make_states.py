"""Write the states in ../states with the real engine, by Scene.capture_state_to_file.

    python3.12 -m venv sdx && sdx/bin/pip install superdex-lab==1.0.1 superdex-physics==1.0.1 \
        superdex-robotics==1.0.1 trimesh && sdx/bin/python make_states.py OUT

Run with release 1.0.0 as well (names end in the release): the two write different components. A state whose name is
that of a recording is the state after that recording's last step, so release 1.0.0 gives the same numbers in both.
"""

import importlib.metadata
import sys
from pathlib import Path

import numpy as np
import superdex.physics as sdp

sdp.initialize(num_worker_threads=0)

from scenes import REAL, cartpole, falling_bodies  # noqa: E402

RELEASE = importlib.metadata.version("superdex-physics")


def capture(scene, out, name):
    path = out / f"{name}-{RELEASE}.json"
    scene.capture_state_to_file(str(path))
    print(path.name, repr(scene.get_total_simulation_time()))


def rigid(out):
    """The end of rigid_contacts_all."""
    scene, _, _ = falling_bodies()
    for _ in range(80):
        scene.step(1 / 50)
    capture(scene, out, "rigid_contacts_all")


def articulated(out):
    """A pushed cart, whose pose controller has a target."""
    scene, actor = cartpole()
    actor.add_articulated_pose_controller(sdp.PoseControllerParams())
    for i in range(10):
        actor.set_articulated_target_pose(np.array([0.1, 0.2], REAL) * (i + 1))
        actor.set_external_forces_on_dofs([0], [20.0])
        scene.step(1 / 50)
    capture(scene, out, "cartpole")


def soft(out):
    """The end of soft_body."""
    points = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3], [0.3, 0.3, 0.3]])
    tets = np.array([[0, 1, 2, 3], [1, 2, 3, 4]], np.int32)
    scene = sdp.create_scene("Soft")
    scene.create_rigid_actor(name="Ground", layer="Env",
                             shape=sdp.create_plane_shape(normal=[0, 1, 0], distance=0), is_static=True)
    body = sdp.SoftActorParams()
    body.name, body.shape = "Jelly", sdp.create_tet_mesh_shape(points.astype(REAL).ravel(), tets.ravel())
    body.world_from_local = sdp.TransformRT(translation=[0, 0.5, 0])
    scene.create_soft_actor(body)
    for _ in range(40):
        scene.step(1 / 100)
    capture(scene, out, "soft_body")


def empty(out):
    """A scene of nothing that was never stepped."""
    capture(sdp.create_scene("Empty"), out, "empty")


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for case in (rigid, articulated, soft, empty):
        case(out)
