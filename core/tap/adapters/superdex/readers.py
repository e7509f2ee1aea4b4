"""Reads the state of all moving actors of a native scene, after each of its steps.

A value takes one call of the engine that gives it and, where that can be had, one that
puts it into memory of the engine's own as it is: making a Python number of each
component would take as long as asking for them.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.tap.raw_natives import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled.frames import Frame

    Get = Callable[[], Any]
    Body = tuple[Get, Get, Get, Get]
    Joints = tuple[Callable[[Any], None], Any]
    Take = Callable[[bytes], bytes]

# Of a rigid body, in the order of its fields: where in the memory each lies. First come
# the rotations of all bodies, four numbers each, then of each body four vectors.
_VECTORS = 4  # place, centre of mass, both velocities
_QUATERNION, _VECTOR = 4, 3


@dataclass(slots=True)
class Readers:
    """How to read the state of all moving actors of one scene.

    Attributes
    ----------
    real
        dtype of the engine's numbers.
    frame
        What it goes into; None where nothing moves.
    rigid
        Of each rigid body: what gives its frame, its centre of mass, and both
        velocities.
    joints
        Of each articulation: what fills in an array, and that array.
    inputs
        Which of these are control inputs: their places there, by their actor's number
        and their name.
    soft
        Of each deformable body: what gives its displacements and where its frame is,
        and what these go into.
    """

    real: Any
    frame: Frame | None = None
    rigid: list[Body] = field(default_factory=list)
    joints: list[Joints] = field(default_factory=list)
    inputs: dict[tuple[int, str], int] = field(default_factory=dict)
    soft: list[tuple[Get, Frame]] = field(default_factory=list)

    def frames(self) -> list[Frame]:
        """What that goes into, in order."""
        own = [] if self.frame is None else [self.frame]
        return own + [frame for _, frame in self.soft]

    def layout(self) -> Layout:
        """How the values lie in what `take` gives.

        The rotation about the centre of mass is the body's own: so the engine says.
        """
        count = len(self.rigid)
        order: list[int] = []
        for k in range(count):
            rotation = range(_QUATERNION * k, _QUATERNION * (k + 1))
            at = _QUATERNION * count + _VECTORS * _VECTOR * k
            place, centre, linear, angular = (
                range(at + _VECTOR * n, at + _VECTOR * (n + 1)) for n in range(_VECTORS)
            )
            for part in (place, rotation, centre, rotation, linear, angular):
                order += part
        first = (_QUATERNION + _VECTORS * _VECTOR) * count
        rest = sum(len(values) for _, values in self.joints)
        rest += sum(_size(get) for get, _ in self.soft)
        order += range(first, first + rest)
        return Layout(np.dtype(self.real).str, first + rest, order)

    def taken_inputs(self) -> dict[tuple[int, str], slice]:
        """Where the control inputs lie in what `take` adds, in bytes."""
        size = np.dtype(self.real).itemsize
        at = (_QUATERNION + _VECTORS * _VECTOR) * len(self.rigid)
        ends = [at]
        for _, values in self.joints:
            ends.append(ends[-1] + len(values))
        return {
            key: slice(size * ends[place], size * ends[place + 1])
            for key, place in self.inputs.items()
        }

    def read_inputs(self) -> dict[tuple[int, str], bytes]:
        """The control inputs as they are now, as `take` gives them."""
        found = {}
        for key, place in self.inputs.items():
            fill, values = self.joints[place]
            fill(values)
            found[key] = bytes(memoryview(values).cast("B")) if len(values) else b""
        return found

    def taker(self, physics: Any) -> Take:
        """What reads all of it; given bytes, it returns these with the values after.

        Parameters
        ----------
        physics
            The engine's module.
        """
        count = len(self.rigid)
        code = np.dtype(self.real).char
        vectors, memory = _vectors(physics, _VECTORS * count, self.real)
        pack = struct.Struct(f"={_QUATERNION * count}{code}").pack
        rigid = tuple(
            (*body, *range(_VECTORS * k, _VECTORS * (k + 1)))
            for k, body in enumerate(self.rigid)
        )
        joints = tuple(self.joints)
        soft = tuple((get, frame.dtype, _size(get)) for get, frame in self.soft)
        filled = [memoryview(values).cast("B") for _, values in joints if len(values)]
        parts: list[Any] = [b"", b"", memory, *filled, *(b"" for _ in soft)]
        at = len(parts) - len(soft)
        join = b"".join

        def take(head: bytes) -> bytes:
            rotations: list[float] = []
            for root, mass, linear, angular, a, b, c, d in rigid:
                body = root()
                vectors[a] = body.translation
                rotations += body.rotation.tolist()
                vectors[b] = mass().translation
                vectors[c] = linear()
                vectors[d] = angular()
            for fill, values in joints:
                fill(values)
            if soft:
                parts[at:] = map(_nodes, soft)
            parts[0], parts[1] = head, pack(*rotations)
            return join(parts)

        return take


class Plain:
    """Vectors in memory of our own, where the engine shows none of its own.

    Attributes
    ----------
    memory
        All of them, end to end.
    """

    def __init__(self, count: int, code: str) -> None:
        self._code = code
        self._values = array(code, bytes(count * _VECTOR * array(code).itemsize))
        self.memory = memoryview(self._values).cast("B") if count else b""

    def __setitem__(self, k: int, vector: Any) -> None:
        at = _VECTOR * k
        self._values[at : at + _VECTOR] = array(self._code, vector.tolist())


def _vectors(physics: Any, count: int, real: Any) -> tuple[Any, Any]:
    """Vectors to fill in by number, and the memory in which they lie end to end."""
    dtype = np.dtype(real)
    try:
        vectors = physics.DynamicArrayReal3(count)
        memory = memoryview(physics.SpanConstReal3(vectors))
        if memory.shape == (count, _VECTOR) and memory.format == dtype.char:
            return vectors, memory.cast("B") if count else b""
    except Exception:  # noqa: BLE001 another release of the engine
        pass
    plain = Plain(count, dtype.char)
    return plain, plain.memory


def _nodes(one: tuple[Get, np.dtype[Any], int]) -> bytes:
    """What a deformable body's nodes are displaced by."""
    get, dtype, size = one
    nodes = np.asarray(get(), dtype)
    if nodes.size != size:
        raise ValueError("a deformable body has another number of nodes")
    return nodes.tobytes()


def _size(get: Get) -> int:
    return int(np.asarray(get()).size)
