"""What the tests of the channels share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Background:
    """Runs functions in threads and keeps what they gave or raised."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self.problems: list[BaseException] = []

    def __call__(self, work: Callable[..., Any], *args: Any) -> None:
        def run() -> None:
            try:
                work(*args)
            except Exception as error:  # noqa: BLE001 raised again by the test
                self.problems.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout_s: float = 20.0) -> None:
        """Wait for all of them, and raise the first problem."""
        for thread in self._threads:
            thread.join(timeout_s)
            assert not thread.is_alive(), "a thread did not come to its end"
        if self.problems:
            raise self.problems[0]


@pytest.fixture
def background() -> Iterator[Background]:
    """Start threads that have to be over when the test is."""
    threads = Background()
    yield threads
    for thread in threads._threads:
        thread.join(5.0)
        assert not thread.is_alive(), "a thread did not come to its end"
