"""Case 43 of the contract: datasets of three versions, and errors 55 to 57."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from isoscope.core.errors import ReadError
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot import LeRobotFrame
from isoscope.core.trajectory.lerobot.writer import (
    LeRobotDatasetWriter,
    episode_boundaries,
    features_of,
    layout_of,
)

if TYPE_CHECKING:
    from pathlib import Path


class Fake:
    """A dataset of the package; keeps what it is given."""

    root: Path | None = None

    def __init__(self, **made: Any) -> None:
        self.made = made
        self.frames: list[dict[str, Any]] = []
        self.tasks: list[str] = []
        self.episodes: list[int] = []
        self.called: list[str] = []

    @classmethod
    def create(cls, **made: Any) -> Fake:
        return cls(**made)

    def save_episode(self) -> None:
        self.episodes.append(len(self.frames))

    def stop_image_writer(self) -> None:
        self.called.append("stop_image_writer")


class Early(Fake):
    """Below 0.2."""

    def add_frame(self, frame: dict[str, Any]) -> None:
        self.tasks.append(frame["task"])
        self.frames.append(frame)


class Middle(Fake):
    """0.3: refuses a task inside the frame."""

    def add_frame(
        self, frame: dict[str, Any], task: str, timestamp: float | None = None
    ) -> None:
        assert "task" not in frame
        self.tasks.append(task)
        self.frames.append(frame)


class Late(Fake):
    """From 0.4: takes the task out of what it is given, and has to be finalized."""

    def add_frame(self, frame: dict[str, Any]) -> None:
        self.tasks.append(frame.pop("task"))
        self.frames.append(frame)

    def finalize(self) -> None:
        self.called.append("finalize")


def frames(count: int, task: str = "pick") -> list[dict[str, Any]]:
    made = []
    for at in range(count):
        frame = LeRobotFrame(
            state=np.zeros(2, np.float32), action=np.zeros(1, np.float32), task=task
        )
        made.append(frame.to_dict(episode_success=True, done=at == count - 1))
    return made


def writer(kind: type[Fake], **more: Any) -> tuple[LeRobotDatasetWriter, Any]:
    made = LeRobotDatasetWriter()
    sizes = {"state_dim": 2, "action_dim": 1, "has_image": False}
    made.create("me/data", dataset_class=kind, **{**sizes, **more})
    return made, made.dataset


@pytest.mark.parametrize("kind", [Early, Middle, Late])
def test_43_the_task_goes_where_the_version_wants_it(kind: type[Fake]) -> None:
    made, dataset = writer(kind)
    given = frames(2, "pick") + frames(1, "place")
    before = [dict(frame) for frame in given]
    made.add_episode(given)
    assert dataset.tasks == ["pick", "pick", "place"]
    assert dataset.episodes == [3]
    assert [list(frame) for frame in given] == [list(frame) for frame in before]
    assert [frame["task"] for frame in given] == ["pick", "pick", "place"]
    assert made.finalize() == 0
    assert dataset.called == ["stop_image_writer", "finalize"][: 1 + (kind is Late)]


@pytest.mark.parametrize("task", [None, ...])
def test_43_56_a_frame_without_a_task_is_refused_before_any_is_written(
    task: Any,
) -> None:
    made, dataset = writer(Late)
    bad = frames(2)
    if task is None:
        bad[1]["task"] = None
    else:
        del bad[1]["task"]
    with pytest.raises(TrajectoryValueError, match=r"frame 1 of 2 .*state, actions"):
        made.add_episode(bad)
    assert dataset.frames == dataset.episodes == []


def test_43_an_empty_episode_is_skipped_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made, dataset = writer(Early)
    with caplog.at_level(logging.WARNING):
        made.add_episode([])
    assert "no frames" in caplog.text
    assert dataset.episodes == []
    assert made.episodes == 0


def test_43_boundaries_are_the_same_in_both_formats() -> None:
    old = SimpleNamespace(
        episode_data_index={"from": torch.tensor([0, 3]), "to": torch.tensor([3, 7])}
    )
    columns = {"dataset_from_index": [0, 3], "dataset_to_index": [3, 7]}
    new = SimpleNamespace(meta=SimpleNamespace(episodes=columns))
    assert episode_boundaries(old) == episode_boundaries(new) == ([0, 3], [3, 7])


@pytest.mark.parametrize(
    "odd", [SimpleNamespace(), SimpleNamespace(meta=SimpleNamespace(episodes={}))]
)
def test_57_boundaries_of_another_format_are_refused(odd: Any) -> None:
    with pytest.raises(TrajectoryRuntimeError, match=r"neither .*v2\.1.*v3\.0"):
        episode_boundaries(odd)


def test_55_a_dataset_is_created_first() -> None:
    made = LeRobotDatasetWriter()
    with pytest.raises(TrajectoryRuntimeError, match="call create first"):
        made.add_episode(frames(1))
    with pytest.raises(TrajectoryRuntimeError, match="call create first"):
        made.finalize()
    made, _ = writer(Late)
    made.finalize()
    with pytest.raises(TrajectoryRuntimeError, match="call create first"):
        made.add_episode(frames(1))


def test_features_are_the_contracts() -> None:
    _, dataset = writer(
        Late,
        has_image=True,
        image_shape=(4, 6, 3),
        more_images={"wrist_image-0": (2, 2, 3)},
        has_segment_id=True,
    )
    assert dataset.made["robot_type"] == "franka_panda"
    assert dataset.made["fps"] == 5
    assert dataset.made["image_writer_threads"] == 10
    assert dataset.made["image_writer_processes"] == 5
    axes = ["height", "width", "channel"]
    assert dataset.made["features"] == {
        "state": {"dtype": "float32", "shape": (2,), "names": ["state"]},
        "actions": {"dtype": "float32", "shape": (1,), "names": ["actions"]},
        "done": {"dtype": "bool", "shape": (1,), "names": ["done"]},
        "is_success": {"dtype": "bool", "shape": (1,), "names": ["is_success"]},
        "intervene_flag": {"dtype": "bool", "shape": (1,), "names": ["intervene_flag"]},
        "segment_id": {"dtype": "uint8", "shape": (1,), "names": ["segment_id"]},
        "image": {"dtype": "image", "shape": (4, 6, 3), "names": axes},
        "wrist_image-0": {"dtype": "image", "shape": (2, 2, 3), "names": axes},
    }
    assert set(features_of()) == {*frames(1)[0], "image"} - {"task", "segment_id"}


def test_the_layout_is_read_off_a_frame() -> None:
    frame = frames(1)[0]
    frame["image"] = np.zeros((4, 6, 3), np.uint8)
    frame["wrist_image-1"] = np.zeros((2, 2, 3), np.uint8)
    made = LeRobotDatasetWriter()
    made.create("me/data", dataset_class=Late, **layout_of(frame))
    features = made.dataset.made["features"]
    assert set(features) == set(frame) - {"task"}
    for name, feature in features.items():
        assert feature["shape"] == frame[name].shape
        assert feature["dtype"] in (str(frame[name].dtype), "image")
    plain = layout_of(frames(1)[0])
    made.create("me/data", dataset_class=Late, **plain)
    assert set(made.dataset.made["features"]) == set(frames(1)[0]) - {"task"}


def test_h20_files_that_were_not_completed_are_told(tmp_path: Path) -> None:
    made, dataset = writer(Late)
    made.add_episode(frames(1))
    dataset.root = tmp_path
    (tmp_path / "file-000.parquet").write_bytes(b"PAR1 rows without a footer")
    with pytest.raises(ReadError, match="footer is missing"):
        made.finalize()


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "lerobot", missing)
    with pytest.raises(TrajectoryRuntimeError, match="pip install lerobot"):
        LeRobotDatasetWriter().create("me/data")
