"""An engine of the real one's form, small enough to be computed by hand.

Run as the user's module in a worker: a sled on a rail, DoF 1 of which does nothing.
"""

import enum
import struct
import sys
import time
from array import array

HEAD = b"fake\x01\x00\x01\x00"
print("the user's program says something")  # noqa: T201 as users' do


def uses_double_precision():
    return True


class Kind(enum.Enum):
    ARTICULATED = 1


class Array(array):
    """Numbers in memory of their own, which can be looked at as the engine's can."""

    def __new__(cls, size=0):
        return super().__new__(cls, "d", [0.0] * size)

    def __setitem__(self, at, values):
        super().__setitem__(at, array("d", values) if isinstance(at, slice) else values)


DynamicArrayReal = Array


class DynamicArrayUint8(bytearray):
    pass


class Handle:
    def __init__(self, value):
        self.value = value


class Friction:
    def __init__(self):
        self.viscous = 0.0


class Sled:
    def __init__(self, scene, name="Sled"):
        self._scene, self._name = scene, name
        self.friction = [Friction(), Friction()]
        self.inertia = [2.0, 1.0]

    def get_handle(self):
        return Handle(7)

    def get_name(self):
        return self._name

    def get_type(self):
        return Kind.ARTICULATED

    def is_static(self):
        return False

    def get_num_dofs(self):
        return 2

    def has_articulated_pose_controller(self):
        return False

    def get_articulated_pose(self, out):
        out[:] = [self._scene.q, 0.0]

    def get_articulated_joint_velocities(self, out):
        out[:] = [self._scene.v, 0.0]

    def set_articulated_pose_from_joints(self, values):
        self._scene.q = values[0]

    def set_articulated_joint_velocities(self, values):
        self._scene.v = values[0]

    def get_external_forces(self, out):
        out[:] = [self._scene.forces.get(0, 0.0), self._scene.forces.get(1, 0.0)]

    def set_external_forces_on_dofs(self, indices, values):
        self._scene.forces = dict(zip(indices, values, strict=True))

    def clear_external_forces(self):
        self._scene.forces = {}

    def get_articulated_joint_friction_params(self):
        return self.friction

    def set_articulated_joint_friction_params(self, params):
        self.friction = params

    def get_articulated_joint_inertia_params(self):
        found = Array()
        found[:] = self.inertia
        return found

    def set_articulated_joint_inertia_params(self, values):
        if min(values) < 0:
            raise ValueError("an inertia below zero")
        self.inertia = list(values)


class Scene:
    def __init__(self, names=("Sled",)):
        self.q = self.v = 0.0
        self.forces = {}
        self.gravity = [0.0, -9.8, 0.0]
        self._actors = [Sled(self, name) for name in names]
        self._kept = {}

    def for_each_actor(self, call):
        call(self._actors[0])

    def get_actor(self, handle):
        return self._actors[0]

    def get_num_actors(self):
        return len(self._actors)

    def get_gravity(self):
        found = Array()
        found[:] = self.gravity
        return found

    def set_gravity(self, value):
        self.gravity = list(value)

    def step(self, h):
        if h < 0:
            time.sleep(60)
        sled = self._actors[0]
        pull = self.forces.get(0, 0.0) - sled.friction[0].viscous * self.v
        self.v += h * pull / sled.inertia[0]
        self.q += h * self.v

    def capture_state_to_bytes(self, out):
        rest = struct.pack("<ddq", self.q, self.v, len(self.forces))
        for index, value in self.forces.items():
            rest += struct.pack("<qd", index, value)
        out += HEAD + bytes(8) + struct.pack("<Q", len(rest)) + rest

    def restore_state_from_bytes(self, data):
        data = bytes(data)
        self.q, self.v, count = struct.unpack_from("<ddq", data, 24)
        each = [struct.unpack_from("<qd", data, 48 + 16 * k) for k in range(count)]
        self.forces = dict(each)

    def capture_state(self):
        data = DynamicArrayUint8()
        self.capture_state_to_bytes(data)
        handle = Handle(len(self._kept))
        self._kept[handle.value] = bytes(data)
        return handle

    def restore_state(self, handle, release_immediately):
        self.restore_state_from_bytes(self._kept[handle.value])

    def is_equal_state(self, one, two):
        a, b = self._kept[one.value], self._kept[two.value]
        return a[:8] + a[16:] == b[:8] + b[16:]

    def release_state(self, handle):
        self._kept[handle.value] = None


class Environment:
    """As the engine's own: the scene is within."""

    def __init__(self, *arguments, **named):
        self._scene = Scene()
        self._scene.gravity = [0.0, *arguments, *named.values()]

    @property
    def unwrapped(self):
        return self


class Later:
    """Makes its scene in the reset."""

    _scene = None

    def reset(self):
        self._scene = Scene()


make = Scene


def other():
    return Scene(("Sledge",))


def failing():
    raise ValueError("no such robot")


def dying():
    print("the licence has run out", file=sys.stderr, flush=True)  # noqa: T201
    sys.stderr.flush()
    import os

    os._exit(3)


nothing = 5


def text():
    return "a scene"
