"""What is read of a native scene's actors lies where the layout says it does."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isoscope.core.tap.adapters.superdex.actors import Actors, Known
from isoscope.core.tap.adapters.superdex.readers import Readers

WIDTH = 20  # numbers of a rigid body


class Numbers:
    """A vector or a quaternion of the engine's."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def tolist(self) -> list[float]:
        return self.values


class Body:
    """A rigid body whose numbers are all different, and from step to step too."""

    def __init__(self, first: float) -> None:
        self.now = first

    def _next(self, count: int, at: float) -> Numbers:
        return Numbers(*(self.now + at + k for k in range(count)))

    def root(self) -> Any:
        return SimpleNamespace(
            translation=self._next(3, 0.0), rotation=self._next(4, 3.0)
        )

    def centre(self) -> Any:
        return SimpleNamespace(translation=self._next(3, 7.0))

    def linear(self) -> Numbers:
        return self._next(3, 10.0)

    def angular(self) -> Numbers:
        return self._next(3, 13.0)

    def getters(self) -> Any:
        return self.root, self.centre, self.linear, self.angular

    def columns(self) -> list[float]:
        """In the order of the recording's fields."""
        at = [*range(7), 7, 8, 9, *range(3, 7), *range(10, 16)]
        return [self.now + k for k in at]


class Vectors:
    """The engine's array of vectors, with its memory to be seen."""

    def __init__(self, count: int) -> None:
        self.memory = np.zeros((count, 3), np.float32)

    def __setitem__(self, k: int, vector: Numbers) -> None:
        self.memory[k] = vector.tolist()


ENGINES = {
    "as it is": SimpleNamespace(
        DynamicArrayReal3=Vectors, SpanConstReal3=lambda vectors: vectors.memory
    ),
    "without such arrays": SimpleNamespace(),
    "of another precision": SimpleNamespace(
        DynamicArrayReal3=Vectors,
        SpanConstReal3=lambda vectors: vectors.memory.astype(np.float64),
    ),
}


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("bodies", [0, 1, 3])
def test_every_value_is_where_the_layout_says(engine: str, bodies: int) -> None:
    rigid = [Body(100.0 * k) for k in range(bodies)]
    pose, nothing, nodes = array("f", [0.0, 0.0]), array("f"), np.zeros(6)

    def fill(values: Any) -> None:
        for k in range(len(values)):
            values[k] = 1000.0 + k + 10 * step

    frame: Any = SimpleNamespace(dtype=np.dtype(np.float32))
    readers = Readers(np.float32, None, [b.getters() for b in rigid])
    force = array("f", [0.0])
    readers.joints += [(fill, pose), (fill, nothing), (fill, force)]
    readers.inputs |= {(7, "none"): 1, (7, "force"): 2}
    readers.soft.append((lambda: nodes, frame))
    take, layout = readers.taker(ENGINES[engine]), readers.layout()
    inputs = readers.taken_inputs()
    assert layout.width == (WIDTH - 4) * bodies + 3 + 6
    taken, expected = [], []
    for step in range(4):
        for body in rigid:
            body.now += 0.25
        nodes += 1.5
        one = take(b"head")
        assert one[:4] == b"head"
        taken.append(one[4:])
        told = [number for body in rigid for number in body.columns()]
        here = 1000.0 + 10 * step
        expected.append([*told, here, here + 1, here, *nodes])
        for key, values in readers.read_inputs().items():
            assert one[4:][inputs[key]] == values
        assert force.tolist() == [here]
    assert layout.columns(b"".join(taken)).tolist() == expected


def test_a_deformable_body_with_other_nodes_is_refused() -> None:
    nodes = [np.zeros(6)]
    frame: Any = SimpleNamespace(dtype=np.dtype(np.float32))
    readers = Readers(np.float32, None, soft=[(lambda: nodes[0], frame)])
    take = readers.taker(SimpleNamespace())
    take(b"")
    nodes[0] = np.zeros(9)
    with pytest.raises(ValueError, match="another number of nodes"):
        take(b"")


class Jelly:
    """A deformable body of two nodes that falls."""

    height = 1.0

    def get_displacements(self) -> Any:
        return [0.5, 0.0, 0.0, 0.0, 0.0, self.height]

    def has_root_transform(self) -> bool:
        return True

    def get_root_transform(self) -> Any:
        return SimpleNamespace(
            translation=Numbers(7.0, self.height, 0.0),
            rotation=Numbers(0.0, 0.0, 0.0, 1.0),
        )


def test_a_deformable_body_is_told_with_where_its_frame_is() -> None:
    told: list[Any] = []

    def framed(fields: Any, dtype: Any, scene: int) -> Any:
        told.extend(fields)
        return SimpleNamespace(dtype=np.dtype(dtype))

    physics: Any = SimpleNamespace(uses_double_precision=lambda: False)
    recorder: Any = SimpleNamespace(frame=framed)
    body, readers = Jelly(), Readers(np.float32)
    actors = Actors(recorder, None, 0, physics)
    actors._soft(readers, Known(4, body, "SOFT", False))
    assert [(f.name, f.shape, f.actor) for f in told] == [
        ("displacement", (2, 3), 4),
        ("translation", (3,), 4),
        ("rotation", (4,), 4),
    ]
    take, layout = readers.taker(physics), readers.layout()
    steps = []
    for body.height in (1.0, 0.25):
        steps.append(take(b""))
    values = layout.columns(b"".join(steps)).tolist()
    for row, height in zip(values, (1.0, 0.25), strict=True):
        assert row == [0.5, 0, 0, 0, 0, height, 7, height, 0, 0, 0, 0, 1]
