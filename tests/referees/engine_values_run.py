"""Step the real engine with the tap, and ask it for every value after each native step.

    ENGINE_PYTHON engine_values_run.py OUT BENCH_SCRIPT BODIES

Writes OUT.isoscope.h5, by the tap, and OUT.json: by native step and actor what the
engine said, as float64's hexadecimal, and the digest of the state.
"""

import importlib.util
import json
import sys
from hashlib import blake2b

import numpy as np
import superdex.physics as sdp

sys.dont_write_bytecode = True
out, script, bodies = sys.argv[1:]
spec = importlib.util.spec_from_file_location("record_engine", script)
bench = importlib.util.module_from_spec(spec)
sys.modules["record_engine"] = bench
spec.loader.exec_module(bench)

from isoscope.core import tap  # noqa: E402
from isoscope.core.tap.adapters.superdex.actors import all_actors  # noqa: E402

said = []
step, capture = sdp.Scene.step, sdp.Scene.capture_state_to_bytes


def asked(actor):
    if actor.get_type().name == "RIGID":
        root = actor.get_root_transform()
        centre = actor.get_center_of_mass_transform()
        return {
            "translation": root.translation,
            "rotation": root.rotation,
            "translationCom": centre.translation,
            "rotationCom": centre.rotation,
            "vcom": actor.get_linear_velocity(),
            "omega": actor.get_angular_velocity(),
        }
    found = {
        "pose": actor.get_articulated_pose,
        "jointVelocity": actor.get_articulated_joint_velocities,
        "control/force": actor.get_external_forces,
    }
    for name, fill in found.items():
        found[name] = sdp.DynamicArrayReal(actor.get_num_dofs())
        fill(found[name])
    return found


def stepped(scene, h_s):
    step(scene, h_s)
    values = {}
    for actor in all_actors(scene):
        if not actor.is_static():
            told = asked(actor).items()
            values[actor.get_name()] = {
                name: [x.hex() for x in value.tolist()] for name, value in told
            }
    state = sdp.DynamicArrayUint8()
    capture(scene, state)
    said.append([values, blake2b(bytes(state), digest_size=16).hexdigest()])


sdp.Scene.step = stepped
env = tap.attach(bench.Env(int(bodies)), record=f"{out}.isoscope.h5")
chance = np.random.default_rng(0)
for episode in range(3):
    env.reset(seed=episode)
    for _ in range(80):
        env.step(chance.uniform(-3, 3, 1).astype(np.float32))
tap.detach()
with open(f"{out}.json", "w") as file:
    json.dump(said, file)
