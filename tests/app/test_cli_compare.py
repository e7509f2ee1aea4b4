from __future__ import annotations

import pytest

from tests.app.cli import as_json, path, printed, refused

SHARED = path("shared_cartpole_2env")
MISSED = path("shared_cartpole_missed_restore")
ALONE = path("independent_cartpole_env0")
DOUBLE = path("fp64_shared_cartpole_2env")


def test_the_written_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "compare", SHARED, MISSED, status=1)
    assert found["schema"] == "isoscope.compare/1"
    assert (found["a"], found["b"]) == (SHARED, MISSED)
    first = found["first_divergence"]
    assert (first["env"], first["episode"], first["control_step"]) == (0, 1, 9)
    assert found["claims"]["bit_for_bit"]["answer"] == "no"


@pytest.mark.parametrize("b", [SHARED, ALONE, DOUBLE, path("shared_cartpole_midstart")])
def test_the_status_is_0_where_nothing_diverges(
    b: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, "compare", SHARED, b, status=0)
    assert found["first_divergence"] is None
    assert found["claims"]["within_tolerance"]["answer"] == "yes"


def test_a_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    tight = as_json(capsys, "compare", SHARED, DOUBLE, "--tolerance", "1e-7", status=1)
    assert tight["tolerance"] == 1e-7
    printed(capsys, "compare", SHARED, MISSED, "--tolerance", "10", status=1)


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "compare", SHARED, MISSED, status=1)
    assert out.startswith("env 0 departs at episode 1, control step 9 (native step 34)")
    assert "\nbit for bit         no " in out
    assert "in B it went on from env 1's state" in out
    assert "Largest differences" in out
    same = printed(capsys, "compare", SHARED, ALONE)
    assert same.startswith("1 environment equal to the last bit in 62 native steps.\n")
    assert "Largest differences" not in same
    assert "environments  2     1" in same
    assert "only A has environment 1" in same


def test_nothing_in_common_is_no_divergence(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "compare", SHARED, path("no_state"))
    assert out.startswith("Nothing could be compared: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SHARED], "missing argument 'B'"),
        ([SHARED, path("killed")], "its writer died"),
        ([path("killed"), SHARED], "its writer died"),
        ([SHARED, ALONE, "--tolerance", "-1"], "give a number of at least 0"),
        ([SHARED, ALONE, "--tolerance", "nan"], "give a number of at least 0"),
    ],
)
def test_wrong_arguments_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "compare", *arguments)
