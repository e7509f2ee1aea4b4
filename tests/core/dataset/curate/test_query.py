"""Queries: what they say, and nothing that could do harm."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.dataset.curate.query import matching
from isoscope.core.errors import UsageError

COLUMNS = {
    "length": np.array([10, 60, 70, 80]),
    "return": np.array([1.0, 5.0, 9.0, np.nan]),
    "findings": np.array([0, 0, 1, 0]),
    "terminated": np.array([True, False, False, True]),
    "tags": [set(), {"good"}, {"good", "slow"}, set()],
}


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("length > 50 and not findings and return > q25", [0, 1, 0, 0]),
        ("length > 50", [0, 1, 1, 1]),
        ("return > 0", [1, 1, 1, 0]),
        ("not return > 0", [0, 0, 0, 1]),
        ("10 < length <= 70", [0, 1, 1, 0]),
        ("return >= median", [0, 1, 1, 0]),
        ("q50 <= return", [0, 1, 1, 0]),
        ("length == max", [0, 0, 0, 1]),
        ("return / length > 0.09", [1, 0, 1, 0]),
        ("terminated or findings", [1, 0, 1, 1]),
        ('"good" in tags and "slow" not in tags', [0, 1, 0, 0]),
        ("tags > 1", [0, 0, 1, 0]),
        ("length - 10", [0, 1, 1, 1]),
        ("-length < -65", [0, 0, 1, 1]),
        ("True", [1, 1, 1, 1]),
    ],
)
def test_what_a_query_says(query: str, right: list[int]) -> None:
    assert matching(query, COLUMNS).tolist() == [bool(r) for r in right]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", "can't be understood"),
        ("length >", "can't be understood"),
        ("speed > 1", "no 'speed'; there are findings, length, return"),
        ("__import__('os').system('true')", "nothing that can be compared"),
        ("length.real > 1", "nothing that can be compared"),
        ("[x for x in length]", "nothing that can be compared"),
        ("length ** 9 > 1", "nothing that can be compared"),
        ("(lambda: 1)()", "nothing that can be compared"),
        ("length is 1", "not known here"),
        ("length in tags", "needs a text on its left"),
        ("'a' in length", "needs tags"),
        ("q25 > 1", "a quantile needs something of an episode"),
        ("'a' > 1", "nothing that can be compared"),
        ("1j > length", "nothing that can be compared"),
        ("(" * 900 + "1" + ")" * 900, "can't be understood|nested"),
        ("length " * 400, "more than 2000"),
        ("\0", "can't be understood"),
    ],
)
def test_anything_else_is_refused_in_one_line(query: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        matching(query, COLUMNS)
    assert "\n" not in str(caught.value)
