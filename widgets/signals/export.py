"""Writing a plotted range in a thread of its own, so that the window goes on."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from isoscope.core.errors import IsoscopeError
from isoscope.core.export_csv import export_csv
from isoscope.widgets.session import Message

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording
    from isoscope.widgets.session import FieldRef
    from isoscope.widgets.signals.span import Span


class Exporter(QObject):
    """Writes CSV files; `done` gives a Message, in the GUI's thread."""

    done = Signal(object)

    def start(
        self, path: str, recording: Recording, refs: list[FieldRef], span: Span
    ) -> None:
        """Begin to write the rows in view."""
        work = (path, recording, list(refs), span.first, span.stop)
        Thread(target=self._write, args=work, name="csv", daemon=True).start()

    def _write(
        self,
        path: str,
        recording: Recording,
        refs: list[FieldRef],
        start: int,
        stop: int,
    ) -> None:
        try:
            written = export_csv(path, recording, refs, start, stop)
        except IsoscopeError as error:
            self.done.emit(Message("error", str(error)))
            return
        odd = (
            f" {written.odd} values of another dtype or shape were left out."
            if written.odd
            else ""
        )
        self.done.emit(
            Message(
                "note",
                f"Wrote {written.rows:,} rows and {written.columns} columns to "
                f"{Path(path).name}.{odd}",
                str(path),
            )
        )
