from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isoscope.widgets.scene.poses import (
    apply,
    deformed_nodes,
    rotation_matrices,
    transforms,
)

parts = st.floats(-1, 1, allow_nan=False, width=32)
quaternions = arrays(np.float64, 4, elements=parts).filter(
    lambda q: np.linalg.norm(q) > 1e-3
)
vectors = arrays(np.float64, 3, elements=st.floats(-10, 10, width=32))


@given(quaternions)
def test_a_rotation_keeps_lengths_and_hands(q: np.ndarray) -> None:
    turn = rotation_matrices(q)
    assert np.allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.isclose(np.linalg.det(turn), 1)


@given(quaternions, st.floats(0.01, 100))
def test_a_quaternion_need_not_be_of_unit_length(q: np.ndarray, scale: float) -> None:
    assert np.allclose(rotation_matrices(q), rotation_matrices(scale * q))


def test_quaternions_are_x_y_z_w() -> None:
    half = np.sqrt(0.5)
    about_z = rotation_matrices(np.array([0, 0, half, half]))
    assert np.allclose(about_z @ [1, 0, 0], [0, 1, 0])


def test_what_is_no_rotation_is_not_a_number() -> None:
    wrong = np.array([[0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 1]], float)
    assert np.isnan(rotation_matrices(wrong)).any(axis=(1, 2)).all()


@given(quaternions, vectors, quaternions, vectors, vectors)
def test_a_body_that_only_moves_as_a_whole_is_where_its_step_says(
    step_turn: np.ndarray,
    step_at: np.ndarray,
    fit_turn: np.ndarray,
    fit_at: np.ndarray,
    eval_point: np.ndarray,
) -> None:
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])
    turn = rotation_matrices(fit_turn)
    displaced = (nodes - eval_point) @ turn.T + fit_at
    step = transforms(step_at, step_turn)
    found = deformed_nodes(
        nodes,
        displaced - nodes,
        step=step,
        pivot=transforms(fit_at, fit_turn),
        eval_point=eval_point,
    )
    assert np.allclose(found, apply(step, nodes), atol=1e-9)
