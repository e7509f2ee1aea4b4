"""Tells a demo's recording what no single environment knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters import run as runs

if TYPE_CHECKING:
    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.tap.session import TapSession


def identify(session: TapSession, settings: DemoSettings) -> None:
    """Tell the autoreset mode, P and K."""
    workers = max(settings.workers, 1)
    told = r.Identity(
        autoreset_mode=settings.autoreset,
        processes=workers,
        environments_per_process=settings.envs // workers,
    )
    runs.of(session).learn("demo", told)
