"""A NEXT_STEP reset row is no transition: left out, and told, by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from isoscope.core.dataset.readers.registry import open_episodes
from tests.app.cli import as_json
from tests.data.recipe.make_autoreset import TABLES
from tests.trial.vector_runs import counting, golden, record

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "data" / "gymnasium_autoreset.json").read_text("utf-8")
)


def test_lengths_two_and_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "run.isoscope.h5", tmp_path / "data.hdf5"
    actions = np.linspace(-0.9, 0.9, 10, dtype=np.float32).reshape(5, 2, 1)
    record(path, counting([2, 3], AutoresetMode.NEXT_STEP), 5, actions.__getitem__)
    found = as_json(
        capsys, "export", str(path), "--format", "robomimic", "--out", str(out)
    )
    # 5 + 5 raw rows: env 0 ends at 2, resets, then 2 more; env 1 ends at 3, resets, 1.
    assert found["transitions"] == 8
    assert found["read_back"] == "equal"
    dropped = {one["why"]: one["count"] for one in found["dropped"]}
    # The two first resets are rows of the tap's table as well.
    assert sum(dropped.values()) == 2 + 2
    written = open_episodes(out)
    rewards = {
        (e.env, e.number): written.read(e.index, "rewards").tolist()
        for e in written.episodes
    }
    assert rewards == {
        (0, 1): [1.0, 2.0],
        (0, 2): [1.0, 2.0],
        (1, 1): [1.0, 2.0, 3.0],
        (1, 2): [1.0],
    }
    for episode in written.episodes:
        name = next(f.name for f in written.features if f.role == "observation")
        seen = written.read(episode.index, name)
        # o_k and o_k+1 are of the same episode, and the final one is there.
        assert (seen[:, 0] == episode.number).all()
        assert seen[:, 1].tolist() == list(range(episode.length + 1))
    written.close()


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda m: m.name)
@pytest.mark.parametrize("table", TABLES)
def test_the_golden_table(
    table: str,
    mode: AutoresetMode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.isoscope.h5"
    golden(path, table, mode)
    exports_golden(path, table, mode, capsys)


def exports_golden(
    path: Path, table: str, mode: AutoresetMode, capsys: pytest.CaptureFixture[str]
) -> None:
    """Assert that the command exports the true transitions, no more, no less."""
    out = path.with_name(f"{path.name}.shards")
    found = as_json(
        capsys, "export", str(path), "--format", "shards", "--out", str(out)
    )
    told = GOLDEN[table][mode.value]
    true = true_rows(told["steps"] if isinstance(told, dict) else told)
    assert found["transitions"] == sum(len(rows) for rows in true.values())
    written = open_episodes(out)
    assert rows_of(written) == true
    written.close()


def true_rows(events: list[dict[str, Any]]) -> dict[int, list[tuple[Any, ...]]]:
    """The golden table's transitions of each environment, in order."""
    out: dict[int, list[tuple[Any, ...]]] = {0: [], 1: []}
    for event in events:
        for env in (0, 1) if event["event"] == "step" else ():
            if event["valid"][env]:
                out[env].append(
                    (
                        tuple(event["prev_obs"][env]),
                        event["action"][env],
                        event["reward"][env],
                        tuple(event["true_next_obs"][env]),
                        event["terminated"][env],
                        event["truncated"][env],
                    )
                )
    return out


def rows_of(written: Episodes) -> dict[int, list[tuple[Any, ...]]]:
    """A dataset's transitions in the same form; float32 are exact as float64."""
    named = {f.role: f.name for f in written.features}
    out: dict[int, list[tuple[Any, ...]]] = {0: [], 1: []}
    for episode in written.episodes:
        columns = {
            role: written.read(episode.index, named[role])
            for role in ("observation", "action", "reward", "terminated", "truncated")
        }
        seen = columns["observation"].astype(np.float64).tolist()
        assert episode.env is not None
        for k in range(episode.length):
            out[episode.env].append(
                (
                    tuple(seen[k]),
                    int(columns["action"].reshape(-1)[k]),
                    float(columns["reward"][k]),
                    tuple(seen[k + 1]),
                    bool(columns["terminated"][k]),
                    bool(columns["truncated"][k]),
                )
            )
    return out
