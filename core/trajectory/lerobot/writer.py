"""Episodes into a dataset of the `lerobot` package, whichever version is installed.

Section 6 of the trajectory contract. A thin wrapper over its ``LeRobotDataset``, for an
actor's archive and for collecting offline; ``isoscope export --format lerobot`` writes
the format without that package.

    lerobot below 0.2   format v2.1   the task is in the frame
    lerobot 0.3         format v2.1   the task is an argument of its own
    lerobot from 0.4    format v3.0   the task is in the frame, and taken out of it;
                                      only `finalize` of the dataset completes the files
"""

from __future__ import annotations

import inspect
import logging
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot.footer import check_footers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

log = logging.getLogger(__name__)

HOMES = ("lerobot.datasets.lerobot_dataset", "lerobot.common.datasets.lerobot_dataset")
IMAGES = ("image", "wrist_image", "extra_view_image")
AXES = ("height", "width", "channel")
Shape = tuple[int, ...]


def features_of(
    *,
    state_dim: int = 8,
    action_dim: int = 7,
    image_shape: Shape | None = (256, 256, 3),
    more_images: Mapping[str, Shape] | None = None,
    has_intervene_flag: bool = True,
    has_segment_id: bool = False,
) -> dict[str, dict[str, Any]]:
    """Describe what a frame holds, as a dataset is made with.

    Parameters
    ----------
    state_dim, action_dim
        Numbers of a state and of an action.
    image_shape
        Height, width and channels of ``image``; None: there is none.
    more_images
        The shapes of ``wrist_image``, ``extra_view_image`` or their views, ``key-0``
        and on.
    has_intervene_flag, has_segment_id
        Whether frames hold these.
    """
    images = {} if image_shape is None else {"image": image_shape}
    flags = {
        "done": "bool",
        "is_success": "bool",
        **({"intervene_flag": "bool"} if has_intervene_flag else {}),
        **({"segment_id": "uint8"} if has_segment_id else {}),
    }
    return {
        "state": _feature("float32", (state_dim,), ("state",)),
        "actions": _feature("float32", (action_dim,), ("actions",)),
        **{name: _feature(dtype, (1,), (name,)) for name, dtype in flags.items()},
        **{
            name: _feature("image", tuple(shape), AXES)
            for name, shape in {**images, **(more_images or {})}.items()
        },
    }


def layout_of(frame: Mapping[str, Any]) -> dict[str, Any]:
    """Read off a frame what `LeRobotDatasetWriter.create` has to know of its like."""
    images = {
        name: tuple(value.shape)
        for name, value in frame.items()
        if name.partition("-")[0] in IMAGES
    }
    main = images.pop("image", None)
    return {
        "state_dim": int(frame["state"].shape[0]),
        "action_dim": int(frame["actions"].shape[0]),
        "has_image": main is not None,
        **({} if main is None else {"image_shape": main}),
        "more_images": images,
        "has_intervene_flag": "intervene_flag" in frame,
        "has_segment_id": "segment_id" in frame,
    }


