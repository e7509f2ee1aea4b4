"""What findings taint: rows and transitions, with their reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoscope.core.isolation.findings import Affected, Finding, Taint
from isoscope.core.isolation.tainting import row_reasons, tainted
from tests.core.isolation.building import Run
from tests.core.isolation.worlds import examine, shared

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.context import Examined


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    run = Run(tmp_path_factory.mktemp("run"), 3).resets().steps(4)
    for env in range(3):
        run.reset(env)
    return run.steps(3).examine()


def _of(*taints: Taint, severity: str = "error") -> Finding:
    return Finding(
        id="made",
        severity=severity,  # type: ignore[arg-type]
        message="",
        remedy="",
        taints=taints,
    )


def test_until_the_next_reset(examined: Examined) -> None:
    row = 3 + 2 * 6 + 2  # env 1's third control step
    found = tainted(examined, [_of(Taint(env=1, native=(row, None)))])
    labels = examined.attribution.labels
    rows = np.arange(len(labels))
    expected = (labels.env == 1) & (labels.episode == 1) & (rows >= row)
    np.testing.assert_array_equal(found.rows, expected)
    table = examined.recording.labelled.columns("transitions")
    steps = (table["env"] == 1) & (table["episode"] == 1) & (table["control_step"] > 2)
    np.testing.assert_array_equal(found.transitions, steps)
    assert found.why_row(row) == list(found.findings)
    assert found.why_row(row - 1) == []
    assert found.row_reason[row] == 0
    assert found.row_reason[row - 1] == -1


def test_a_reset_after_what_happened_makes_it_well(examined: Examined) -> None:
    reset = int(np.flatnonzero(examined.attribution.labels.episode == 2)[1])  # env 1's
    taint = Taint(env=1, native=(reset, None))
    assert tainted(examined, [_of(taint)]).rows[reset]
    between = Taint(env=1, native=(reset, None), between=True)
    assert not tainted(examined, [_of(between)]).rows.any()


def test_a_transition_alone(examined: Examined) -> None:
    here = Taint(env=2, transition=(8, None), until="here")
    found = tainted(examined, [_of(here)])
    assert np.flatnonzero(found.transitions).tolist() == [8]
    assert not found.rows.any()
    on = tainted(examined, [_of(Taint(env=2, transition=(8, None)))])
    table = examined.recording.labelled.columns("transitions")
    numbers = np.arange(len(table["env"]))
    expected = (table["env"] == 2) & (table["episode"] == 1) & (numbers >= 8)
    np.testing.assert_array_equal(on.transitions, expected)


def test_the_first_reason_is_told_first(examined: Examined) -> None:
    worse = _of(Taint(env=0, native=(5, 20)))
    other = _of(Taint(env=0, native=(10, None), until="end"), severity="warning")
    found = tainted(examined, [worse, other])
    row = int(examined.attribution.rows_of(0)[5])
    assert found.row_reason[row] == 0
    assert found.why_row(row) == [worse, other]
    last = int(examined.attribution.rows_of(0)[-1])
    assert found.why_row(last) == [other]


def test_ranges_of_a_bare_recording_s_findings() -> None:
    examined = examine(shared(2, 6))
    found = Finding(
        id="old",
        severity="error",
        message="",
        remedy="",
        env=0,
        tainted=((6, 13),),
        affected=(Affected(env=1, episode=1, control_step=2, native=6),),
    )
    spoilt = tainted(examined, [found])
    assert len(spoilt.transitions) == 0
    env = examined.attribution.labels.env
    rows = np.arange(len(env))
    expected = (env == 1) & (rows >= 6) & (rows <= 13)
    np.testing.assert_array_equal(spoilt.rows, expected)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    env=st.sampled_from([0, 1, 2]),
    first=st.integers(0, 60),
    until=st.sampled_from(["here", "reset", "end"]),
)
def test_only_the_environment_s_own_from_there_on(
    examined: Examined, env: int, first: int, until: str
) -> None:
    taint = Taint(env=env, native=(first, None), until=until)  # type: ignore[arg-type]
    found = tainted(examined, [_of(taint)])
    rows = np.flatnonzero(found.rows)
    assert (examined.attribution.labels.env[rows] == env).all()
    assert (rows >= first).all()
    table = examined.recording.labelled.columns("transitions")
    took = found.transitions
    assert (table["env"][took] == env).all()
    for low, high, hit in zip(table["first_row"], table["last_row"], took, strict=True):
        assert hit == bool(found.rows[low : high + 1].any())
    labels = examined.attribution.labels
    np.testing.assert_array_equal(row_reasons(labels, found.findings), found.row_reason)
    more = {e: np.append(examined.rows_of(e), [10**6]) for e in range(3)}
    np.testing.assert_array_equal(
        row_reasons(labels, found.findings, more.__getitem__), found.row_reason
    )
    wider = tainted(examined, [_of(Taint(env=env, native=(first, None), until="end"))])
    assert (wider.rows >= found.rows).all()


def test_the_written_form_keeps_them(tmp_path: Path) -> None:
    import msgspec

    run = Run(tmp_path, 2).resets().steps(2)
    run.step(1, restore=False)
    run.step(0, restore=False)
    audit = run.audit()
    again = msgspec.json.decode(msgspec.json.encode(audit), type=type(audit))
    assert again == audit
    assert all(finding.taints for finding in audit.findings)
