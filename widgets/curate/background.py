"""Work of a panel in a thread: of questions of one kind only the last is answered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal

from isoscope.core.errors import IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    kind: str
    number: int
    then: Callable[[Any], None]
    failed: Callable[[str], None]
    value: Any = None
    error: str = ""


class Background(QObject):
    """Asks in one thread, and tells the answers in the GUI thread."""

    _done = Signal(object)

    def __init__(self, parent: QObject, name: str) -> None:
        super().__init__(parent)
        self._name = name
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._numbers: dict[str, int] = {}
        self._open = 0
        self._closed = False
        self._done.connect(self._take, Qt.ConnectionType.QueuedConnection)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._open > 0

    def ask(
        self,
        kind: str,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[str], None],
    ) -> None:
        """Have `work` done in the thread; one of the others hears of it.

        Neither does if something of the same kind was asked by then, or `forget` was
        called.
        """
        if self._closed:
            return
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        self._open += 1
        self._threads.submit(self._work, work, _Answer(kind, number, then, failed))

    def forget(self) -> None:
        """Drop whatever is still to come."""
        self._numbers = {kind: number + 1 for kind, number in self._numbers.items()}

    def close(self) -> None:
        """Ask no more, and wait for what runs."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _work(self, work: Callable[[], Any], answer: _Answer) -> None:
        value, error = None, ""
        # What nobody asks any more by the time that it is its turn is left out.
        if self._numbers.get(answer.kind) == answer.number:
            try:
                value = work()
            except IsoscopeError as problem:
                error = str(problem)
            except Exception as problem:  # noqa: BLE001 a thread's error would be lost
                error = f"{self._name}: {type(problem).__name__}: {problem}"
        # The window may be gone by now.
        with suppress(RuntimeError):
            self._done.emit(
                _Answer(
                    answer.kind,
                    answer.number,
                    answer.then,
                    answer.failed,
                    value,
                    error,
                )
            )

    def _take(self, answer: _Answer) -> None:
        self._open -= 1
        if self._closed or self._numbers.get(answer.kind) != answer.number:
            return
        if answer.error:
            answer.failed(answer.error)
        else:
            answer.then(answer.value)
