"""What nobody expected: logged with its traceback, told in one line, survived."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

from isoscope.app.folders import log_dir
from isoscope.core.errors import IsoscopeError, one_line

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from isoscope.widgets.session import Session

log = logging.getLogger("isoscope")
LOG_BYTES, LOG_FILES = 1_000_000, 3
SHORT = 200  # characters of an unexpected error's text in the bar


def log_file() -> Path:
    """Where the log is written."""
    return log_dir() / "isoscope.log"


def start_log() -> logging.Handler | None:
    """Write warnings and worse to the log file; None where it can't be written."""
    path = log_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            path, maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1, encoding="utf-8"
        )
    except OSError:
        return None  # a read-only home is no reason not to start
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    handler.setLevel(logging.WARNING)
    log.addHandler(handler)
    return handler


class CrashNet(QObject):
    """Catches what is raised out of slots and threads while it is installed.

    Qt calls back into Python and can't pass an exception on, so an error in a slot
    would only be printed. Here it becomes a line in the message bar, with the whole
    traceback to unfold and to copy, and a record in the log.
    """

    caught = Signal(str, str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._before = (sys.excepthook, threading.excepthook)
        self._log: logging.Handler | None = None
        self.caught.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        """Begin to catch and to log."""
        self._log = start_log()
        self._before = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._on_error
        threading.excepthook = self._on_thread_error

    def remove(self) -> None:
        """Put back what was there before."""
        sys.excepthook, threading.excepthook = self._before
        if self._log is not None:
            log.removeHandler(self._log)
            self._log.close()

    def _on_thread_error(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_error(args.exc_type, args.exc_value, args.exc_traceback)

    def _on_error(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt | SystemExit):
            self._before[0](kind, error, trace)
            return
        text, details = describe(error)
        log.error("%s\n%s", text, details)
        # From whichever thread; and not now, since a paint may be under way.
        self.caught.emit(text, details)

    @Slot(str, str)
    def _tell(self, text: str, details: str) -> None:
        self._session.say("error", text, details)


def describe(error: BaseException) -> tuple[str, str]:
    """One line for the bar, and the whole story to unfold."""
    details = "".join(traceback.format_exception(error))
    # An emitter wraps what its observer raised; what was raised is what tells.
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, IsoscopeError):
        return str(error), details
    what = one_line(error)[:SHORT]
    kind = type(error).__name__
    return (
        f"Something unexpected went wrong ({kind}: {what}); it is in the log",
        details,
    )
