"""The configuration of a native scene as a recording has it: tells what has changed."""

from __future__ import annotations

from threading import get_ident
from time import time_ns
from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.records import NAN
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.tap.adapters.superdex.actors import Known


class ToldConfiguration:
    """That of one scene.

    Parameters
    ----------
    recorder
        Where changes are told.
    scene, physics
        See `Configuration`.
    number
        The scene's number in the recording.

    Attributes
    ----------
    gravity
        As it was last read, in m/s².
    digest
        Of all of it; empty before it was read.
    """

    def __init__(
        self, recorder: IntakeRecorder, scene: Any, physics: Any, number: int
    ) -> None:
        self.gravity: tuple[float, ...] = (NAN,) * 3
        self.digest = b""
        self._recorder = recorder
        self._number = number
        self._configuration = Configuration(scene, physics)
        self._values: dict[str, Any] = {}

    def look_for_pairs(self) -> None:
        """See `Configuration.look_for_pairs`."""
        self._configuration.look_for_pairs()

    def look(self, actors: Iterable[Known], who: int) -> None:
        """Read it, and tell what is another than it was.

        Parameters
        ----------
        who
            The environment that may have changed it; -1: not known.
        """
        values = self._configuration.read(actors)
        if values == self._values:
            return
        before, self._values = self._values, values
        self.gravity, self.digest = tuple(values["gravity"]), digest(values)
        row = self._recorder.rows
        for key in {**before, **values}:
            if before.get(key) != values.get(key):
                self._recorder.change(
                    r.ConfigurationChange(
                        key,
                        before.get(key),
                        values.get(key),
                        row,
                        who if before else -1,
                        self._number,
                        time_ns(),
                        get_ident(),
                        self.digest,
                    )
                )
