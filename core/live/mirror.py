"""A mirror of a live run: what arrives goes into a recording, and is read there.

So everything that works on a recording works on a live run, memory stays bounded, and
looking back is reading.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from isoscope.core.live.temporary import TemporaryFolder
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.tap.merge import Merger
from isoscope.core.tap.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.tap.packet import Packet

PREFIX = "isoscope-live-"  # of the folders of mirrors that nobody keeps
FLUSH_S = 0.1  # until what arrived can be seen
TOO_SLOW = "this window could not keep up"
WORDS = 200  # letters that are kept of why a packet makes no sense


class Mirror:
    """Writes what arrives to a file, which `reader` reads.

    Parameters
    ----------
    keep
        The file; without one it lies in a temporary folder and is removed in the end.
    overwrite
        Whether `keep` may replace a file.

    Attributes
    ----------
    reader
        The recording, as it grows.

    Raises
    ------
    UsageError, WriteError
        If the file can't be made.
    """

    def __init__(self, keep: Path | None = None, *, overwrite: bool = False) -> None:
        self._folder: TemporaryFolder | None = None
        if keep is None:
            self._folder = TemporaryFolder(PREFIX)
            keep = self._folder.path / "live.isoscope.h5"
        self.path = keep
        self.stopped = ""
        try:
            self._recorder = Recorder(
                keep,
                r.Identity(),
                overwrite=overwrite,
                flush_s=FLUSH_S,
                tell=self._tell,
                compact=self._folder is None,
            )
            self._merger = Merger(Target(self._recorder.intake, adds_times=False))
            self.reader = LabelledSource(keep)
            self.reader.mine = True
        except BaseException:
            self._remove()
            raise

    def _tell(self, line: str) -> None:
        self.stopped = line

    @property
    def behind(self) -> bool:
        """Whether the disk can't take more just now."""
        return not self.stopped and not self._recorder.intake.accepts

    @property
    def whole(self) -> bool:
        """Whether the first row that came, if any has, was the run's first."""
        return self._merger.began in (None, 0)

    def take(self, packet: Packet, missed: int = 0) -> None:
        """Take a packet, and how many records were left out before it.

        Raises
        ------
        PacketError
            If it makes no sense.
        """
        if self.stopped:
            return
        if missed:
            self._recorder.dropped(
                r.Dropped("records", missed, wall_ns=time.time_ns(), why=TOO_SLOW)
            )
        self._merger.take(packet)

    def refuse(self, why: str) -> None:
        """Record that a packet was not taken, or not all of it, and why."""
        self._recorder.dropped(
            r.Dropped(r.SENSELESS_PACKETS, 1, wall_ns=time.time_ns(), why=why[:WORDS])
        )

    @property
    def began(self) -> int | None:
        """Which row of the run, counted from 0, is the first; None before any."""
        return self._merger.began

    def fail(self, what: str, message: str, row: int = -1) -> None:
        """Record how the run failed, as far as that was seen from here."""
        failure = r.Failure(what, message, row=row, wall_ns=time.time_ns())
        self._recorder.failure(failure)

    def flush(self) -> None:
        """Let all that arrived be in the file."""
        self._recorder.flush(10.0)

    def finish(self) -> None:
        """Write the rest; nothing more is taken. The file stays to be read."""
        self._recorder.close()

    def discard(self) -> None:
        """Let go of the file, and remove it if it is temporary."""
        self._recorder.close()
        self.reader.close()
        self._remove()

    def _remove(self) -> None:
        if self._folder is not None:
            self._folder.remove()
