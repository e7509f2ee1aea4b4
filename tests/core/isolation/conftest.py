"""What is audited here is recorded without a process that writes the file."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def written_here(no_keeper: None) -> None:
    """Save a process for each of hundreds of short runs."""
