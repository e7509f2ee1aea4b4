"""Rows that wait for a check, and what comes after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.tap import held as holding
from isoscope.core.tap.held import Held


def rows(*numbers: int) -> Any:
    return np.array([(n,) for n in numbers], [("row", "<i8")])


def told(held: Held) -> list[int]:
    return [n for part in held.take() for n in part["row"].tolist()]


def test_rows_stay_in_order_behind_those_that_wait() -> None:
    held = Held()
    held.add(rows(0, 1))
    held.add(rows(2, 3, 4), 7)
    held.add(rows(5))
    held.add(rows(6, 7), 7)
    assert told(held) == [0, 1]
    held.checked(7, 3, True)
    assert told(held) == [2, 3]
    held.checked(7, 6, True)
    assert told(held) == [4, 5, 6]
    held.checked(7, 7, False)
    held.add(rows(8))
    assert told(held) == [8]


def test_another_layouts_check_changes_nothing() -> None:
    held = Held()
    held.add(rows(0), 1)
    held.checked(2, 9, True)
    held.checked(2, 9, False)
    assert told(held) == []


def test_rows_that_nobody_checks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "MOST_ROWS", 3)
    held = Held()
    held.add(rows(0, 1, 2), 1)
    with pytest.raises(ValueError, match="nobody checks"):
        held.add(rows(3), 1)
