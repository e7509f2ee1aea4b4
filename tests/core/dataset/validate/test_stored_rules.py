"""Rules of what a dataset says of itself: for each one that fails, one that passes."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from isoscope.core.dataset.curate.curated import curated
from isoscope.core.dataset.curate.edits import Choice, Judge
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.exporters.splits import Splits
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.dataset.validate.run import validate
from tests.core.dataset.made import FEATURES, made
from tests.core.dataset.readers import foreign

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.dataset.validate.report import RuleResult


def rule(episodes: Any, key: str) -> RuleResult:
    report = validate(episodes)
    return next(one for one in report.rules if one.id == key)


def opened(path: Path, key: str) -> RuleResult:
    found = open_episodes(path)
    try:
        return rule(found, key)
    finally:
        found.close()


# -- statistics ------------------------------------------------------------------------


def lerobot(tmp_path: Path, version: str = "") -> Path:
    if version:
        root = foreign.lerobot(tmp_path / "data", version=version)
        found = open_episodes(root)
        listed = [
            {
                "episode_index": e.index,
                "stats": {
                    f.name: stats(found.read(e.index, f.name)) for f in found.features
                },
            }
            for e in found.episodes
        ]
        found.close()
        path = root / "meta/episodes_stats.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in listed))
        return root
    source = made((30, 7, 50), FEATURES, plain=True)
    return export(source, "lerobot", tmp_path / "data").path


def stats(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    flat = values.reshape(len(values), -1).astype(float)
    return {
        "min": flat.min(0).tolist(),
        "max": flat.max(0).tolist(),
        "mean": flat.mean(0).tolist(),
        "std": flat.std(0).tolist(),
        "count": [len(flat)],
    }


@pytest.mark.parametrize("version", ["", "v2.1"])
def test_statistics_of_the_values_pass(version: str, tmp_path: Path) -> None:
    assert opened(lerobot(tmp_path, version), "stats").answer == "passed"


def test_statistics_of_awkward_values_pass(tmp_path: Path) -> None:
    """NaN, infinite and tiny ones: what is told of them is NaN and infinite, too."""
    root = export(made((30, 7), FEATURES), "lerobot", tmp_path / "data").path
    assert opened(root, "stats").answer == "passed"


@pytest.mark.parametrize("stat", ["min", "max", "mean", "std", "count"])
def test_statistics_of_all_are_computed_anew(stat: str, tmp_path: Path) -> None:
    root = lerobot(tmp_path)
    path = root / "meta/stats.json"
    told = json.loads(path.read_text())
    told["observation.position"][stat][-1] += 1.5
    path.write_text(json.dumps(told))
    found = opened(root, "stats")
    assert (found.blocks, found.count) == (True, 1)
    where = found.where[0]
    assert (where.episode, where.feature) == (None, "observation.position")
    assert where.component == (None if stat == "count" else 3)
    assert str(where.value).startswith(stat)


def test_statistics_of_an_episode_are_computed_anew(tmp_path: Path) -> None:
    root = lerobot(tmp_path)
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    name = "stats/action/mean"
    rows = table.column(name).to_pylist()
    rows[1][0] += 0.25
    at = table.schema.get_field_index(name)
    pq.write_table(table.set_column(at, name, pa.array(rows)), path)
    (where,) = opened(root, "stats").where
    assert (where.episode, where.feature, where.component) == ("e1/../1", "action", 0)
    (tmp_path / "older").mkdir()
    root = lerobot(tmp_path / "older", "v2.1")
    path = root / "meta/episodes_stats.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text(first.replace('"count": [4]', '"count": [5]') + "".join(rest))
    found = opened(root, "stats")
    assert {w.episode for w in found.where} == {"episode_0"}
    assert "count 5" in str(found.where[0].value)


def test_changed_values_are_found_by_their_statistics(tmp_path: Path) -> None:
    root = foreign.lerobot(tmp_path / "data", version="v2.1")
    (root / "meta/stats.json").write_text(
        json.dumps({"action": {"min": [0.0], "max": [3.0]}})  # as of one episode
    )
    assert str(opened(root, "stats").where[0].value) == "max 3"


def test_statistics_of_a_choice_are_not_those_of_all(tmp_path: Path) -> None:
    found = open_episodes(lerobot(tmp_path))
    choice = Choice.all_of(found.episodes)
    assert rule(curated(found, choice), "stats").answer == "passed"
    part = curated(found, choice.after(Judge(("e1/../1",), "rejected")))
    assert rule(part, "stats").answer == "not_checkable"
    found.close()
    assert rule(made((3,), plain=True), "stats").answer == "not_checkable"


@pytest.mark.parametrize("content", ["{", "[]", '{"action": 3}', '{"action": {}}'])
def test_statistics_that_are_none(content: str, tmp_path: Path) -> None:
    root = lerobot(tmp_path)
    (root / "meta/stats.json").write_text(content)
    found = open_episodes(root)
    if content in "{[]":
        from isoscope.core.errors import ReadError

        with pytest.raises(ReadError, match=r"stats\.json"):
            rule(found, "stats")
    else:
        assert rule(found, "stats").answer == "passed"
    found.close()


# -- trajectories ----------------------------------------------------------------------


def trajectory(epochs: int = 2, size: int = 4, lanes: int = 3, slots: int = 2) -> Any:
    """Tensors of a collected trajectory, [T or T + E, lanes, ...], that all agree."""
    rng = np.random.default_rng(0)
    steps = epochs * size
    ended = rng.random((epochs, size + 1, lanes, slots)) < 0.1
    cut = rng.random((epochs, size + 1, lanes, slots)) < 0.1
    ended[:, 0], cut[:, 0] = False, False
    ended[0, 2, 0, 0] = True
    seen = rng.normal(size=(epochs, size + 1, lanes, 3)).astype(np.float32)
    after = seen[:, 1:].copy()
    done = ended | cut
    after[done[:, 1:].any(axis=-1)] += 1  # what it ended in, not the new episode's
    flags = {"terminations": ended, "truncations": cut, "dones": done}
    mask, count = [], []
    for epoch in done:
        in_time = epoch.transpose(0, 2, 1).reshape(-1, lanes)[slots - 1 : -1]
        kept = np.cumsum(in_time, axis=0) == 0
        mask.append(kept.reshape(size, slots, lanes).transpose(0, 2, 1))
        count.append(np.broadcast_to(kept.sum(0)[:, None], (size, lanes, slots)))
    return {
        "actions": rng.normal(size=(steps, lanes, 2)).astype(np.float32),
        "rewards": rng.normal(size=(steps, lanes, slots)).astype(np.float32),
        "curr_obs.states": seen[:, :-1].reshape(steps, lanes, 3),
        "next_obs.states": after.reshape(steps, lanes, 3),
        "prev_values": np.zeros((steps + epochs, lanes, 1), np.float32),
        "loss_mask": np.concatenate(mask),
        "loss_mask_sum": np.concatenate(count).astype(np.int64),
        "forward_inputs.valid_action_mask": np.ones((steps, lanes, slots), bool),
        **{k: v.reshape(steps + epochs, lanes, slots) for k, v in flags.items()},
    }


def shards(folder: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> Path:
    from safetensors.numpy import save

    folder.mkdir()
    content = save({k: np.ascontiguousarray(v) for k, v in tensors.items()})
    (folder / "shard-0-000000.safetensors").write_bytes(content)
    told = {
        "schema": "isoscope.shards/1",
        "run": {},
        "shards": [
            {
                "file": "shard-0-000000.safetensors",
                "sha256": hashlib.sha256(content).hexdigest(),
                "tensors": {k: [str(v.dtype), v.shape] for k, v in tensors.items()},
            }
        ],
    }
    (folder / "manifest.json").write_text(json.dumps(told))
    return folder


KEYS = ("trajectory-alignment", "loss-mask", "masks")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("epochs", "slots"), [(1, 1), (1, 3), (3, 2)])
def test_a_trajectory_that_agrees_passes(
    key: str, epochs: int, slots: int, tmp_path: Path
) -> None:
    path = shards(tmp_path / "run", trajectory(epochs, slots=slots))
    assert opened(path, key).answer == "passed"


def test_what_is_exported_is_aligned(tmp_path: Path) -> None:
    source = made((7, 3), FEATURES, plain=True)
    path = export(source, "shards", tmp_path / "a").path
    assert opened(path, "trajectory-alignment").answer == "passed"
    assert opened(path, "loss-mask").answer == "not_checkable"
    plain = foreign.robomimic(tmp_path / "a.hdf5")
    assert opened(plain, "trajectory-alignment").answer == "not_checkable"


def _shifted(t: Any) -> None:
    t["next_obs.states"] = np.roll(t["next_obs.states"], 1, axis=0)


def _flag(t: Any) -> None:
    t["dones"][3, 1, 0] ^= True


def _row_more(t: Any) -> None:
    t["rewards"] = np.concatenate([t["rewards"], t["rewards"][:1]])


def _values_without_last(t: Any) -> None:
    t["prev_values"] = t["prev_values"][:-2]


def _epochs_differ(t: Any) -> None:
    t["prev_values"] = t["prev_values"][:-1]


@pytest.mark.parametrize(
    ("change", "feature"),
    [
        (_shifted, "next_obs.states"),
        (_flag, "dones"),
        (_row_more, "rewards"),
        (_values_without_last, "prev_values"),
        (_epochs_differ, "prev_values"),
    ],
)
def test_a_trajectory_that_is_shifted(
    change: Callable[[Any], None], feature: str, tmp_path: Path
) -> None:
    tensors = trajectory()
    change(tensors)
    found = opened(shards(tmp_path / "run", tensors), "trajectory-alignment")
    assert found.blocks
    assert feature in {w.feature for w in found.where}


def test_flags_of_no_whole_epochs_are_told_not_read(tmp_path: Path) -> None:
    tensors = trajectory(2, 4)
    for key in ("dones", "terminations", "truncations"):
        tensors[key] = np.concatenate([tensors[key], tensors[key][:1]])  # 8 + 3
    found = open_episodes(shards(tmp_path / "run", tensors))
    assert any("are not T + E" in p for p in found.problems)  # type: ignore[attr-defined]
    assert rule(found, "trajectory-alignment").blocks
    found.close()


def _mask(t: Any) -> None:
    t["loss_mask"][5, 0, 0] ^= True


def _sum(t: Any) -> None:
    t["loss_mask_sum"][2, 1, 0] += 1


def _short(t: Any) -> None:
    t["loss_mask"] = t["loss_mask"][:-1]


@pytest.mark.parametrize("change", [_mask, _sum, _short])
def test_a_loss_mask_that_does_not_follow(
    change: Callable[[Any], None], tmp_path: Path
) -> None:
    tensors = trajectory()
    change(tensors)
    found = opened(shards(tmp_path / "run", tensors), "loss-mask")
    assert found.blocks
    assert str(found.where[0].feature).startswith("loss_mask")


def test_loss_masks_by_chunks_and_filtered_lanes(tmp_path: Path) -> None:
    tensors = trajectory()
    tensors["loss_mask"] = tensors["loss_mask"].any(axis=-1, keepdims=True)
    tensors["loss_mask"][:, 1] = False
    assert opened(shards(tmp_path / "run", tensors), "loss-mask").answer == "passed"


def test_the_loss_mask_is_the_collectors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from isoscope.core.dataset.validate.rules.loss_mask import counted
    from isoscope.core.trajectory.preprocess.loss_mask import compute_loss_mask

    rng = np.random.default_rng(1)
    dones = rng.random((9, 20, 3)) < 0.05
    mask, count = compute_loss_mask(torch.from_numpy(dones))
    for lane in range(20):
        ours = counted(dones[:, lane])
        assert ours.tolist() == mask[:, lane].tolist()
        assert set(count[:, lane].reshape(-1).tolist()) == {int(ours.sum())}


# -- masks -----------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [[False, True], [False, False]])
def test_a_mask_of_slots_is_of_leading_ones(slots: list[bool], tmp_path: Path) -> None:
    tensors = trajectory()
    tensors["forward_inputs.valid_action_mask"][2, 1] = slots
    found = opened(shards(tmp_path / "run", tensors), "masks")
    assert found.blocks
    assert (found.where[0].step, found.count) == (2, 1)


def test_rows_that_do_not_count_are_no_transitions(tmp_path: Path) -> None:
    path = foreign.maniskill(tmp_path / "a")
    (file,) = path.glob("*.h5")
    with h5py.File(file, "a") as held:
        for demo in held.values():
            demo["valid"] = np.ones(len(demo["actions"]), bool)
    assert opened(path, "masks").answer == "passed"
    with h5py.File(file, "a") as held:
        held["traj_1/valid"][2] = False
    found = opened(path, "masks")
    assert (found.blocks, found.where[0].episode, found.where[0].step) == (
        True,
        "traj_1",
        2,
    )


def test_what_is_held_back_is_not_trained_on(tmp_path: Path) -> None:
    source = made((3, 4, 5, 6), FEATURES[:8], plain=True)
    splits = Splits({"train": 0.5, "valid": 0.5})
    path = tmp_path / "a.hdf5"
    export(source, "robomimic", path, splits=splits)
    assert opened(path, "masks").answer == "passed"
    path = foreign.robomimic(tmp_path / "b.hdf5")
    with h5py.File(path, "a") as file:
        file["mask/20_percent"] = np.array([b"demo_1"])  # may overlap
    assert opened(path, "masks").answer == "passed"
    with h5py.File(path, "a") as file:
        file["mask/valid"] = np.array([b"demo_0", b"demo_2", b"demo_77"])
    found = open_episodes(path)
    assert any("1 episodes that are not" in p for p in found.problems)  # type: ignore[attr-defined]
    (where,) = rule(found, "masks").where
    assert (where.episode, where.value) == ("demo_2", "in the splits train and valid")
    found.close()
