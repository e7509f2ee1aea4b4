"""Reject, export, a bad index, undo: contiguous numbers, true statistics, no trace."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from isoscope.app.datasets import open_dataset
from isoscope.core.dataset.curate.edits import Judge
from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import UsageError
from tests.app.cli import as_json, refused
from tests.trial.vector_runs import counting, record

ROOT = Path(__file__).parents[2]
if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five episodes of one environment, of 4 control steps each."""
    path = tmp_path_factory.mktemp("case13") / "five.isoscope.h5"
    rng = np.random.default_rng(3)
    record(
        path,
        counting([4], AutoresetMode.SAME_STEP),
        20,
        lambda _: rng.uniform(-1, 1, (1, 1)).astype(np.float32),
    )
    return path


def marked(source: Path, where: Path) -> Workspace:
    """A workspace in which episodes 1 and 3 are rejected."""
    episodes = open_dataset(source).episodes
    ids = [episodes.episodes[at].id for at in (1, 3)]
    made = Workspace(episodes, where)
    made.make(Judge(tuple(ids[:1]), "rejected", "it slipped"))
    made.make(Judge(tuple(ids[1:]), "rejected"))
    return made


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def flat(told: Any) -> list[float]:
    return [float(x) for x in np.asarray(told).reshape(-1)]


def test_reject_export_bad_index_undo(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = digest(source)
    workspace = tmp_path / "marks.jsonl"
    made = marked(source, workspace)
    out = tmp_path / "data"
    found = as_json(
        capsys,
        *("export", str(source), "--workspace", str(workspace)),
        *("--format", "lerobot", "--fps", "25", "--out", str(out)),
    )
    assert (found["episodes"], found["transitions"]) == (3, 12)
    assert {"why": "transitions of rejected episodes", "count": 8} in found["dropped"]
    assert as_json(capsys, "manifest", "show", str(out))["source"]["sha256"] == before

    # indices are contiguous, old ids are told, statistics are those of what is there
    written = open_episodes(out)
    assert [e.index for e in written.episodes] == [0, 1, 2]
    assert [e.number for e in written.episodes] == [1, 3, 5]
    for key, from_scratch in columns(written).items():
        told = json.loads((out / "meta" / "stats.json").read_text())[key]
        assert flat(told["min"]) == flat(from_scratch.min(axis=0))
        assert flat(told["max"]) == flat(from_scratch.max(axis=0))
        assert flat(told["count"]) == [12.0]
        np.testing.assert_allclose(flat(told["mean"]), flat(from_scratch.mean(axis=0)))
        np.testing.assert_allclose(flat(told["std"]), flat(from_scratch.std(axis=0)))
    written.close()
    manifest = as_json(capsys, "manifest", "show", str(out))
    assert [e["id"] for e in manifest["episodes"]] == [
        "env0-ep1",
        "env0-ep3",
        "env0-ep5",
    ]
    assert [e["index"] for e in manifest["episodes"]] == [0, 1, 2]
    assert [e["edit"] for e in manifest["edits"]] == ["judge", "judge"]
    assert manifest["edits"][0]["why"] == "it slipped"

    # a bad index is refused, and nothing changes
    files = {p: digest(p) for p in sorted(out.rglob("*")) if p.is_file()}
    said = refused(
        capsys,
        *("export", str(source), "--episodes", "0,14", "--overwrite"),
        *("--format", "lerobot", "--fps", "25", "--out", str(out)),
    )
    assert "'14' is not there; there are 5, from 0 to 4" in said
    with pytest.raises(UsageError):
        made.make(Judge(("env0-ep15",), "rejected"))
    assert {p: digest(p) for p in sorted(out.rglob("*")) if p.is_file()} == files

    # undo takes the marks back, also for whoever opens the workspace next
    made.undo()
    made.undo()
    assert all(item.verdict is None for item in made.choice.items)
    everything = as_json(
        capsys,
        *("export", str(source), "--workspace", str(workspace)),
        *("--format", "shards", "--out", str(tmp_path / "all")),
    )
    assert everything["episodes"] == 5
    made.redo()
    assert [i.verdict for i in made.choice.items].count("rejected") == 1
    assert digest(source) == before


def columns(written: Episodes) -> dict[str, Any]:
    """Numbers of all frames by name, from the data that is there."""
    names = [f.name for f in written.features if f.role in ("action", "observation")]
    assert names
    count = range(len(written.episodes))
    return {
        name: np.concatenate(
            [written.read(k, name)[: written.episodes[k].length] for k in count]
        ).astype(np.float64)
        for name in names
    }


@pytest.mark.parametrize("wait_s", [0.0, 0.2])
def test_killed_it_leaves_the_old_or_the_new_one(
    wait_s: float, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    command = ["export", str(source), "--format", "shards", "--out", str(out)]
    as_json(capsys, *command, "--episodes", "0")
    old = as_json(capsys, "validate", str(out))["transitions"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "isoscope.app", *command, "--overwrite"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # until it begins to write, or has ended
    while process.poll() is None and not list(tmp_path.glob(".data.*")):
        time.sleep(0.002)
    time.sleep(wait_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = as_json(capsys, "validate", str(out))
    assert found["blocking"] is False
    assert found["transitions"] in (old, 20)
    manifest = as_json(capsys, "manifest", "show", str(out))
    assert manifest["transitions"] == found["transitions"]
