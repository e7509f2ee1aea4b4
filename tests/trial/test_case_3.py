"""A time-out is not a death: two flags, both kept, and neither made up at the end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.core.dataset.readers.registry import open_episodes
from tests.app.cli import as_json
from tests.trial.vector_runs import Counting, record

if TYPE_CHECKING:
    from pathlib import Path

# truncated at 10; its twin that is terminated; both; neither, the recording just ends
TWINS = {(False, True): 10, (True, False): 10, (True, True): 10, (False, False): 10}


@pytest.mark.parametrize(
    "format", ["lerobot", "robomimic", "maniskill", "shards", "isoscope"]
)
def test_two_flags(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.isoscope.h5"
    out = tmp_path / ("out.isoscope.h5" if format == "isoscope" else "out")
    env = SyncVectorEnv(
        [partial(Counting, length, ends) for ends, length in TWINS.items()],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    rng = np.random.default_rng(0)
    record(path, env, 10, lambda _: rng.uniform(-1, 1, (4, 1)).astype(np.float32))
    checked = as_json(capsys, "validate", str(path))
    assert checked["blocking"] is False
    (rule,) = [r for r in checked["rules"] if r["id"] == "incomplete"]
    assert (rule["answer"], rule["severity"]) == ("failed", "warning")
    assert [w["env"] for w in rule["where"]] == [3]
    found = as_json(
        capsys,
        *("export", str(path), "--format", format, "--out", str(out)),
        *(() if format != "lerobot" else ("--fps", "25")),
    )
    assert (found["episodes"], found["transitions"]) == (4, 40)
    again = as_json(capsys, "validate", str(out))
    for line, (terminated, truncated) in zip(again["episodes"], TWINS, strict=True):
        assert line["length"] == 10
        assert (line["terminated"], line["truncated"]) == (terminated, truncated)
        assert line["complete"] == (terminated or truncated)
    manifest = as_json(capsys, "manifest", "show", found["manifest"])
    told = [(e["terminated"], e["truncated"]) for e in manifest["episodes"]]
    assert told == list(TWINS)


def test_flags_are_in_the_last_row_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "run.isoscope.h5", tmp_path / "out"
    env = SyncVectorEnv(
        [partial(Counting, 4, ends) for ends in TWINS],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    rng = np.random.default_rng(0)
    record(path, env, 4, lambda _: rng.uniform(-1, 1, (4, 1)).astype(np.float32))
    as_json(capsys, "export", str(path), "--format", "shards", "--out", str(out))
    written = open_episodes(out)
    for episode, flags in zip(written.episodes, TWINS, strict=True):
        for role, flag in zip(("terminated", "truncated"), flags, strict=True):
            name = next(f.name for f in written.features if f.role == role)
            assert written.read(episode.index, name).tolist() == [False] * 3 + [flag]
    written.close()