class LeRobotDatasetWriter:
    """Writes episodes, one after another.

    Attributes
    ----------
    dataset
        The `lerobot` package's; None before `create` and after `finalize`.
    episodes
        How many were written.
    """

    def __init__(self) -> None:
        self.dataset: Any = None
        self.episodes = 0

    def create(
        self,
        repo_id: str,
        root: str | Path | None = None,
        *,
        robot_type: str = "franka_panda",
        fps: int = 5,
        image_shape: Shape = (256, 256, 3),
        state_dim: int = 8,
        action_dim: int = 7,
        more_images: Mapping[str, Shape] | None = None,
        has_image: bool = True,
        has_intervene_flag: bool = True,
        has_segment_id: bool = False,
        image_writer_threads: int = 10,
        image_writer_processes: int = 5,
        dataset_class: Any = None,
    ) -> None:
        """Begin a dataset.

        Parameters
        ----------
        repo_id, root
            Its name, and its folder.
        robot_type, fps
            What acted, and frames per second.
        image_shape, state_dim, action_dim, more_images
            Of a frame; see `features_of`.
        has_image, has_intervene_flag, has_segment_id
            What frames hold.
        image_writer_threads, image_writer_processes
            That write the images.
        dataset_class
            What is made; the installed `lerobot` package's where None.

        Raises
        ------
        TrajectoryRuntimeError
            If the package is not installed.
        """
        made = dataset_class if dataset_class is not None else _installed()
        self.dataset = made.create(
            repo_id=repo_id,
            root=root,
            robot_type=robot_type,
            fps=fps,
            features=features_of(
                state_dim=state_dim,
                action_dim=action_dim,
                image_shape=image_shape if has_image else None,
                more_images=more_images,
                has_intervene_flag=has_intervene_flag,
                has_segment_id=has_segment_id,
            ),
            image_writer_threads=image_writer_threads,
            image_writer_processes=image_writer_processes,
        )
        self.episodes = 0

    def add_episode(self, frames: Sequence[Mapping[str, Any]]) -> None:
        """Write an episode; nothing, with a warning, if it has no frames.

        Frames are looked at before the first is written, and stay as they are.

        Raises
        ------
        TrajectoryRuntimeError
            Before `create`.
        TrajectoryValueError
            If a frame names no task.
        """
        dataset = self._there("adding an episode")
        if not frames:
            log.warning("adding an episode: it has no frames, so nothing is written")
            return
        for at, frame in enumerate(frames):
            if frame.get("task") is None:
                raise TrajectoryValueError(
                    f"adding an episode: frame {at} of {len(frames)} has no task; its "
                    f"keys are {', '.join(frame)}; give the text under 'task'"
                )
        apart = "task" in inspect.signature(dataset.add_frame).parameters
        for frame in frames:
            copy = dict(frame)  # some versions take the task out of what they get
            if apart:
                dataset.add_frame(copy, task=copy.pop("task"))
            else:
                dataset.add_frame(copy)
        dataset.save_episode()
        self.episodes += 1

    def finalize(self) -> int:
        """End the dataset: wait for its images, complete its files and look at them.

        Returns
        -------
        int
            How many parquet files were found complete; 0 if the dataset says no root.

        Raises
        ------
        TrajectoryRuntimeError
            Before `create`.
        ReadError
            If a file of it can't be read: it was never completed.
        """
        dataset = self._there("finalizing a dataset")
        for name in ("stop_image_writer", "finalize"):
            done = getattr(dataset, name, None)
            if done is not None:
                done()
        self.dataset = None
        root = getattr(dataset, "root", None)
        return check_footers(Path(root)) if root is not None and self.episodes else 0

    def _there(self, doing: str) -> Any:
        if self.dataset is None:
            raise TrajectoryRuntimeError(
                f"{doing}: there is no dataset; call create first"
            )
        return self.dataset


def episode_boundaries(dataset: Any) -> tuple[list[int], list[int]]:
    """Say with which row each episode of a dataset begins, and before which it ends.

    Raises
    ------
    TrajectoryRuntimeError
        If it is neither of format v2.1 nor of v3.0.
    """
    index = getattr(dataset, "episode_data_index", None)
    if index is not None:
        return _whole(index["from"]), _whole(index["to"])
    episodes: Any = getattr(getattr(dataset, "meta", None), "episodes", None)
    try:
        begins = episodes["dataset_from_index"]
        return _whole(begins), _whole(episodes["dataset_to_index"])
    except (KeyError, TypeError):
        raise TrajectoryRuntimeError(
            f"reading where episodes begin: a {type(dataset).__name__} has neither "
            "episode_data_index (format v2.1) nor meta.episodes with dataset_from_index"
            " and dataset_to_index (v3.0); open it with the lerobot package"
        ) from None


def _whole(values: Any) -> list[int]:
    return [int(value) for value in values]


def _feature(dtype: str, shape: Shape, names: Sequence[str]) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "names": list(names)}


def _installed() -> Any:
    for home in HOMES:
        try:
            return import_module(home).LeRobotDataset
        except ModuleNotFoundError as error:
            if error.name is None or not home.startswith(error.name):
                raise  # something that lerobot itself needs
    raise TrajectoryRuntimeError(
        "creating a dataset: the package lerobot is not installed; pip install lerobot,"
        " or write with isoscope export --format lerobot"
    )
