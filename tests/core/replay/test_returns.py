"""Restores find their captures by the states' digests, where no handle is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.recording.labelled.labelled import LabelledRecording
from isoscope.core.replay.again import ReplayOptions, replay
from isoscope.core.replay.returns import Returns
from isoscope.core.replay.tape import tapes
from tests.core.replay.recorded import read, record_in_turn
from tests.core.replay.test_alone import demo, places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.engine import Blueprint


@pytest.fixture
def no_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the tap of an engine tells it whose handles are not told."""
    whole = LabelledRecording.events

    def events(self: Any, *args: Any) -> Any:
        found = whole(self, *args)
        for event in found:
            event.detail = None
        return found

    monkeypatch.setattr(LabelledRecording, "events", events)


def recorded(tmp_path: Path) -> Any:
    made = EnvFactory("CartPole", {"max_steps": 6}, integrator="semi_implicit")
    return record_in_turn(tmp_path / "run.isoscope.h5", made, 3, 9)


def test_both_ways_find_the_same(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    examined = recorded(tmp_path)
    [by_handle] = tapes(examined)
    ways = [Returns(by_handle, None)]
    request.getfixturevalue("no_handles")
    [by_digest] = tapes(examined)
    ways.append(Returns(by_digest, None))
    restores = [
        (row, k)
        for row, events in by_handle.events.items()
        for k, event in enumerate(events)
        if event.kind == "restore"
    ]
    found = [[way.source(place) for place in restores] for way in ways]
    assert sum(one is not None for one in found[0]) > 20
    for one, two in zip(*found, strict=True):
        # What resets begin from was captured before anything was stepped.
        assert two == one or (two is None and one is not None and one[0] == 0)


@pytest.mark.usefixtures("no_handles")
@pytest.mark.parametrize("mode", ["actions", "pinned", "alone"])
def test_it_comes_out_the_same(tmp_path: Path, mode: Any) -> None:
    seen = replay(recorded(tmp_path), make_builtin, ReplayOptions(mode=mode))
    assert seen.not_checkable == []
    assert seen.claims.bit_for_bit.answer == "yes"


@pytest.mark.usefixtures("no_handles")
def test_a_missed_restore(tmp_path: Path) -> None:
    path = demo(tmp_path / "run.isoscope.h5", "missed-restore@2:1/4")
    assert replay(read(path), make_builtin).first_divergence is None
    alone = replay(read(path), make_builtin, ReplayOptions(mode="alone"))
    assert places(alone) == {2: (1, 4)}


class Far:
    """An engine that tells what was read when it likes to."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._waiting: list[Callable[[], None]] = []
        self.told = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def read_later(self, fields: Any, expected: bytes, take: Any) -> None:
        import numpy as np

        world: Array = np.array([0], np.int64)
        values = [self._engine.read(*field, world)[0] for field in fields]
        self._waiting.append(lambda: take(values, None))
        if len(self._waiting) > 7:
            self.finish()

    def compare_later(self, data: bytes, take: Any) -> None:
        equal = self._engine.state_bytes() == data
        self._waiting.append(lambda: take(equal))

    def finish(self) -> None:
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            self.told += 1
            tell()


def test_what_is_told_later_is_compared_as_well(tmp_path: Path) -> None:
    examined = recorded(tmp_path)
    near = replay(examined, make_builtin)
    made = []

    def make(blueprint: Blueprint) -> Any:
        made.append(Far(make_builtin(blueprint)))
        return made[-1]

    far = replay(examined, make)
    assert far == near
    assert made[0].told == near.compared_steps + near.states_compared


def test_what_was_told_before_it_died_counts(tmp_path: Path) -> None:
    def make(blueprint: Blueprint) -> Any:
        far: Any = Far(make_builtin(blueprint))
        left = iter(range(20))
        step = far._engine.step

        def dying(h_s: float, worlds: Any) -> None:
            if next(left, None) is None:
                raise OSError("the worker is gone")
            step(h_s, worlds)

        far.step = dying
        return far

    seen = replay(recorded(tmp_path), make)
    assert seen.compared_steps == 20
    assert seen.stopped == "the worker is gone"
