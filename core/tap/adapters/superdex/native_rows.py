"""Keeps the native steps of one scene as raw rows, and whose state each began from."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.tap.raw_natives import add_raw_table

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.buffers import Buffer
    from isoscope.core.recording.labelled.intake import Intake
    from isoscope.core.tap.adapters.superdex.actors import Readers

MOST_LENGTHS = 8  # of states; beyond them rows have digests instead of states
_NONE = bytes(DIGEST_BYTES)


class Settings(NamedTuple):
    """What holds for many steps: gravity in m/s² and the configuration's digest."""

    gravity: tuple[float, ...] = (np.nan,) * 3
    digest: bytes = b""


class NativeRows:
    """Keeps the native steps of one scene, as long as the scene has the same actors.

    Parameters
    ----------
    intake
        Of a session: where they go.
    readers
        What reads the actors.

    Attributes
    ----------
    state
        The scene's, as it was last taken; empty before.
    """

    def __init__(self, intake: Intake, readers: Readers, state: bytes) -> None:
        self.state = state
        self._row = -1  # after which the scene was in this state, if it is known
        self._intake = intake
        self._add = intake.add_native
        self._frames = readers.frames()
        self._tables: dict[int, Buffer] = {}
        self._table: Buffer | None = None
        self._length = -1
        self._holds = False  # whether the table holds states
        # By environment the state that it left, and after which row.
        self._left: dict[int, tuple[bytes, int]] = {}

    def add(
        self,
        place: tuple[Any, ...],
        told: tuple[Any, ...],
        settings: Settings,
        restored_from: int,
        values: list[Any],
        state: bytes,
    ) -> int:
        """Keep a step; returns its number, -1 where it was refused.

        Parameters
        ----------
        place, told
            Columns of ``native`` up to gravity, and from the solver's status to its
            residual.
        values
            What `Readers.take` gave.
        state
            After the step.
        """
        length = len(state)
        if length != self._length:
            self._table_for(length)
        before, holds = self._row, self._holds
        begun = _NONE if before >= 0 else state_digest(self.state)
        ended = _NONE if holds else state_digest(state)
        digests = begun, ended, settings.digest
        packed = before, *place, *settings.gravity, *told, *digests, restored_from, 0.0
        assert self._table is not None
        if holds:
            row = self._add(self._table, (*packed, *values, state))
        else:
            row = self._add(self._table, (*packed, *values))
        self.state, self._row = state, -1
        if holds and row >= 0:
            self._row = row
            self._left[place[0]] = state, row
        return row

    def restored(self, state: bytes, env: int) -> None:
        """Take note of the state that the scene is in now.

        Parameters
        ----------
        env
            Whose it may be.
        """
        left, row = self._left.get(env, (b"", -1))
        if state == left:
            self.state, self._row = left, row
        elif state != self.state:
            self.state, self._row = state, -1

    def _table_for(self, length: int) -> None:
        """Rows of another form: what was told in the old one can't be named there."""
        many = length not in self._tables and len(self._tables) >= MOST_LENGTHS
        held = 0 if many else length
        table = self._tables.get(held)
        if table is None:
            table = add_raw_table(self._intake, self._frames, held)
            self._tables[held] = table
        self._table, self._length, self._holds = table, length, held > 0
        self._row = -1
        self._left.clear()


def state_digest(state: bytes) -> bytes:
    """BLAKE2b of a captured state, `DIGEST_BYTES` long."""
    return blake2b(state, digest_size=DIGEST_BYTES).digest()
