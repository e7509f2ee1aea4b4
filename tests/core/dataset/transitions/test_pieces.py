"""Control steps in any order become episodes, cut where some are missing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.dataset.transitions.pieces import pieces_of


def pieces(*places: tuple[int, int, int]):
    return pieces_of(*np.array(places, np.int64).reshape(-1, 3).T)


def test_two_environments_in_turn() -> None:
    a, b = pieces((0, 1, 1), (1, 1, 1), (0, 1, 2), (1, 1, 2))
    assert (a.id, a.rows.tolist(), a.last, a.part) == ("env0-ep1", [0, 2], True, 0)
    assert (b.id, b.rows.tolist()) == ("env1-ep1", [1, 3])


def test_a_gap_cuts_and_only_the_last_piece_has_an_end() -> None:
    a, b = pieces((0, 1, 1), (0, 1, 2), (0, 1, 5))
    assert (a.id, a.first_step, a.last) == ("env0-ep1.1", 1, False)
    assert (b.id, b.first_step, b.last) == ("env0-ep1.2", 5, True)


def test_resets_and_what_is_unknown_belong_to_none() -> None:
    (only,) = pieces((0, 1, 0), (0, 1, 1), (-1, 1, 2), (0, -1, 3), (0, 1, -1))
    assert only.rows.tolist() == [1]
    assert pieces((0, 1, 0)) == []


def test_a_control_step_that_is_there_twice_ends_its_piece() -> None:
    found = pieces((0, 1, 1), (0, 1, 2), (0, 1, 2), (0, 1, 3))
    assert [p.rows.tolist() for p in found] == [[0, 1], [2, 3]]


@given(
    st.lists(
        st.tuples(st.integers(-1, 2), st.integers(-1, 3), st.integers(-1, 6)),
        max_size=60,
        unique=True,
    )
)
def test_every_known_control_step_is_in_one_piece(places) -> None:
    found = pieces(*places)
    rows = sorted(row for piece in found for row in piece.rows.tolist())
    known = [i for i, (e, n, k) in enumerate(places) if e >= 0 and n > 0 and k > 0]
    assert rows == known
    for piece in found:
        own = [places[row] for row in piece.rows]
        assert own == [
            (piece.env, piece.number, piece.first_step + i) for i in range(len(own))
        ]
    ends = [(p.env, p.number) for p in found if p.last]
    assert len(ends) == len(set(ends)) == len({(p.env, p.number) for p in found})
