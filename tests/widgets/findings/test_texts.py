"""The words of the findings' table, for real findings and made-up ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.isolation.findings import Affected, Audit, CheckRan, Finding, NotRun
from isoscope.core.isolation.stretches import Stretch
from isoscope.widgets.findings.details import details_html, plain_text, quiet_html
from isoscope.widgets.findings.rows import Folded, counts, rows_of
from isoscope.widgets.findings.texts import (
    before_after,
    envs_of,
    envs_text,
    evidence_line,
    facts,
    place_of,
)
from isoscope.widgets.theme import DARK
from tests.widgets.opened import analysed_document

if TYPE_CHECKING:
    from pathlib import Path


def finding(id: str = "non-finite", **more: object) -> Finding:
    given = {"severity": "error", "headline": "it is so", "message": "it is so: 1"}
    return Finding(id=id, remedy="do this", **{**given, **more})


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        (
            "shared_cartpole_missed_restore",
            [
                (
                    "▲ error",
                    "missed-restore",
                    "env 0 ← env 1",
                    "1/9",
                    "0.101 m off its own state",
                )
            ],
        ),
        (
            "shared_cartpole_leak_gravity",
            [
                (
                    "▲ error",
                    "config-changed",
                    "env 1 → env 0",
                    "2/6",
                    "gravity y -9.8 → -3 m/s²",
                )
            ],
        ),
        (
            "restore_twice",
            [
                (
                    "○ note",
                    "rewind",
                    "env 0",
                    f"native {row}",
                    f"native {row - 1} was given up for the beginning",
                )
                for row in (15, 30)
            ],
        ),
    ],
)
def test_real_findings(recordings: Path, name: str, cells: list) -> None:
    analysis = analysed_document(recordings / f"{name}.h5").analysis
    assert analysis is not None
    rows = rows_of(analysis.audit, ["error", "warning", "note"])
    assert [row.texts for row in rows] == cells


def test_what_could_not_run_comes_last_and_can_be_left_out() -> None:
    audit = Audit(
        files=["a"],
        findings=[finding(), finding(severity="note")],
        not_run=[NotRun(id="hidden-leak", reason="no twin", needs="a twin")],
        checks=[CheckRan(id="non-finite", ran=True)],
    )
    assert [row.group for row in rows_of(audit)] == ["error", "note", "not run"]
    assert [row.at for row in rows_of(audit)] == [0, 1, None]
    assert [row.at for row in rows_of(audit, ["note"])] == [1]
    assert counts(audit) == {"error": 1, "warning": 0, "note": 1, "not run": 1}
    assert rows_of(None) == []
    assert rows_of(audit, unfolded=False) == rows_of(audit)  # one needs no folding


def test_many_that_could_not_run_are_below_one_line() -> None:
    reasons = ["odd", "bare", "bare", "bare"]
    checks = [
        NotRun(id=f"check-{i}", reason=reason, needs="more")
        for i, reason in enumerate(reasons)
    ]
    audit = Audit(files=["a.h5"], findings=[], not_run=checks, checks=[])
    (line,) = rows_of(audit, unfolded=False)
    assert line.texts[1:] == ("▸ 4 checks", "", "—", "bare (3), and other reasons")
    assert isinstance(line.of, Folded)
    assert line.of.reasons == [
        ("bare", ["check-1", "check-2", "check-3"]),
        ("odd", ["check-0"]),
    ]
    said = details_html(line.of, DARK)
    assert "Bare. So these did not look: check-1, check-2, check-3." in said
    listed = rows_of(audit)
    assert listed[0].texts[1] == "▾ 4 checks"
    assert [row.id for row in listed[1:]] == [one.id for one in checks]
    assert rows_of(audit, ["error"], unfolded=False) == []
    assert sum(counts(None).values()) == 0


def test_who_and_where_where_little_is_known() -> None:
    assert envs_text(finding()) == "scene"
    assert envs_text(finding("missed-restore", env=2)) == "env 2 ← ?"
    assert envs_text(finding("identical-start", env=2, other_env=3)) == "envs 2, 3"
    assert place_of(finding()) == "—"
    assert place_of(finding(native=(1500, 1600))) == "native 1,500"
    assert place_of(finding(native=(1, 1), episode=2, control_step=0)) == "2/0"


def test_many_environments_are_counted() -> None:
    reached = tuple(
        Affected(env=e, episode=1, control_step=1, native=e) for e in range(1, 9)
    )
    found = finding(env=0, affected=reached)
    assert envs_text(found) == "env 0 → env 1 +7"
    assert envs_of(found) == (0, 1, 2, 3)


def test_evidence_that_is_missing_leaves_the_headline() -> None:
    assert evidence_line(finding("missed-restore")) == "it is so"
    assert evidence_line(finding("rewind")) == "it is so"
    odd = finding("missed-restore", evidence={"distance_to_own_state_m": float("nan")})
    assert evidence_line(odd) == "it is so"


def test_facts_have_units_and_leave_out_what_is_not_there() -> None:
    found = finding(
        native=(3, 9),
        field="Ball.vcom",
        value=float("inf"),
        confidence=0.5,
        evidence={"rows": 7, "residual_m": 0.25, "own_last_native": None, "ok": True},
    )
    said = dict(facts(found, [Stretch(i, i, 1) for i in range(6)]))
    assert said["native steps"] == "3 to 9"
    assert said["residual [m]"] == "0.25"
    assert said["value"] == "inf"
    assert said["rows"] == "7"
    assert said["ok"] == "yes"
    assert said["confidence"] == "0.5"
    assert said["tainted"] == "2 more ranges"
    assert "own last native" not in said


def test_before_and_after_are_told_of_changes_only() -> None:
    assert before_after(finding(native=(1, 2))) is None
    changed = finding(
        "config-changed", native=(1, 2), expected=[1.0], value=[2.0], field="x"
    )
    assert before_after(changed) == ("(1) at native step 1", "(2) at native step 2")
    html = details_html(changed, DARK)
    assert "before" in html
    assert "after" in html


def test_markup_in_a_name_stays_text() -> None:
    html = details_html(finding(message="<b>Ball</b> & co"), DARK)
    assert "&lt;b&gt;Ball&lt;/b&gt; &amp; co." in html


def test_a_check_that_could_not_run_says_what_it_needs() -> None:
    missing = NotRun(id="hidden-leak", reason="no twin was given", needs="a twin")
    html = details_html(missing, DARK)
    assert "No twin was given. It needs a twin." in html
    assert "independent twin" in html  # how to give it, here
    assert plain_text(missing) == (
        "hidden-leak could not run: no twin was given; it needs a twin"
    )


def test_no_finding_says_which_checks_looked() -> None:
    audit = Audit(
        files=["a"],
        findings=[],
        not_run=[],
        checks=[CheckRan(id="rewind", ran=True), CheckRan(id="zero-step", ran=True)],
    )
    html = quiet_html(audit, DARK)
    assert "No findings." in html
    assert "rewind and zero-step" in html


def test_a_copied_finding_is_whole() -> None:
    text = plain_text(finding(native=(4, 4)))
    assert text.splitlines() == [
        "error non-finite: it is so: 1",
        "do this",
        "native step: 4",
    ]
