"""FILE OUT.npz: what Isaac Lab's own HDF5DatasetFileHandler reads of every episode.

Its handler runs as it is; made up is only the conversion of old quaternions, which a
file of format_version 1 must not need.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from loaded_alone import alone, made_up, never

alone("isaaclab", "isaaclab.utils", "isaaclab.utils.datasets")
made_up("isaaclab.utils.math", convert_quat=never)

from isaaclab.utils.datasets.hdf5_dataset_file_handler import (  # noqa: E402
    HDF5DatasetFileHandler,
)


def flat(name: str, data: dict[str, Any], out: dict[str, Any]) -> None:
    for key, value in data.items():
        place = f"{name}/{key}"
        if isinstance(value, dict):
            flat(place, value, out)
        else:
            out[place] = value.numpy()


def main(path: str, target: str) -> None:
    handler = HDF5DatasetFileHandler()
    handler.open(path)
    names = list(handler.get_episode_names())
    out: dict[str, Any] = {
        "__names": np.array(names),
        "__env": np.array(handler.get_env_name()),
        "__legacy": np.array(handler.is_legacy_quaternion_format()),
    }
    for name in names:
        episode = handler.load_episode(name, "cpu")
        flat(name, episode.data, out)
        out[f"{name}/__seed"] = np.array(-1 if episode.seed is None else episode.seed)
        # Initial states and actions as a replay asks for them.
        actions = []
        while (action := episode.get_next_action()) is not None:
            actions.append(action.numpy())
        out[f"{name}/__replayed"] = np.array(actions)
    handler.close()
    np.savez(target, **out)


main(*sys.argv[1:])
