"""Records a demo by the tap: what environments returned, and what was stored of it.

The tap watches the environments and writes their transitions. What the rollout stores
goes beside these, as `core.recording.labelled.stored` has it; sensors and the rollout's
profile as a tap's user would tell them. Of environments in workers, whose transitions
are numbered elsewhere, only what the tap sees is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.app.demo.identifying import identify
from isoscope.core import tap
from isoscope.core.envs.rollout.sources import ResidentSource
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.stored import StoredRecorder

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.demo.run import DemoRun
    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.envs.rollout.records import (
        Array,
        EpisodeReturn,
        Frame,
        ProfileLine,
        StoredRows,
    )
    from isoscope.core.envs.rollout.rollout import Rollout
    from isoscope.core.tap.session import TapSession

TRACKER, TERM = "tracker", "reward "


class DemoRecorder:
    """Opens the tap with the first environment, and closes it after the last.

    Parameters
    ----------
    file
        ``*.isoscope.h5``.
    """

    def __init__(
        self, settings: DemoSettings, file: Path, *, overwrite: bool = False
    ) -> None:
        self._file = file
        refuse_bad_target(file, overwrite=overwrite)
        self._overwrite = overwrite
        self._resident = settings.scene == "resident"
        self._name = f"demo {settings.task}"
        self._options: dict[str, Any] = {}
        if self._resident:
            watched = settings.watched(settings.make_faults())
            self._options["visible"] = list(watched) or 1
        self._open = False
        self._beside: Beside | None = None  # signals don't keep it alive

    def around(self, make: Any, number: int) -> Any:
        """What is called in place of what makes an environment; see `build`."""
        first, self._open = not self._open, True
        given: dict[str, Any] = {"record": self._file, "index": number}
        if first:
            given |= {"name": self._name, "overwrite": self._overwrite}
            given |= self._options
        return tap.factory(make, **given)

    def listen(self, run: DemoRun) -> None:
        """Record what the rollout stores, from here on."""
        session = tap.current()
        if session is not None:
            identify(session, run.settings)
            self._beside = Beside(session, run.parts.rollout)

    def close(self) -> None:
        """End the file; after the environments are closed."""
        if self._open:
            self._open = False
            tap.detach()


class Beside:
    """Writes what a rollout does beside the transitions that the tap has written."""

    def __init__(self, session: TapSession, rollout: Rollout) -> None:
        self._session = session
        self._recorder = recorder = session.recorder
        self._stored = StoredRecorder(recorder)
        self._state = StoredRecorder(recorder, "policy_state")
        self._numbers: dict[int, Array] = {}
        self._last: dict[int, int] = {}
        self._round = -1
        self._count = 0
        self._told: dict[tuple[int, bool], int] = {}
        guard = session.guard
        rollout.stored.connect(guard(self._was_stored))
        rollout.handed.connect(guard(self._was_handed))
        rollout.finished.connect(guard(self._was_finished))
        rollout.framed.connect(guard(self._was_framed))
        rollout.profiled.connect(guard(self._was_profiled))
        self._rollout = rollout

    def _was_stored(self, rollout: Rollout, rows: StoredRows) -> None:
        numbers = self._written()
        if numbers is None:
            self._last, self._round = {}, -1
            return
        self._numbers[id(rows)] = numbers
        self._last = dict(zip(rollout.source.watched.tolist(), numbers, strict=True))
        recorded = numbers[numbers >= 0]
        self._round = int(recorded[0]) if len(recorded) else -1
        if rows.policy_state is not None:
            columns = {"hidden": rows.policy_state}
            self._state.rows(numbers, columns, {"hidden": rows.transition})

    def _written(self) -> Array | None:
        """Numbers of the transitions that the tap wrote in this round; None: unclear.

        -1 for what it did not write: a control step that raised.
        """
        source = self._rollout.source
        if isinstance(source, ResidentSource):
            return self._in_batch()
        answer = self._rollout.answer
        assert answer is not None  # what is stored is one
        steps, resets = self._session.stepped, self._session.begun
        found = np.full(len(source.watched), -1)
        pairs = zip(source.watched.tolist(), answer.transition.tolist(), strict=True)
        for at, (env, step) in enumerate(pairs):
            number = (steps if step else resets).get(env, -1)
            if number > self._told.get((env, step), -1):
                found[at] = self._told[env, step] = number
        return found

    def _in_batch(self) -> Array | None:
        """Of a batch: all its steps come first, then its resets."""
        intake, source = self._recorder.intake, self._rollout.source
        with intake.lock:
            now = intake.length(intake.tables["transitions"])
        before, self._count = self._count, now
        answer, count = self._rollout.answer, len(source.watched)
        starts = 0
        if answer is not None and source.mode is not AutoresetMode.NEXT_STEP:
            starts = int(np.count_nonzero(answer.starts))
        if not before:
            # the rows of the first resets come before those of the first round
            before = now - count - starts
        if now - before != count + starts:
            return None
        found = before + np.arange(count)
        if answer is not None and source.mode is AutoresetMode.NEXT_STEP:
            # Those that were reset in place of a step come after those that stepped.
            order = np.argsort(~answer.transition, kind="stable")
            found[order] = before + np.arange(count)
        return found

    def _was_handed(self, rollout: Rollout, store: list[StoredRows]) -> None:
        for rows in store:
            numbers = self._numbers.pop(id(rows), None)
            if numbers is not None:
                self._stored.rows(numbers, *_columns(rows))

    def _was_finished(self, rollout: Rollout, ended: EpisodeReturn) -> None:
        number = self._last.get(ended.env, -1)
        if ended.complete and number >= 0:
            self._stored.rows(np.array([number]), {"return": np.array([ended.value])})

    def _was_framed(self, rollout: Rollout, frame: Frame) -> None:
        stamp = frame.number, frame.taken_s, frame.read_s
        tap.stream(TRACKER, *stamp, frame.data, env=frame.env)

    def _was_profiled(self, rollout: Rollout, lines: tuple[ProfileLine, ...]) -> None:
        for line in lines:
            entry = r.ProfileEntry(
                line.name, line.value, line.unit, line.parent, transition=self._round
            )
            self._recorder.profile(entry)


def _columns(rows: StoredRows) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of stored rows by name, and where they hold something."""
    columns: dict[str, Any] = {
        "observation_before": rows.obs,
        "observation_after": rows.next_obs,
        "action": rows.action,
        "reward": rows.reward,
        "terminated": rows.terminated,
        "truncated": rows.truncated,
        "transition": rows.transition,
        "env": rows.env.astype(np.float64),
    }
    present: dict[str, Any] = {}
    if rows.action_seeded is not None:
        columns["action_seeded"] = rows.action_seeded
        present["action_seeded"] = rows.transition
    for key, info in rows.info.items():
        name = f"info/{key}"
        if key.startswith(TERM):
            name = f"reward_term/{key.removeprefix(TERM)}"
        columns[name], present[name] = info.values, info.present
    for key, values in rows.fields.items():
        name = "native/" + key.replace("/", ".")
        columns[name], present[name] = values, ~np.isnan(values).any(axis=1)
    return columns, present
