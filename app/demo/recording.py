"""Records a demo by the tap: what environments returned, and what was stored of it.

The tap watches the environments. What the rollout stores goes beside it as streams:
``stored`` holds a row as JSON when it is put away, ``handed`` the same row when the
store is handed over, ``tracker`` a sensor's frames. Profiles go where the tap's go.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core import tap
from isoscope.core.envs.rollout.records import InfoValues, StoredRows
from isoscope.core.jsonform import encode
from isoscope.core.recording.labelled import records as r

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.demo.run import DemoRun
    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.envs.rollout.records import EpisodeReturn, Frame, ProfileLine
    from isoscope.core.envs.rollout.rollout import Rollout

STORED, HANDED, TRACKER, RETURN = "stored", "handed", "tracker", "return"


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
        self._overwrite = overwrite
        self._resident = settings.scene == "resident"
        self._name = f"demo {settings.task}"
        self._options: dict[str, Any] = {}
        if self._resident:
            watched = settings.watched(settings.make_faults())
            self._options["visible"] = list(watched) or 1
        self._open = False

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
        rollout = run.parts.rollout
        rollout.stored.connect(_stored)
        rollout.handed.connect(_handed)
        rollout.framed.connect(_framed)
        rollout.profiled.connect(_profiled)
        rollout.finished.connect(_finished)

    def close(self) -> None:
        """End the file; after the environments are closed."""
        if self._open:
            self._open = False
            tap.detach()


def row_form(rows: StoredRows, at: int) -> dict[str, Any]:
    """One stored row as plain data; what no environment gave is null."""
    row: dict[str, Any] = {}
    for field in fields(StoredRows):
        value = getattr(rows, field.name)
        if isinstance(value, np.ndarray):
            row[field.name] = value[at].tolist()
        elif isinstance(value, dict):
            row[field.name] = {k: _entry(v, at) for k, v in value.items()}
        else:
            row[field.name] = value
    return row


def _entry(value: Any, at: int) -> Any:
    if isinstance(value, InfoValues):
        return float(value.values[at]) if value.present[at] else None
    found = [None if math.isnan(x) else float(x) for x in value[at]]
    return found


def _send(name: str, rollout: Rollout, rows: StoredRows) -> None:
    for at, env in enumerate(rollout.source.watched):
        data = encode(row_form(rows, at))
        k = int(rows.control_step[at])
        tap.stream(name, k, math.nan, math.nan, data, env=int(env))


def _stored(rollout: Rollout, rows: StoredRows) -> None:
    _send(STORED, rollout, rows)


def _handed(rollout: Rollout, store: list[StoredRows]) -> None:
    for rows in store:
        _send(HANDED, rollout, rows)


def _framed(rollout: Rollout, frame: Frame) -> None:
    tap.stream(
        TRACKER, frame.number, frame.taken_s, frame.read_s, frame.data, env=frame.env
    )


def _finished(rollout: Rollout, ended: EpisodeReturn) -> None:
    data = encode({f.name: getattr(ended, f.name) for f in fields(ended)})
    tap.stream(RETURN, ended.episode, math.nan, math.nan, data, env=ended.env)


def _profiled(rollout: Rollout, lines: tuple[ProfileLine, ...]) -> None:
    session = tap.current()
    if session is None or not session.on:
        return
    with session.guard:
        for line in lines:
            entry = r.ProfileEntry(
                f"rollout {line.name}",
                line.value,
                line.unit,
                f"rollout {line.parent}" if line.parent else "",
                row=session.recorder.rows - 1,
            )
            session.recorder.profile(entry)
