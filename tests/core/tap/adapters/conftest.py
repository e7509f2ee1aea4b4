"""A session that records to a file, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load
from isoscope.core.tap.api import tap_with
from isoscope.core.tap.session import TapSession

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.recording.labelled.labelled import Labelled
    from isoscope.core.recording.model import Recording


@pytest.fixture(autouse=True)
def alone() -> None:
    """Here the real adapters are what is tested."""


class Tap:
    """A tap without a hub: its session's records go straight to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session = TapSession(name="test", snapshots_every=5)
        self.file = Recorder(path, r.Identity())
        self.session.recorder = self.file

    def attach(self, env: Any, index: int | None = None) -> Any:
        """The environment, watched."""
        return tap_with(self.session, env, index)

    def recording(self) -> Recording:
        """What was recorded. The tap must have stayed on until now."""
        assert self.session.why_off == ""
        self.file.close()
        found = load(self.path)
        assert found.problems == []
        return found

    def labelled(self) -> Labelled:
        """What only a labelled recording holds."""
        found = self.recording().labelled
        assert found is not None
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Tap]:
    """A tap."""
    made = Tap(tmp_path / "run.isoscope.h5")
    yield made
    made.file.close()
    made.session.close()  # else environments go on timing themselves for it
