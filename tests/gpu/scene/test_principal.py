"""Principal frames of inertias: they diagonalise, and are the nearest that do."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.scene.principal import principal_frames, turned

X_Y = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])


def matrix(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_they_diagonalise_and_turn_little(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    sixes, tensors = [], []
    for _ in range(3):
        q = numbers.normal(size=4)
        r = matrix(q / np.linalg.norm(q))
        tensor = r @ np.diag(numbers.uniform(0.5, 1.0, 3)) @ r.T
        tensors.append(tensor)
        sixes.append(
            [tensor[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        )
    columns = np.array(sixes).reshape(1, 18).T
    frames = principal_frames(np.concatenate((columns, columns), 1))
    assert frames.shape == (2, 3, 4)
    assert (frames[0] == frames[1]).all()
    for tensor, frame in zip(tensors, frames[0], strict=True):
        assert abs(np.linalg.norm(frame) - 1) < 1e-12
        r = matrix(frame)
        found = r.T @ tensor @ r
        np.testing.assert_allclose(found, np.diag(np.diag(found)), atol=1e-12)
        # no naming of axes that differs by quarter turns is nearer
        quarter_turns = [X_Y[[2, 1, 0, 3]], X_Y[[0, 2, 1, 3]], X_Y]
        for turn in quarter_turns:
            for sign in (1, -1):
                other = matrix(frame) @ matrix(turn * [sign, sign, sign, 1])
                assert np.trace(other) <= np.trace(r) + 1e-9


def test_a_diagonal_inertia_is_not_turned() -> None:
    six = np.array([[3.0, 1.0, 2.0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0] * 6])
    assert principal_frames(six.reshape(18, 1)).tolist() == [[[0, 0, 0, 1]] * 3]


def test_turning() -> None:
    np.testing.assert_allclose(turned(X_Y[None], X_Y[None]), [[0, 0, 1, 0]], atol=1e-15)
    assert turned(X_Y[None].astype(np.float32), X_Y[None]).dtype == np.float32
