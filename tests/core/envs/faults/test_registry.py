"""The faults against the audit's ids, and what is said where a fault is ordered."""

from __future__ import annotations

import pytest

from isoscope.core.envs.faults.order import FaultOrder, Place, parse_order
from isoscope.core.envs.faults.registry import all_faults, make_fault
from isoscope.core.errors import UsageError
from isoscope.core.isolation.ids import ERRORS, FILE_ONLY, NOTES, SEVERITIES, WARNINGS
from isoscope.core.isolation.registry import CHECKS


def test_every_check_that_concerns_a_run_has_a_fault() -> None:
    found = {key for kind in all_faults().values() for key in kind.FINDS}
    assert found | FILE_ONLY.keys() == CHECKS.keys()
    assert not found & FILE_ONLY.keys()


def test_the_ids_are_those_of_the_written_form() -> None:
    assert (len(ERRORS), len(WARNINGS), len(NOTES)) == (21, 15, 3)
    assert len(SEVERITIES) == 39
    assert CHECKS.keys() == SEVERITIES.keys()


@pytest.mark.parametrize("name", all_faults())
def test_a_fault_says_what_it_does(name: str) -> None:
    kind = all_faults()[name]
    assert 20 < len(kind.ABOUT) < 80
    assert kind.FINDS
    assert set(kind.FINDS) | set(kind.MAY_FIND) <= SEVERITIES.keys()
    assert not set(kind.FINDS) & set(kind.MAY_FIND)
    assert kind.SCENES
    assert set(kind.MODES) <= {"next_step", "same_step", "disabled"}


def test_an_order_is_read_and_written_alike() -> None:
    order = FaultOrder("missed-restore", Place(0, 2, 5))
    assert parse_order("missed-restore@0:2/5") == order
    assert str(order) == "missed-restore@0:2/5"


@pytest.mark.parametrize(
    "text", ["missed-restore", "x@1", "x@1:2", "x@a:1/1", "x@1:0/1", "@1:1/1", ""]
)
def test_what_is_no_order_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageError, match="putting a fault in"):
        parse_order(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no-such@0:1/1", "there is no fault 'no-such'"),
        ("missed-restore@0:1/0", "K of 1 or more"),
        ("duplicate-seeds@0:1/2", "K of 0"),
        ("double-seeds@1:2/0", "double-seeds@1:1/0"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_fault(parse_order(text))
