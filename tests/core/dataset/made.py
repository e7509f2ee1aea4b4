"""Episodes made for tests: every role, every kind of number, awkward bits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.model import Episode, Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.model import Episodes

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
BOOL = np.dtype(np.bool_)
FEATURES = (
    Feature(
        "observation/position",
        "observation",
        F4,
        (4,),
        ("x", "v", "q", "w"),
        ("m", "m/s", "rad", "rad/s"),
        per="boundary",
    ),
    Feature("observation/goal", "observation", F8, (1,), per="boundary"),
    Feature("action", "action", F4, (1,), ("force",), ("N",), (-3.0,), (3.0,)),
    Feature("raw_action", "raw_action", F4, (1,)),
    Feature("reward", "reward", F8),
    Feature("reward_term/alive", "reward_term", F4),
    Feature("terminated", "terminated", BOOL),
    Feature("truncated", "truncated", BOOL),
    Feature("state/pole/root_pose", "state", F4, (7,), per="boundary"),
    Feature("info/counts", "info", np.dtype(np.int64), (2,)),
    Feature("info/small", "info", np.dtype(np.uint8), (3,)),
)
MATRIX = Feature("info/matrix", "info", F4, (2, 3))
PICTURE = Feature("camera", "image", np.dtype(np.uint8), (6, 5, 3), per="boundary")


def values(
    feature: Feature, rows: int, rng: np.random.Generator, *, plain: bool = False
) -> np.ndarray[Any, Any]:
    """Rows of a feature: any bits of a float, unless plain ones are wanted."""
    shape = (rows, *feature.shape)
    if feature.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if feature.dtype.kind in "iu":
        limits = np.iinfo(feature.dtype)
        return rng.integers(limits.min, limits.max, shape, feature.dtype, endpoint=True)
    if plain:
        return rng.standard_normal(shape).astype(feature.dtype)
    size = int(np.prod(shape)) * feature.dtype.itemsize
    found = np.frombuffer(rng.bytes(size), feature.dtype).reshape(shape).copy()
    flat = found.reshape(-1)
    for at, odd in enumerate((np.nan, -0.0, np.inf, -np.inf, 5e-324)):
        if at < len(flat):
            flat[at] = odd
    return found


def made(
    lengths: Sequence[int] = (5, 1, 12),
    features: Sequence[Feature] = FEATURES,
    *,
    final: bool = True,
    hz: float | None = 50.0,
    seed: int = 0,
    plain: bool = False,
    envs: int = 2,
) -> MemoryEpisodes:
    """Episodes of these lengths."""
    rng = np.random.default_rng(seed)
    episodes, columns = [], []
    for index, length in enumerate(lengths):
        ended = index % 3
        episodes.append(
            Episode(
                index,
                f"e{index}/../{index}",  # an id is no path
                length,
                env=index % envs,
                number=index // envs + 1,
                terminated=ended == 0,
                truncated=ended == 1,
                complete=ended < 2,
                final=final,
                seed=None if index % 2 else 2**40 + index,
                task="balance" if index % 2 else "swing up",
                native=(index * 100, index * 100 + 99),
            )
        )
        held = {}
        for feature in features:
            rows = length + (feature.per == "boundary" and final)
            found = values(feature, rows, rng, plain=plain)
            if feature.role in ("terminated", "truncated"):
                found[:] = False
                found[-1] = getattr(episodes[-1], feature.role)
            held[feature.name] = found
        columns.append(held)
    return MemoryEpisodes(
        "made", features, episodes, columns, hz, identity={"engine": "none"}
    )


def same(a: Episodes, b: Episodes, renamed: dict[str, str] | None = None) -> None:
    """Assert that both hold the same, bit for bit."""
    names = renamed or {f.name: f.name for f in a.features}
    assert len(a.episodes) == len(b.episodes)
    there = {f.name: f for f in b.features}
    assert set(names.values()) == set(there)
    for feature in a.features:
        other = there[names[feature.name]]
        assert replace(other, name=feature.name, about="") == replace(feature, about="")
    for index, one in enumerate(a.episodes):
        other_one = b.episodes[index]
        for key in ("id", "length", "env", "number", "seed", "task", "final"):
            assert getattr(one, key) == getattr(other_one, key), key
        for feature in a.features:
            x = a.read(index, feature.name)
            y = b.read(index, names[feature.name])
            assert x.dtype == y.dtype
            assert x.shape == y.shape, feature.name
            assert x.tobytes() == y.tobytes(), (index, feature.name)
