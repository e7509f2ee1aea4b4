"""How long an export to LeRobot takes: against lerobot's own writer, and plain Parquet.

What is measured validates, writes, reads back and compares. lerobot is in an
environment of its own, whose interpreter the variable ISOSCOPE_LEROBOT_PYTHON names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.bench.export_load import FEATURES, Load
from isoscope.app.bench.export_memory import peak
from isoscope.core.bench import FEWEST, interleave, ratio
from isoscope.core.dataset.exporters.plan import window_rows
from isoscope.core.dataset.exporters.run import export
from isoscope.core.errors import ReadError, one_line

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

EPISODES, LENGTH = 100, 500
SETTING = "ISOSCOPE_LEROBOT_PYTHON"
WRITER = Path(__file__).with_name("lerobot_writer.py")
TIMEOUT_S = 1800.0
FEW, MANY = 2, 20  # windows
MEASURED = ("lerobot", "robomimic")


def run(rounds: int = FEWEST) -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Returns
    -------
    dict
        ``ratio_lerobot``: lerobot's time over ours for 50,000 frames, None where there
        is no lerobot; ``ratio_parquet``: ours over writing and reading the same columns
        with pyarrow; ``ratio_memory``: peak for a source of 20 windows over that of 2,
        the worst of two formats; and the seconds and bytes of every side.
    """
    source = Load(EPISODES, LENGTH)
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as name:
        folder = Path(name)
        target = folder / "ours"
        export(source, "lerobot", target)
        columns = _columns(target)
        sides = {
            "ours": lambda: _ours(source, target),
            "parquet": lambda: _plain(columns, folder / "plain.parquet"),
        }
        measured = interleave(sides, rounds)
        theirs = _lerobot(source, folder)
    few, many = _memory()
    ours = measured["ours"].median_s
    return {
        "runs": rounds,
        "ratio_lerobot": None if theirs is None else theirs / ours,
        "ratio_parquet": ratio(ours, measured["parquet"].median_s),
        "ratio_memory": max(
            (m / f for f, m in zip(few, many, strict=True) if f and m), default=None
        ),
        "ours_s": ours,
        "parquet_s": measured["parquet"].median_s,
        "lerobot_s": theirs,
        "memory_few_bytes": few,
        "memory_many_bytes": many,
    }


def _ours(source: Load, target: Path) -> None:
    shutil.rmtree(target)
    export(source, "lerobot", target)


def _columns(target: Path) -> Any:
    """What the export wrote, as a table in memory."""
    import pyarrow.parquet as pq

    (path,) = (target / "data").rglob("*.parquet")
    return pq.read_table(path)


def _plain(table: Any, path: Path) -> None:
    """Write and read the same columns, in the same row groups."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, table.schema, compression="snappy") as writer:
        for at in range(0, len(table), LENGTH):
            writer.write_table(table.slice(at, LENGTH))
    pq.read_table(path, use_threads=False)


def _lerobot(source: Load, folder: Path) -> float | None:
    """Seconds that lerobot's own writer takes; None where there is none.

    Raises
    ------
    ReadError
        If the setting names an interpreter that can't do it.
    """
    python = os.environ.get(SETTING)
    if not python:
        return None
    columns: dict[str, Array] = {}
    names = {
        "observation": "observation.state",
        "action": "action",
        "reward": "next.reward",
        "terminated": "next.done",
    }
    for feature in source.features:
        values = np.concatenate([source.read(e, feature.name) for e in range(EPISODES)])
        columns[names[feature.name]] = values.reshape(len(values), -1)
    frames = folder / "frames.npz"
    np.savez(frames, lengths=np.full(EPISODES, LENGTH), **columns)  # type: ignore[arg-type]
    done = subprocess.run(
        [python, str(WRITER), str(frames), str(folder / "theirs")],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")},
    )
    if done.returncode:
        told = one_line(done.stderr[-300:])
        raise ReadError("writing with lerobot", python, told, remedy=f"see {SETTING}")
    return float(done.stdout.split()[-1])


def _memory() -> tuple[list[int | None], list[int | None]]:
    window = window_rows(FEATURES)
    few = [peak(format, FEW * window) for format in MEASURED]
    many = [peak(format, MANY * window) for format in MEASURED]
    return few, many
