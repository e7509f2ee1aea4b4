"""Each test has its own runtime folder, and leaves no tap, thread or process behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.core.tap import support

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from support.alone(tmp_path, monkeypatch)
