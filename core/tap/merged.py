"""The merged stream of a run: all its processes' packets, to a file and to windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.errors import UsageError
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.tap.merge import Merger
from isoscope.core.tap.packet import Outflow, Packet
from isoscope.core.tap.state import LatestState
from isoscope.core.tap.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled.recorder import Recorder

UNBOUNDED = 1 << 62  # it is emptied as soon as it was filled


class MergedStream:
    """Everything of one run. Belongs to the hub's thread.

    Parameters
    ----------
    recorder
        The file that gets all of it, or None.

    Attributes
    ----------
    number
        Which stream of the run it is; see `KeptStream`.
    """

    number = 0

    def __init__(self, recorder: Recorder | None) -> None:
        self.recorder = recorder
        self.target = Target(Intake(UNBOUNDED, _nothing))
        self.latest = LatestState(self.target)
        self._outflow = Outflow(self.target.intake)
        self._file: Merger | None = None
        if recorder is not None:
            self._file = Merger(Target(recorder.intake, adds_times=False), "run")

    @property
    def behind(self) -> bool:
        """Whether the file can't take more just now: then nothing should be merged."""
        recorder = self.recorder
        if recorder is None or recorder.stopped:
            return False
        return not recorder.intake.accepts

    def length(self, table: str) -> int:
        """Rows of a fixed table so far."""
        return self.target.length(table)

    def watch(self, looking: bool) -> None:
        """Say whether windows look: here all is merged whether they do or not."""

    def close(self) -> None:
        """Have the rest written and the end marked."""
        if self.recorder is not None:
            self.recorder.close()

    def source(self, name: str) -> Merger:
        """What merges one more source."""
        return Merger(self.target, name)

    def take(self) -> Packet:
        """What was merged since, after the file got it."""
        packet = self._outflow.take()
        if packet:
            if self._file is not None and self.recorder is not None:
                if self.recorder.stopped:
                    self._file = None
                else:
                    self._file.take(packet)
            self.latest.take(packet)
        return packet


def refuse_existing(path: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError where a file is there that may not be replaced."""
    if Path(path).is_file() and not overwrite:
        raise UsageError(
            f"recording to {path}: it exists already; give overwrite=True to replace "
            "it, or another name"
        )


def open_recorder(
    path: str | Path,
    *,
    overwrite: bool,
    tell: Callable[[str], None],
    process: int | None = None,
) -> Recorder:
    """Open the file; raises UsageError or WriteError.

    Parameters
    ----------
    process
        Whose run it is, if not this one's.
    """
    refuse_existing(path, overwrite=overwrite)
    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.labelled.recorder import Recorder

    return Recorder(path, r.Identity(), overwrite=overwrite, tell=tell, process=process)


def _nothing() -> None:
    pass
