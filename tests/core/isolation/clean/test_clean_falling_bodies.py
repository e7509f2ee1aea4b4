"""Nothing is found in clean runs of FallingBodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.isolation.clean.runs import expect_nothing, runs_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("run", runs_of("FallingBodies"))
def test_nothing_is_found(tmp_path: Path, run: dict[str, Any]) -> None:
    expect_nothing(tmp_path, run)
