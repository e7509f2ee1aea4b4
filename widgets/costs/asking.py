"""Asks for costs in a thread, so that a large recording holds nothing up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Qt, Signal

from isoscope.core.costs.model import CostModel
from isoscope.core.errors import IsoscopeError

if TYPE_CHECKING:
    from isoscope.core.costs.report import CostReport, Window
    from isoscope.widgets.session import Document


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What came out: a report, or why there is none."""

    number: int
    report: CostReport | None
    error: str = ""


class Asker(QObject):
    """One question at a time; an answer to an older one is dropped."""

    answered = Signal(object)  # CostReport, or str: why there is none
    _done = Signal(object)  # Answer

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="costs")
        self._models: WeakKeyDictionary[Document, CostModel] = WeakKeyDictionary()
        self._number = 0
        self._open = 0  # questions that are not answered
        self._closed = False
        self._done.connect(self._take, Qt.ConnectionType.QueuedConnection)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._open > 0

    def ask(self, document: Document, window: Window) -> None:
        """Ask for the costs of a labelled document; `answered` tells."""
        labelled = document.recording.labelled
        if labelled is None or self._closed:
            return
        model = self._models.get(document)
        if model is None:
            model = self._models[document] = CostModel(labelled)
        self._number += 1
        self._open += 1
        self._threads.submit(self._work, self._number, model, window)

    def forget(self) -> None:
        """Drop whatever is still to come."""
        self._number += 1

    def close(self) -> None:
        """Ask no more."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _work(self, number: int, model: CostModel, window: Window) -> None:
        report, error = None, ""
        try:
            model.update()
            report = model.report(window)
        except IsoscopeError as problem:
            error = str(problem)
        except Exception as problem:  # noqa: BLE001 a thread's error would be lost
            error = f"working out the costs: {type(problem).__name__}: {problem}"
        # The window may be gone by now.
        with suppress(RuntimeError):
            self._done.emit(Answer(number, report, error))

    def _take(self, answer: Answer) -> None:
        self._open -= 1
        if answer.number == self._number and not self._closed:
            self.answered.emit(answer.error if answer.report is None else answer.report)
