from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.jsonform import decode, encode


class Inner(msgspec.Struct):
    at_s: float
    note: str | None = None


class Report(msgspec.Struct):
    value: float
    many: list[float]
    inner: Inner
    count: int = 0
    schema: str = "isoscope.test/1"


def test_numbers_that_are_not_finite_are_strings() -> None:
    report = Report(math.nan, [math.inf, -math.inf, 0.5], Inner(math.nan))
    assert json.loads(encode(report)) == {
        "value": "nan",
        "many": ["inf", "-inf", 0.5],
        "inner": {"at_s": "nan", "note": None},
        "count": 0,
        "schema": "isoscope.test/1",
    }


@given(
    st.floats(), st.lists(st.floats()), st.floats(), st.integers(-(2**63), 2**64 - 1)
)
def test_what_is_written_is_read_back(
    value: float, many: list[float], at_s: float, count: int
) -> None:
    report = Report(value, many, Inner(at_s), count)
    back = decode(encode(report, indent=2), Report)
    # NaN is not equal to itself; its text is.
    assert repr(back) == repr(report)


def test_numpy_values_and_paths_are_written_as_plain_ones() -> None:
    class Loose(msgspec.Struct):
        value: Any

    value = {
        "f": np.float32(0.5),
        "n": np.float64("nan"),
        "i": np.uint64(2**64 - 1),
        "b": np.bool_(True),
        "a": np.array([[1.0, np.inf]]),
        "p": Path("a/b"),
        "t": (1, 2),
    }
    assert json.loads(encode(Loose(value)))["value"] == {
        "f": 0.5,
        "n": "nan",
        "i": 2**64 - 1,
        "b": True,
        "a": [[1.0, "inf"]],
        "p": "a/b",
        "t": [1, 2],
    }


def test_what_has_no_written_form_is_refused() -> None:
    class Loose(msgspec.Struct):
        value: Any

    with pytest.raises(NotImplementedError, match="object has no written form"):
        encode(Loose(object()))


def test_one_line_unless_indented() -> None:
    report = Report(1.0, [], Inner(2.0))
    assert b"\n" not in encode(report)
    assert encode(report, indent=2).count(b"\n") > 5
    assert json.loads(encode(report)) == json.loads(encode(report, indent=2))
