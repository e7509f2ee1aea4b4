"""Runs that can be watched, in words; no Qt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from isoscope.core.summary import duration

if TYPE_CHECKING:
    from isoscope.core.tap.runtime import Run


def about_run(run: Run) -> str:
    """Which process, since when, whether it records."""
    since_s = time.time() - run.began_ns / 1e9 if run.began_ns else float("nan")
    parts = [f"process {run.process}"] if run.process >= 0 else []
    if since_s >= 0:
        parts.append(f"for {duration(since_s)}")
    if run.record:
        parts.append("recording")
    return " · ".join(parts)
