"""How long attribution takes: against indexing, and with more environments.

The file is generated: environments in a random order of turns, noise in their starts.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.bench.event_file import write_run
from isoscope.app.bench.shared_run import SharedRun, generate
from isoscope.core.attribution.attributor import Attributor
from isoscope.core.bench import FEWEST, interleave, ratio
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.superdex.reader import EventSource

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.recording.model import Recording

STEPS = 100_000
ENVS = 64
FEW, MANY = 10, 1000


def run(steps: int = STEPS, rounds: int = FEWEST) -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Parameters
    ----------
    steps
        Native steps of each generated run, at least.
    rounds
        Measured rounds.

    Returns
    -------
    dict
        ``ratio_index``: attributing a run of 64 environments over indexing its file;
        ``ratio_envs``: time a native step with 1,000 environments over that with 10;
        ``wrong``: native steps of the first run that were not given back rightly;
        ``findings``: what the audit of it finds; and the seconds of every side.
    """
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        path = Path(folder) / "shared.h5"
        made = generate(ENVS, steps, order="random", seed=1)
        write_run(made, path)
        recording = _index(path)
        sides = {
            "index": lambda: _index(path),
            "attribute": lambda: _attribute(recording),
        }
        against = interleave(sides, rounds)
        result = _attribute(recording)
        findings = audit(Context(Examined(recording, result))).findings
        size = path.stat().st_size
    few = generate(FEW, steps, order="random", seed=2).recording()
    many = generate(MANY, steps, order="random", seed=3).recording()
    envs = interleave(
        {"few": lambda: _attribute(few), "many": lambda: _attribute(many)}, rounds
    )
    few_us = envs["few"].median_s / len(few) * 1e6
    many_us = envs["many"].median_s / len(many) * 1e6
    return {
        "runs": rounds,
        "ratio_index": ratio(against["attribute"].median_s, against["index"].median_s),
        "ratio_envs": ratio(many_us, few_us),
        "wrong": _wrong(made, result),
        "findings": len(findings),
        "steps": len(recording),
        "file_bytes": size,
        "index_s": against["index"].median_s,
        "attribute_s": against["attribute"].median_s,
        "us_per_step_10_envs": few_us,
        "us_per_step_1000_envs": many_us,
    }


def _index(path: Path) -> Recording:
    """Open a file and index all of it."""
    gc.collect()
    source = EventSource(path)
    try:
        source.index()
    finally:
        source.close()
    return source.recording


def _attribute(recording: Recording) -> Attribution:
    """Attribute all of a recording."""
    gc.collect()
    attributor = Attributor(recording)
    attributor.update()
    return attributor.result()


def _wrong(made: SharedRun, found: Attribution) -> int:
    """Native steps that have another label than the truth."""
    truth, labels = made.truth, found.labels
    same = np.ones(len(made), np.bool_)
    for name in ("env", "episode", "control_step", "substep", "kind"):
        same &= getattr(truth, name) == getattr(labels, name)
    return int(np.count_nonzero(~same))
