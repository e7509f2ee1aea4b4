"""Steps a recorded scene again: snapshots, then the recorded inputs, step by step.

The state is *known* from a snapshot on, until an episode begins whose start the
recording only has as the next snapshot. What happened between steps happens again in
its order: a restore goes back to what was captured here at the same place, so a missed
restore is missed again. An environment *alone* has its own steps, restores and changes
of the configuration only.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import CancelledError, one_line
from isoscope.core.recording.labelled.records import DIGEST_BYTES, UNRECORDED_INPUT
from isoscope.core.recording.model import StepKind
from isoscope.core.replay.engine import ReadsLater, ReplayError
from isoscope.core.replay.returns import Returns
from isoscope.core.replay.scene_engine import same_value
from isoscope.core.replay.windows import Blocks, TrackRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.engine import Engine
    from isoscope.core.replay.returns import Place
    from isoscope.core.replay.stepwise import Stepwise
    from isoscope.core.replay.tape import Tape

TOLD_EVERY = 64
CANCELLED = "it was cancelled"


@dataclass(frozen=True, slots=True)
class Part:
    """What of a tape is stepped again.

    Attributes
    ----------
    start
        The row of the snapshot that it begins after; -1 is before the first.
    compared
        By environment, the first and last row that are compared, inclusive.
    alone
        The environment that is stepped alone; None steps all in recorded order.
    pinned
        Whether the state goes back to the recorded one at every snapshot.
    """

    start: int
    compared: Mapping[int, tuple[int, int]]
    alone: int | None = None
    pinned: bool = False


@dataclass(slots=True)
class Driven:
    """What became of it.

    Attributes
    ----------
    snapshots
        Ids that the state was restored from.
    configuration
        By key, the recorded and the engine's value, where they differed.
    configured_equal, configured_other
        Compared steps under the recorded configuration, and under another.
    unknown
        By environment, steps that could not be taken: their state was not known.
    moved
        Rows before which somebody set the state by hand, outside of a reset.
    stopped
        Why it ended early; empty if it didn't.
    """

    snapshots: list[int] = field(default_factory=list)
    configuration: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    configured_equal: int = 0
    configured_other: int = 0
    unknown: dict[int, int] = field(default_factory=dict)
    moved: list[int] = field(default_factory=list)
    stopped: str = ""


class Driver:
    """Steps one tape again in one engine.

    Parameters
    ----------
    engine
        Made for the tape's blueprint; its state and configuration are overwritten.
    seen
        Takes what is compared; None only steps.
    """

    def __init__(
        self, tape: Tape, engine: Engine, part: Part, seen: Stepwise | None
    ) -> None:
        self._tape, self._engine = tape, engine
        self._part, self._seen = part, seen
        self._labels = tape.examined.attribution.labels
        self._known = np.zeros(tape.worlds, np.bool_)
        mine = tape.envs if part.alone is None else [part.alone]
        self._mine = np.array([tape.world(env) for env in mine], np.int64)
        self._handles: dict[Place, int] = {}
        self._returns = Returns(tape, part.alone)
        later = tape.worlds == 1 and isinstance(engine, ReadsLater)
        self._later: ReadsLater | None = engine if later else None  # type: ignore[assignment]  # as was just asked
        self._judged: dict[bytes, bool] = {}
        self._digest = b""
        self._reset_rows = self._labels.kind == StepKind.RESET
        length = len(tape.examined.recording)
        self._controls = [(c, TrackRows(c.track, length)) for c in tape.controls]
        column = tape.labelled.column
        self._told = Blocks(
            lambda start, stop: column("native", "configuration_digest", start, stop),
            length,
        )
        self._ends = Blocks(
            lambda start, stop: column("native", "digest_after", start, stop), length
        )
        self.done = Driven()

    def run(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        keep_cancelled: bool = False,
    ) -> Driven:
        """Step to the last compared row.

        Returns
        -------
        Driven
            Also where the engine died on the way, with the reason; and where it was
            cancelled, if that is to be kept.

        Raises
        ------
        CancelledError
            Of `progress`, unless `keep_cancelled`.
        """
        last = max((stop for _, stop in self._part.compared.values()), default=-1)
        try:
            self._go(self._rows(last + 1), progress)
            if self._later is not None:
                self._later.finish()
        except CancelledError as error:
            if not keep_cancelled:
                raise
            self.done.stopped = one_line(error) or CANCELLED
            self._take_last()
        except Exception as error:  # noqa: BLE001 an engine may die of anything
            self.done.stopped = one_line(error) or type(error).__name__
            self._take_last()
        finally:
            for handle in self._handles.values():
                self._release(handle)
            if self._seen is not None:
                self._seen.finish()
        return self.done

    # -- between steps -----------------------------------------------------------------

    def _rows(self, stop: int) -> Array:
        """The rows that are stepped, from the beginning to before a row."""
        part, tape = self._part, self._tape
        rows: Array = tape.rows[(tape.rows > part.start) & (tape.rows < stop)]
        if part.alone is not None:
            rows = rows[self._labels.env[rows] == part.alone]
        return rows

    def _go(self, rows: Array, progress: Callable[[int, int], None] | None) -> int:
        """Begin, and step these rows, with what happened between; the last of them."""
        before = self._part.start
        self._begin(before)
        for number, group in enumerate(self._tape.groups(rows)):
            if progress is not None and number % TOLD_EVERY == 0:
                progress(number, len(rows))
            self._between(before + 1, int(group[0]))
            self._step(group)
            before = int(group[-1])
            self._after(before)
        return before

    def _begin(self, start: int) -> None:
        values: dict[str, Any] = {}
        for at in sorted(self._tape.changes):
            if at > start:
                break
            for change in self._tape.changes[at]:
                if self._takes(change):
                    values[change.key] = change.new
        self._engine.configure(values)
        self._configured()
        self._after(start)

    def _takes(self, change: r.ConfigurationChange) -> bool:
        """Whether a change of the configuration happens here too."""
        alone = self._part.alone
        if alone is None or change.old is None or change.env == alone:
            return True
        return self._tape.own_changes(alone)

    def _configured(self) -> None:
        self._digest = self._engine.configuration_digest()
        self._judged.clear()

    def _between(self, first: int, row: int) -> None:
        """Do what happened before rows first .. row, of which the last is stepped."""
        tape, alone = self._tape, self._part.alone
        for at in range(first, row + 1):
            if at > first:
                self._after(at - 1)  # of a batch, that another's row is the last of
            for change in tape.changes.get(at, ()):
                if self._takes(change):
                    self._engine.configure({change.key: change.new})
                    self._configured()
            for k, event in enumerate(tape.events.get(at, ())):
                anybody = event.env < 0 and event.kind == UNRECORDED_INPUT
                if alone is None or event.env == alone or anybody:
                    self._happened(event, (at, k))

    def _happened(self, event: r.SceneEvent, place: Place) -> None:
        if event.kind == "set_state":
            if not self._reset_rows[place[0] : place[0] + 1].any():
                self.done.moved.append(place[0])
                if self._seen is not None:
                    self._seen.set_by_hand(place[0])
        elif event.kind == UNRECORDED_INPUT:
            what = (event.detail or {}).get("input") or "an input"
            raise ReplayError(
                f"before native step {place[0]} it was pushed by {what}, of which no "
                "values are recorded"
            )
        elif event.kind == "capture":
            if self._known.all() and self._returns.needed(place):
                self._handles[place] = self._engine.capture()
        elif event.kind == "restore" and event.ok != 0:
            self._restore(place, event.snapshot)

    def _restore(self, place: Place, snapshot: int) -> None:
        if self._tape.worlds > 1:
            return  # of a batch, some worlds: those whose reset comes next
        captured = self._returns.source(place)
        if captured is not None and captured in self._handles:
            self._engine.restore(self._handles[captured])
            self._known[:] = True
            if self._returns.is_last(place):
                self._release(self._handles.pop(captured))
            return
        data = None if snapshot < 0 else self._tape.labelled.snapshot_data(snapshot)
        self._known[:] = data is not None
        if data is not None:
            self._engine.restore_bytes(data)
            self.done.snapshots.append(snapshot)

    def _release(self, handle: int) -> None:
        try:
            self._engine.release(handle)
        except Exception:  # noqa: BLE001 of an engine that is dead
            return

    # -- a step ------------------------------------------------------------------------

    def _step(self, group: Array) -> None:
        tape, labels = self._tape, self._labels
        envs = labels.env[group]
        worlds = np.array([tape.world(int(env)) for env in envs], np.int64)
        begins = self._reset_rows[group]
        self._known[worlds[begins]] = False
        takes = self._known[worlds]
        for env in envs[~takes & ~begins].tolist():
            if self._wanted(env, int(group[0])):
                self.done.unknown[env] = self.done.unknown.get(env, 0) + 1
        group, worlds, envs = group[takes], worlds[takes], envs[takes]
        if not len(group):
            return
        row = int(group[0])
        for control, recorded in self._controls:
            values, valid = recorded.rows(group)
            if valid.any():
                self._engine.apply(
                    control.actor, control.name, values[valid], worlds[valid]
                )
        h_s = float(tape.examined.recording.steps.h_s[row])
        self._engine.step(h_s, worlds)
        self._compare(group, worlds, envs)

    def _wanted(self, env: int, row: int) -> bool:
        first, last = self._part.compared.get(env, (0, -1))
        return first <= row <= last

    def _compare(self, group: Array, worlds: Array, envs: Array) -> None:
        seen = self._seen
        wanted = [
            self._wanted(int(env), int(at)) for env, at in zip(envs, group, strict=True)
        ]
        if seen is None or not any(wanted):
            return
        if self._later is not None:
            self._read_later(self._later, seen, int(envs[0]), int(group[0]))
            return
        read = [self._engine.read(f.actor, f.name, worlds) for f in seen.fields]
        for k in np.flatnonzero(wanted).tolist():
            row = int(group[k])
            if not self._judge_configuration(row):
                seen.configured_otherwise(row)
            seen.add(int(envs[k]), row, [values[k] for values in read])

    def _read_later(
        self, later: ReadsLater, seen: Stepwise, env: int, row: int
    ) -> None:
        """Have one step compared with the others of its block, the whole state too."""
        if not self._judge_configuration(row):
            seen.configured_otherwise(row)

        def take(values: list[Array], equal: bool | None) -> None:
            seen.add(env, row, values)
            if equal is not None:
                seen.state(env, row, equal=equal)

        names = [(one.actor, one.name) for one in seen.fields]
        digest = b"" if row in self._tape.snapshots else self._end(row)
        later.read_later(names, digest, take)

    def _take_last(self) -> None:
        """Take what was stepped before something was refused, if it still answers."""
        if self._later is not None:
            with suppress(Exception):
                self._later.finish()

    def _end(self, row: int) -> bytes:
        """Digest of the recorded state after a row; empty where there is none."""
        told: bytes = self._ends.rows(np.array([row]))[0].tobytes()
        return told if any(told) else b""

    def _judge_configuration(self, row: int) -> bool:
        """Whether what is configured here is what was, looked at once each."""
        told = self._told.rows(np.array([row]))[0].tobytes()
        equal = self._judged.get(told)
        if equal is None:
            equal = told == self._digest
            self._judged[told] = equal
            if not equal:
                recorded = self._tape.configuration(row)
                here = self._engine.configuration()
                for key in recorded.keys() | here.keys():
                    one, two = recorded.get(key), here.get(key)
                    if not same_value(one, two):
                        self.done.configuration.setdefault(key, (one, two))
        if equal:
            self.done.configured_equal += 1
        else:
            self.done.configured_other += 1
        return equal

    # -- snapshots ---------------------------------------------------------------------

    def _after(self, row: int) -> None:
        """Take up the state of a snapshot, or compare with it."""
        for snapshot in self._tape.snapshots.get(row, ()):
            if self._part.alone is not None and snapshot.env not in (
                self._part.alone,
                -1,
            ):
                continue
            known = bool(self._known[self._mine].all())
            if known and self._seen is not None:
                self._compare_state(snapshot, row)
            if known and not self._part.pinned:
                continue
            data = self._tape.labelled.snapshot_data(snapshot.id)
            if data is None:
                continue
            lost = None if self._part.pinned else np.flatnonzero(~self._known).tolist()
            self._engine.restore_bytes(data, lost)
            self._known[:] = True
            self.done.snapshots.append(snapshot.id)

    def _compare_state(self, snapshot: r.Snapshot, row: int) -> None:
        assert self._seen is not None
        if len(self._mine) < self._tape.worlds:
            return  # what the others do is not done here
        env = snapshot.env if snapshot.env >= 0 else int(self._labels.env[row])
        if not snapshot.digest or not self._wanted(env, row):
            return
        if self._later is not None:
            seen, data = self._seen, self._tape.labelled.snapshot_data(snapshot.id)
            self._later.compare_later(
                data or b"", lambda equal: seen.state(env, row, equal=equal)
            )
            return
        here = hashlib.blake2b(self._engine.state_bytes(), digest_size=DIGEST_BYTES)
        self._seen.state(env, row, equal=here.digest() == snapshot.digest)
