"""What is read of a native scene's persistent configuration, by which names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from isoscope.core.replay.worker.settings import Settings
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest


class Constraint:
    def __init__(self, handle: int) -> None:
        self.handle, self.stiffness = handle, 100.0

    def get_handle(self) -> int:
        return self.handle

    def get_stiffness(self) -> float:
        return self.stiffness

    def set_stiffness(self, value: float) -> None:
        self.stiffness = value

    def get_saturation(self) -> float:
        return -1.0


class Actor:
    def __init__(self, name: str, handle: int) -> None:
        self.name, self.handle = name, handle

    def get_name(self) -> str:
        return self.name

    def get_handle(self) -> int:
        return self.handle


class Override:
    """What holds for a pair; by its type its names are known from then on."""

    def __init__(self, friction: float) -> None:
        self.friction, self.viscous = friction, None


class Scene:
    """Two bodies of one name and a ground, and two constraints."""

    def __init__(self) -> None:
        self.constraints = [Constraint(70), Constraint(71)]
        self.pairs: dict[tuple[int, int], float] = {}
        self.asked = 0

    def get_gravity(self) -> Any:
        return SimpleNamespace(tolist=lambda: [0.0, -9.8, 0.0])

    def get_num_actors(self) -> int:
        return 3

    def for_each_constraint(self, told: Any) -> None:
        for constraint in self.constraints:
            told(constraint)

    def get_constraint(self, handle: int) -> Constraint:
        return next(c for c in self.constraints if c.handle == handle)

    def has_contact_pair_params_override(self, a: int, b: int) -> bool:
        self.asked += 1
        return (a, b) in self.pairs

    def get_contact_pair_params_override(self, a: int, b: int) -> Any:
        return Override(self.pairs[a, b])

    def set_contact_pair_params_override(self, a: int, b: int, own: Any) -> None:
        self.pairs[a, b] = own.friction


ACTORS = [Actor("Ball", 4), Actor("Ball", 5), Actor("Ground/Floor", 6)]


def read(configuration: Configuration) -> dict[str, Any]:
    known: Any = [SimpleNamespace(number=k, actor=a) for k, a in enumerate(ACTORS)]
    return configuration.read(known)


def test_constraints_tell_what_no_snapshot_of_them_covers() -> None:
    scene = Scene()
    configuration = Configuration(scene, None)
    before = read(configuration)
    assert before["constraints/1/stiffness"] == 100.0
    assert before["constraints/0/saturation"] == -1.0
    assert "constraints/0/damping" not in before  # not told
    scene.constraints[1].stiffness = 7.0
    after = read(configuration)
    assert {k for k in after if after[k] != before[k]} == {"constraints/1/stiffness"}
    assert digest(after) != digest(before)


def test_pairs_with_contact_of_their_own_are_told_once_they_are_looked_for() -> None:
    scene = Scene()
    configuration = Configuration(scene, None)
    without = read(configuration)
    assert not any(key.startswith("contactPairs") for key in without)
    asked = scene.asked
    assert read(configuration) == without
    assert scene.asked == asked  # a scene of many actors has many pairs
    scene.pairs[5, 6] = 0.25
    configuration.look_for_pairs()
    told = {k: v for k, v in read(configuration).items() if k not in without}
    assert told == {"contactPairs/Ball(1)/Ground/Floor(2)/friction": 0.25}


def test_both_are_set_again_by_their_names() -> None:
    scene = Scene()
    scene.pairs[4, 6] = 0.25
    configuration = Configuration(scene, None)
    numbered = {f"{a.name}#{k}": a for k, a in enumerate(ACTORS)}
    settings = Settings(scene, None, lambda: read(configuration), numbered)
    wanted = {
        "constraints/1/stiffness": 3.0,
        "contactPairs/Ball(0)/Ground/Floor(2)/friction": 0.5,
    }
    settings.set(wanted)
    assert scene.constraints[1].stiffness == 3.0
    assert scene.constraints[0].stiffness == 100.0
    assert scene.pairs == {(4, 6): 0.5}
