"""Workers that don't import pytest: spawning imports the main module, each time."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def light_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)
