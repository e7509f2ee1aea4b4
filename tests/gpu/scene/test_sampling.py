"""Fields that are read together are, bit for bit, those that are read one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.envs.tasks.registry import make_task
from isoscope.gpu.model.named import named_model
from isoscope.gpu.scene.errors import SceneError
from isoscope.gpu.scene.make import make_scene
from tests.gpu.scene.models import H, everything, scatter, scene_of

if TYPE_CHECKING:
    from isoscope.gpu.scene.scene import SimulatedScene

WORLDS = 5
CHOSEN = [3, 0, 4]


def readable(scene: SimulatedScene) -> list[tuple[int, str]]:
    return [
        (row.index, field)
        for row in scene.rows
        for field in row.fields
        if not field.startswith("contacts_")
    ]


def one_by_one(scene: SimulatedScene, worlds: list[int] | None) -> np.ndarray[Any, Any]:
    read = [scene.read(row, field, worlds) for row, field in readable(scene)]
    return np.concatenate([array.reshape(len(array), -1) for array in read], 1)


def same_bits(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    return (
        found.dtype == wanted.dtype
        and found.shape == wanted.shape
        and found.tobytes() == wanted.tobytes()
    )


def check(scene: SimulatedScene, worlds: list[int] | None, happen: Any) -> None:
    """Take a sample after each thing that happens; read them at once and compare."""
    sampler = scene.sampler(readable(scene), worlds)
    samples, values, times, states = [], [], [], []
    for number, change in enumerate(happen):
        change()
        samples.append(sampler.take())
        values.append(one_by_one(scene, worlds))
        times.append(scene.time_s if worlds is None else scene.time_s[worlds])
        handle = scene.capture()
        states.append(scene.state_to_bytes(handle))
        scene.release(handle)
        alone = sampler.read(samples[-1:])
        assert same_bits(alone.values[0], values[-1]), number
    scene.close()  # they need it no more
    together = sampler.read(samples)
    assert same_bits(together.values, np.stack(values))
    assert same_bits(together.time_s, np.stack(times))
    assert together.states == (states if worlds is None else None)


def changes(scene: SimulatedScene) -> list[Any]:
    """Steps of several lengths, of some worlds; states set and restored."""
    kept = scene.capture()
    mask = np.arange(scene.worlds) % 2 == 0
    return [
        lambda: None,
        lambda: scatter(scene, 4),
        lambda: scene.step(H),
        lambda: scene.step(H / 3, mask),
        lambda: scene.step(0.0),
        lambda: scene.restore(kept, worlds=mask),
        lambda: scene.step(H),
        lambda: scatter(scene, 9),
        lambda: scene.step(H),
    ]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("count", "worlds"),
    [(1, None), (WORLDS, None), (WORLDS, CHOSEN), (WORLDS, [2]), (1, [0])],
)
def test_all_that_can_be_read(
    count: int, worlds: list[int] | None, precision: str
) -> None:
    scene = scene_of(everything(), count, precision=precision)
    check(scene, worlds, changes(scene))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("worlds", [None, CHOSEN])
def test_worlds_with_parameters_of_their_own(
    worlds: list[int] | None, precision: str
) -> None:
    scene = scene_of(everything(), WORLDS, precision=precision)
    names = [
        n for n in scene.persistent_configuration() if "center" in n or "iner" in n
    ]
    assert names
    chance = np.random.default_rng(1)

    def differ() -> None:
        for name in names:
            old = scene.persistent_configuration()[name]
            wide = old if old.shape[0] == WORLDS else np.stack([old] * WORLDS)
            factor = chance.uniform(0.9, 1.0, (WORLDS, *[1] * (wide.ndim - 1)))
            scene.configure(name, scene.to_device(wide * factor, "test"))

    happen = changes(scene)
    check(scene, worlds, [*happen[:4], differ, *happen[4:], differ, happen[2]])


@pytest.mark.parametrize(
    "task", ["CartPole", "DoublePendulumRail", "FallingBodies", "Pusher"]
)
@pytest.mark.parametrize("worlds", [None, [1, 2]])
def test_the_tasks_that_ship(task: str, worlds: list[int] | None) -> None:
    made = make_task(task)
    scene = make_scene(
        named_model(made.model),
        3,
        "cpu",
        precision="float64",
        integrator="semi_implicit",
    )
    check(scene, worlds, [lambda: scene.step(H)] * 4)


def test_what_crosses_over_is_what_is_seen() -> None:
    crossed = []
    for count in (4, 40):
        scene = scene_of(everything(), count)
        sampler = scene.sampler(readable(scene), [1, 2])
        samples = []
        for _ in range(3):
            scene.step(H)
            before = scene.ledger.totals().syncs
            samples.append(sampler.take())
            assert scene.ledger.totals().syncs == before
        sampler.read(samples)
        crossed.append(scene.ledger.by_cause())
    assert crossed[0] == crossed[1]
    assert crossed[0]["read"].d2h_copies == 3  # states, what moves, the inertia


def test_what_is_not_there_is_refused() -> None:
    scene = scene_of(everything(), 2)
    touching = next(r for r in scene.rows if "contacts_active" in r.fields)
    for fields, worlds in (
        ([(99, "pose")], None),
        ([(0, "colour")], None),
        ([(0, "pose")], [2]),
        ([(touching.index, "contacts_active")], None),
    ):
        with pytest.raises(SceneError):
            scene.sampler(fields, worlds)
