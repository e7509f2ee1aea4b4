"""Write frames with lerobot's own writer, and print the seconds that it took.

    LEROBOT_PYTHON lerobot_writer.py FRAMES.npz ROOT

Runs beside lerobot, which is in an environment of its own: nothing of ours is imported.
FRAMES.npz has ``lengths`` [episodes] and a column of frames for every feature.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from typing import Any

import numpy as np


def writer() -> Any:
    """LeRobotDataset; operators that a CPU torch lacks are declared as they are missed.

    torchvision names them when it is imported and never calls them here.
    """
    torch: Any = importlib.import_module("torch")

    kept = []
    for _ in range(32):
        try:
            dataset = importlib.import_module("lerobot.datasets.lerobot_dataset")
        except RuntimeError as error:
            missing = re.search(r"operator (\w+)::(\w+) does not exist", str(error))
            if missing is None:
                raise
            library = torch.library.Library(missing[1], "FRAGMENT")
            library.define(f"{missing[2]}(Tensor a) -> Tensor")
            kept.append(library)
            for name in list(sys.modules):
                if name.split(".")[0] in ("lerobot", "torchvision"):
                    del sys.modules[name]
        else:
            return dataset.LeRobotDataset
    raise RuntimeError("torchvision lacks more operators than can be declared")


def main(path: str, root: str) -> None:
    """Write all frames."""
    kind = writer()
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    lengths = columns.pop("lengths").tolist()
    features = {
        name: {"dtype": str(v.dtype), "shape": v.shape[1:], "names": None}
        for name, v in columns.items()
    }
    begin = time.perf_counter()
    dataset = kind.create("local/bench", 50, features, root=root, use_videos=False)
    at = 0
    for length in lengths:
        for row in range(at, at + length):
            frame = {name: values[row] for name, values in columns.items()}
            dataset.add_frame({**frame, "task": "bench"})
        dataset.save_episode()
        at += length
    dataset.finalize()
    sys.stdout.write(f"{time.perf_counter() - begin}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
