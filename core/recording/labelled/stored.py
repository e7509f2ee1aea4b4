"""Records what a consumer stored of control steps: a trainer's buffer, say.

What the environment told and what the consumer keeps need not be the same, and checks
compare the two. A row belongs to a transition that is recorded already. Tell it when
the consumer hands its rows over: only then it shows whether they changed meanwhile.

Columns are fields of the group ``stored`` over transitions, named

- ``observation_before``, ``observation_after``, ``action``: vectors (of a space with
  several leaves ``observation_after/LEAF``),
- ``reward``, ``terminated``, ``truncated``; ``transition``: whether the row is learned
  from; ``env``: the environment that it is labelled with,
- ``info/NAME`` and ``reward_term/NAME``: numbers of infos, present where the consumer
  takes them for values,
- ``action_seeded``: whether the action was drawn from a space that was seeded,
- ``native/ACTOR.FIELD``: a native field that it stored, present likewise,
- ``return``: of the episode that the row ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.labelled.records import Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.recording.tracks import Array

GROUP = "stored"


class StoredRecorder:
    """Writes what a consumer stored beside the transitions of a recording.

    Parameters
    ----------
    recorder
        Where the transitions are recorded.
    group
        Another group over transitions, whose columns are written in the same way.
    """

    def __init__(self, recorder: IntakeRecorder, group: str = GROUP) -> None:
        self._recorder = recorder
        self._group = group
        self._frames: dict[tuple[str, tuple[int, ...], str], Frame] = {}

    def rows(
        self,
        numbers: Array,
        columns: Mapping[str, Array],
        present: Mapping[str, Array] | None = None,
    ) -> None:
        """Record the rows of these transitions.

        Parameters
        ----------
        numbers
            int64 [n]: of the transitions, as the recorder gave them, ascending, and
            after those of the call before for the same columns. Refused ones (-1) are
            left out.
        columns
            By name [n, *shape], of numbers or bool; see the module.
        present
            By name bool [n]: where the consumer has a value; where it isn't named, in
            all rows.

        Raises
        ------
        ValueError
            If a column has not n rows.
        """
        numbers = np.asarray(numbers, np.int64)
        recorded = numbers >= 0
        for name, column in columns.items():
            values = np.asarray(column)
            if len(values) != len(numbers):
                raise ValueError(
                    f"stored column {name!r} has {len(values)} rows, not {len(numbers)}"
                )
            there = recorded
            if present is not None and name in present:
                there = recorded & np.asarray(present[name], np.bool_)
            if not there.any():
                continue
            frame = self._frame(name, values)
            flat = values[there].reshape(int(there.sum()), -1)
            valid = np.ones((len(flat), 1), np.bool_)
            with self._recorder.intake.lock:
                frame.extend(numbers[there], flat, valid)

    def _frame(self, name: str, values: Array) -> Frame:
        key = name, values.shape[1:], values.dtype.str
        found = self._frames.get(key)
        if found is None:
            field = Field(name=name, shape=values.shape[1:], group=self._group)
            found = self._recorder.frame([field], values.dtype, over="transitions")
            self._frames[key] = found
        return found
