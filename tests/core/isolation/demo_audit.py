"""Runs a demo with the tap around every environment, and audits what it recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.core import tap
from isoscope.core.attribution.attributor import attribute
from isoscope.core.envs.faults.order import parse_order
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.findings import Audit


def audited(folder: Path, fault: str = "", **more: Any) -> tuple[Audit, dict[str, Any]]:
    """What the audit of such a run says, and how many rows it had.

    Parameters
    ----------
    fault
        An order for one, empty for a clean run.
    more
        Of `DemoSettings`, besides what suits a short run.
    """
    path = folder / "run.isoscope.h5"
    settings = DemoSettings(
        **{
            "envs": 3,
            "steps": 12,
            "faults": (parse_order(fault),) if fault else (),
            "device": "cpu",
            "task_settings": {"max_steps": 4},
        }
        | more
    )

    def around(make: Any, number: int) -> Any:
        if hasattr(make, "step"):
            return tap.attach(make, record=path, index=number)
        return tap.factory(make, record=path, index=number)

    try:
        with DemoRun(settings, around) as run:
            run.run()
            demo = run.result() if hasattr(run, "result") else None
    finally:
        tap.detach()
    assert demo is None or not run.problems
    recording = load(path)
    said = audit(Context(Examined(recording, attribute(recording))))
    return said, {"rows": len(recording)}
