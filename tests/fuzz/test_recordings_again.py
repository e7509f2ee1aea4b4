"""A hundred more damaged recordings: of a file of its own, for another worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.test_recordings import expect_recordings_or_one_line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(900)  # minutes on a busy machine
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each file")
def test_more_damaged_recordings_come_out_as_recordings_or_as_one_line(
    tmp_path: Path,
) -> None:
    expect_recordings_or_one_line(tmp_path, seed=8)
