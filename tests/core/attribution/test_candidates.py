"""The search among earlier states finds what comparing with all of them finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.attribution.candidates import Nodes, search
from isoscope.core.attribution.mean_velocity import MeanVelocity
from tests.core.attribution.shared_scene import run

REALS: list[Any] = [np.float32, np.float64]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(0, 10_000),
    st.sampled_from(REALS),
    st.integers(1, 80),
    st.sampled_from([0.0, 1e-7, 0.1]),
)
def test_every_state_within_the_bound_is_found(
    envs: int, seed: int, real: Any, cut: int, noise: float
) -> None:
    scene, _ = run(envs, 20, seed=seed, real=real, noise=noise, order="random")
    recording = scene.recording()
    predictor = MeanVelocity(recording)
    earlier = predictor.read(0, cut)
    motion = predictor.read(cut, len(recording))
    rows = len(motion)
    use = np.ones(len(predictor.layout), np.bool_)
    kept = Nodes(np.arange(cut), earlier.end)
    previous = np.arange(cut - 1, cut - 1 + rows)
    found = search(kept, motion, previous, predictor.layout, use)
    ends = np.vstack([earlier.end, motion.end])
    for i in range(rows):
        off = np.abs((motion.end[i] - ends[: cut + i]) - motion.moved[i])
        tight = set(np.flatnonzero((off <= motion.tight[i]).all(axis=1)).tolist())
        loose = set(np.flatnonzero((off <= motion.loose[i]).all(axis=1)).tolist())
        expected = tight or loose
        entries = range(found.offsets[i], found.offsets[i + 1])
        got = {
            int(row)
            for k in entries
            for row in found.nodes.rows[found.class_of == found.classes[k]]
            if row < cut + i
        }
        assert got == expected
        assert all(found.tight[k] == bool(tight) for k in entries)
        order = [found.likelihood[k] for k in entries]
        assert order == sorted(order, reverse=True)


def test_nothing_to_search() -> None:
    scene, _ = run(2, 2)
    recording = scene.recording()
    predictor = MeanVelocity(recording)
    motion = predictor.read(0, 0)
    none = Nodes(np.zeros(0, np.int64), np.zeros((0, len(predictor.layout))))
    use = np.ones(len(predictor.layout), np.bool_)
    found = search(none, motion, np.zeros(0, np.int64), predictor.layout, use)
    assert found.offsets.tolist() == [0]
    one = predictor.read(0, 1)
    found = search(none, one, np.array([-1]), predictor.layout, use)
    assert found.offsets.tolist() == [0, 0]
