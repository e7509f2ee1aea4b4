"""How long the audit of a recording takes, and what auditing a live run costs that.

Reading a labelled recording once and auditing it both begin with the closed file.
Reading it once is to open it, take in its steps, and have every value of every table
and field in memory. The audit is what `isoscope audit` does: open, attribute, run all
checks.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import Any

from isoscope.app.bench.labelled_run import record_run
from isoscope.app.bench.shared_run import generate
from isoscope.core.attribution.attributor import attribute
from isoscope.core.bench import FEWEST, interleave, ratio
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.registry import load

STEPS = 50_000
ENVS = 64
PHASES = 12  # of a live run, with the audit off and on in turn
TABLES = (
    *("native", "transitions", "resets", "events", "snapshots"),
    *("changes", "failures", "profile", "streams"),
)


def run(
    steps: int = STEPS, rounds: int = FEWEST, phases: int = PHASES
) -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Parameters
    ----------
    steps
        Native steps of the generated run, at least.
    rounds
        Measured rounds.
    phases
        Of a live run, with the audit on and off in turn; 0 for none.

    Returns
    -------
    dict
        ``ratio_read``: the audit's time over that of reading the file once; what of it
        is attribution and what checks; ``findings`` of the audit, of which there are
        none to find; ``not_run``; and the seconds of every side. With phases, what
        `isoscope.app.bench.audit_live` says of a live run.
    """
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        path = Path(folder) / "run.isoscope.h5"
        record_run(generate(ENVS, steps, order="random", seed=1), path)
        recording = load(path)
        examined = Examined(recording, attribute(recording))
        said = audit(Context(examined))
        sides = {
            "read": lambda: read(path),
            "audit": lambda: audit_file(path),
            "attribute": lambda: attribute(load(path), margins=False),
        }
        took = interleave(sides, rounds)
        size = path.stat().st_size
    return {
        "runs": rounds,
        "ratio_read": ratio(took["audit"].median_s, took["read"].median_s),
        "findings": len(said.findings),
        "not_run": len(said.not_run),
        "checks": len(said.checks),
        "steps": len(recording),
        "file_bytes": size,
        "read_s": took["read"].median_s,
        "audit_s": took["audit"].median_s,
        "open_and_attribute_s": took["attribute"].median_s,
        **(_live(phases) if phases else {}),
    }


def _live(phases: int) -> dict[str, Any]:
    from isoscope.app.bench.audit_live import run as run_live  # which simulates

    return run_live(phases)


def read(path: Path) -> int:
    """Read all there is in a labelled recording; returns its bytes in memory."""
    gc.collect()
    source = LabelledSource(path)
    try:
        source.index()
        labelled, held = source.labelled, 0
        for table in TABLES:
            if labelled.count(table):
                held += sum(c.nbytes for c in labelled.columns(table).values())
        for key, track in labelled.fields.items():
            held += track.read(0, labelled.count(key.over)).values.nbytes
        return held
    finally:
        source.close()


def audit_file(path: Path) -> int:
    """Audit a recording; returns how many findings it has."""
    gc.collect()
    recording = load(path)
    found = attribute(recording, margins=False)
    return len(audit(Context(Examined(recording, found))).findings)
