"""What the formats' own readers need: an environment each, on CPython 3.11."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.environments import environment

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "3.11"


def lerobot() -> Path:
    """The interpreter beside lerobot 0.4.4: about 1.6 GB, a minute to make.

    Its own pins contradict the torch that is used here, so it comes without them.
    """
    return environment(
        "lerobot-0.4.4",
        PYTHON,
        (
            "torch==2.13.0",
            "datasets<5",
            "huggingface-hub<0.36",
            "av<16",
            "jsonlines",
            "einops",
            "draccus==0.10.0",
            "opencv-python-headless<4.13",
            "packaging<26",
            "termcolor",
            "deepdiff",
            "imageio",
            "pyserial",
            "accelerate",
            "numpy<2.3",
        ),
        alone=("lerobot==0.4.4", "torchvision==0.28.0"),
    )


def minari() -> Path:
    """The interpreter beside minari 0.5.4."""
    return environment(
        "minari-0.5.4", PYTHON, ("minari==0.5.4", "gymnasium", "h5py", "pillow")
    )


def robomimic() -> Path:
    """The interpreter beside robomimic 0.3.0: about 1 GB, mostly torch."""
    return environment(
        "robomimic-0.3.0",
        PYTHON,
        ("torch==2.13.0", "h5py", "tqdm", "psutil", "termcolor", "imageio"),
        alone=("robomimic==0.3.0",),
    )
