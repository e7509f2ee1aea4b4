"""Goes to the state right before a control step of a recording: where a branch begins.

The last snapshot before it is restored and the recorded inputs applied from there. The
environment is stepped alone, which is the short way; where that doesn't lead to the
recorded state, since another one leaked in, all of the scene is stepped as recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.driver import Driver, Part
from isoscope.core.replay.engine import ReplayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.tape import Tape


@dataclass(frozen=True, slots=True)
class Begun:
    """How the beginning was reached.

    Attributes
    ----------
    snapshots
        Ids of the snapshots that were restored.
    native_steps
        Native steps from the snapshot.
    together
        Whether the whole scene had to be stepped as recorded.
    equal
        Whether the recorded fields are there to the last bit.
    difference
        In words, where they are not.
    """

    snapshots: tuple[int, ...]
    native_steps: int
    together: bool
    equal: bool
    difference: str = ""


class _Reach(Driver):
    """A driver that ends right before a row, with what happens before it done."""

    def reach(self, row: int, progress: Callable[[int, int], None] | None) -> int:
        """Go there; how many native steps it took."""
        rows = self._rows(row)
        try:
            before = self._go(rows, progress)
            self._between(before + 1, row)
        finally:
            for handle in self._handles.values():
                self._release(handle)
        return len(rows)

    def knows(self, env: int) -> bool:
        """Whether the environment's state is known here."""
        return bool(self._known[self._tape.world(env)])


def begin(
    tape: Tape,
    engine: Engine,
    env: int,
    row: int,
    progress: Callable[[int, int], None] | None = None,
) -> Begun:
    """Bring the engine to the state right before a native row of an environment.

    Parameters
    ----------
    tape
        The scene.
    engine
        Made for it; its state and configuration are overwritten.
    row
        A row of the environment's that is no reset.

    Raises
    ------
    IsoscopeError
        If there is no snapshot before it, or one that the engine refuses.
    """
    start = tape.snapshot_before(env, row)
    doing = f"branching from {tape.examined.file}"
    if start is None:
        raise ReplayError(
            f"{doing}: there is no snapshot of env {env} before native step {row}; "
            "begin later, or record with more snapshots (--snapshots)"
        )
    for snapshot in tape.snapshots[start]:
        data = tape.labelled.snapshot_data(snapshot.id)
        if not data:
            raise ReplayError(f"{doing}: snapshot {snapshot.id} holds no bytes")
        engine.check_bytes(data)
    found = None
    for alone in (env, None):
        driver = _Reach(tape, engine, Part(start, {}, alone), None)
        steps = driver.reach(row, progress)
        if not driver.knows(env):
            continue
        difference = _difference(tape, engine, env, row)
        used = tuple(driver.done.snapshots)
        found = Begun(used, steps, alone is None, not difference, difference)
        if found.equal:
            return found
    if found is None:
        raise ReplayError(
            f"{doing}: the state of env {env} before native step {row} can't be "
            "reached from a snapshot: its episode began after the last one"
        )
    return found


def _difference(tape: Tape, engine: Engine, env: int, row: int) -> str:
    """What of the environment's last recorded step is not here; empty if all is."""
    labels = tape.examined.attribution.labels
    own = tape.rows[(labels.env[tape.rows] == env) & (tape.rows < row)]
    if not len(own):
        return ""
    at = int(own[-1])
    world = np.array([tape.world(env)], np.int64)
    for one in tape.states:
        if not engine.has(one.actor, one.name):
            continue
        window = one.track.read(at, at + 1)
        if not window.valid[0]:
            continue
        here = np.ascontiguousarray(engine.read(one.actor, one.name, world)[0])
        there = np.ascontiguousarray(window.values[0])
        if here.tobytes() != there.tobytes() and not np.array_equal(
            here, there, equal_nan=True
        ):
            size = float(np.nanmax(np.abs(here - there)))
            unit = f" {one.unit}" if one.unit else ""
            return f"{one.full_name} is off by {size:.3g}{unit}"
    return ""
