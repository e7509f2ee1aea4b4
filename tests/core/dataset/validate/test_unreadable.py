"""What can't be read is told with its place, and the rest is validated all the same."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.dataset.validate.rules import readable
from isoscope.core.dataset.validate.run import validate
from isoscope.core.errors import ReadError
from tests.core.dataset.made import FEATURES, made
from tests.core.dataset.readers import foreign
from tests.core.dataset.validate.test_stored_rules import shards, trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.validate.report import Report, RuleResult

SECOND = "shard-0-000001.safetensors"


def validated(path: Path) -> tuple[Report, dict[str, RuleResult]]:
    found = open_episodes(path)
    try:
        report = validate(found)
    finally:
        found.close()
    return report, {rule.id: rule for rule in report.rules}


def test_all_of_it_can_be_read(tmp_path: Path) -> None:
    path = export(made((7, 3), plain=True), "shards", tmp_path / "a").path
    assert validated(path)[1]["readable"].answer == "passed"


def test_a_shard_that_was_changed_is_told_and_the_others_are_checked(
    tmp_path: Path,
) -> None:
    path = export(made((7, 3, 5, 4), FEATURES, plain=True), "shards", tmp_path / "a")
    shards_there = sorted(path.path.glob("*.safetensors"))
    for changed in shards_there[1:3]:
        content = bytearray(changed.read_bytes())
        content[-1] ^= 1
        changed.write_bytes(content)
    report, rules = validated(path.path)
    features = len(open_episodes(path.path).features)
    found = rules["readable"]
    assert (found.answer, found.severity, found.count) == ("failed", "error", 28 - 6)
    assert found.count == 2 * features
    assert {where.episode for where in found.where} == {"e1/../1", "e2/../2"}
    assert all("hash" in where.value for where in found.where)
    assert report.blocking
    assert [line.length for line in report.episodes] == [7, 3, 5, 4]
    assert [line.return_ is None for line in report.episodes] == [
        False,
        True,
        True,
        False,
    ]
    # Nothing was seen of either: they are no copies of each other, nor too short.
    for key in ("lengths", "duplicates", "finite", "ends", "trajectory-alignment"):
        assert rules[key].answer == "passed", rules[key]


def add_shard(root: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> None:
    """Add a second shard as the first is there."""
    content = save({k: np.ascontiguousarray(v) for k, v in tensors.items()})
    (root / SECOND).write_bytes(content)
    told = json.loads((root / "manifest.json").read_text())
    told["shards"].append(
        {
            "file": SECOND,
            "sha256": hashlib.sha256(content).hexdigest(),
            "tensors": {k: [str(v.dtype), v.shape] for k, v in tensors.items()},
        }
    )
    (root / "manifest.json").write_text(json.dumps(told))


def test_a_later_shard_that_is_not_aligned(tmp_path: Path) -> None:
    root = shards(tmp_path / "run", trajectory(2, slots=1))
    tensors = trajectory(2, slots=1)
    tensors["dones"] = tensors["dones"][:-1]  # T + 1 where there are two epochs
    steps = len(tensors["actions"])
    tensors["rewards"] = tensors["rewards"][: steps - 2]
    add_shard(root, tensors)
    report, rules = validated(root)
    aligned = rules["trajectory-alignment"]
    assert aligned.answer == "failed"
    assert {where.feature for where in aligned.where} >= {"dones", "rewards"}
    assert {str(w.episode).split("/")[0] for w in aligned.where} == {SECOND[:-12]}
    missed = rules["readable"]
    assert missed.answer == "failed"
    assert {str(w.episode).split("/")[0] for w in missed.where} == {SECOND[:-12]}
    assert report.blocking
    lanes = len(report.episodes) // 2
    assert all(line.return_ is not None for line in report.episodes[:lanes])
    assert all(line.return_ is None for line in report.episodes[lanes:])


def test_a_damaged_page_of_one_column(tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "a", lengths=(400, 300, 600))
    assert validated(root)[1]["readable"].answer == "passed"
    path = root / "data/chunk-000/file-001.parquet"
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 200] = b"\xff" * 200
    path.write_bytes(content)
    _, rules = validated(root)
    found = rules["readable"]
    assert found.answer == "failed"
    assert {(w.episode, w.feature) for w in found.where} == {
        ("episode_1", "observation.state"),
        ("episode_2", "observation.state"),
    }
    assert rules["lengths"].answer == "passed"
    assert rules["finite"].answer == "passed"


def test_a_dataset_of_which_hardly_anything_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = export(made((7, 3), FEATURES, plain=True), "shards", tmp_path / "a").path
    monkeypatch.setattr(readable, "MOST_PARTS", 3)
    for shard in path.glob("*.safetensors"):
        assert load_file(shard)
        content = bytearray(shard.read_bytes())
        content[-1] ^= 1
        shard.write_bytes(content)
    with pytest.raises(ReadError, match="hash"):
        validated(path)
