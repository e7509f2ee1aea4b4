from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.widgets.inspector.texts import (
    exact_text,
    inline_text,
    type_text,
    whole_lines,
)

floats = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("f4", (3,), "f4 (3,)"),
        ("f8", (), "f8"),
        ("u8", (2, 3), "u8 (2,3)"),
        ("S5", (), "S5"),
        ("f4", (-1,), "f4 (n)"),
    ],
)
def test_types_are_short(dtype: str, shape: tuple[int, ...], text: str) -> None:
    assert type_text(np.dtype(dtype), shape) == text


@given(
    hnp.arrays(np.float32, hnp.array_shapes(max_dims=2, max_side=5), elements=floats)
)
def test_what_is_copied_has_every_bit(value: np.ndarray) -> None:
    back = np.array(ast.literal_eval(exact_text(value)), np.float32)
    assert back.shape == value.shape
    assert np.array_equal(back, value)


def test_copied_scalars_and_text_are_plain() -> None:
    assert exact_text(np.array(0.1, np.float32)) == "0.1"
    assert exact_text(np.array(219043332097, np.uint64)) == "219043332097"
    assert exact_text(np.array(b"Crate")) == "Crate"
    assert exact_text(np.array([np.nan, np.inf])) == "[nan, inf]"


def test_float32_has_seven_digits_and_columns_line_up() -> None:
    a = inline_text(np.array([1 / 3, -2 / 3, 0], np.float32))
    b = inline_text(np.array([10, 200, -3000], np.float32))
    assert "0.3333333" in a
    assert "-0.6666667" in a
    assert [len(line) for line in (a, b)] == [35, 35]
    assert "0.333333333" in inline_text(np.array([1 / 3]))


def test_long_values_are_cut_and_say_how_long_they_are() -> None:
    text = inline_text(np.arange(9, dtype=np.float32))
    assert text.endswith("… 9 values")
    assert inline_text(np.zeros((0, 3), np.float32)) == "empty f4 (0,3)"


@given(hnp.arrays(np.float32, st.integers(2, 9), elements=floats), st.integers(16, 60))
def test_in_little_room_values_are_set_closer_and_then_left_out(
    value: np.ndarray, room: int
) -> None:
    text = inline_text(value, room)
    assert len(text) <= max(room, len("-3.402823e+38 …"))
    shown = text.split(" …")[0].split()
    assert shown
    assert np.allclose([float(part) for part in shown], value[: len(shown)], rtol=1e-6)
    assert ("…" in text) == (len(shown) < len(value))


def test_a_whole_value_has_a_line_for_each_run() -> None:
    lines = whole_lines(np.arange(15, dtype=np.float32).reshape(5, 3), 10)
    assert [line.split() for line in lines][1] == ["3", "4", "5"]
    assert len(lines) == 5
    cut = whole_lines(np.arange(15, dtype=np.float32).reshape(5, 3), 3)
    assert len(cut) == 3
    assert cut[-1] == "… 15 values in all"
    contacts = whole_lines(np.arange(6, dtype=np.float32), 10, 3)
    assert [line.split() for line in contacts] == [["0", "1", "2"], ["3", "4", "5"]]
