"""What a window or a command line needs to name chunks doesn't bring torch along."""

from __future__ import annotations

import subprocess
import sys

LIGHT = ("keys", "events", "pending", "fields", "plan", "settings", "errors")


def test_names_events_and_reports_come_without_torch() -> None:
    names = [f"isoscope.core.trajectory.{name}" for name in LIGHT]
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "from isoscope.core.trajectory import TrajectoryKey, declare\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "False", done.stderr
