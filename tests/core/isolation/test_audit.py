"""The audit as a whole: its written form, its order, users' own checks."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from isoscope.core.errors import CancelledError, UsageError
from isoscope.core.isolation import audit as audit_module
from isoscope.core.isolation import registry
from isoscope.core.isolation.audit import audit, merged, together
from isoscope.core.isolation.context import Context, runs
from isoscope.core.isolation.findings import (
    SEVERITIES,
    Audit,
    CheckRan,
    Finding,
    NotRun,
    worst_first,
)
from isoscope.core.jsonform import encode
from tests.core.isolation.worlds import World, examine, push_of, shared

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
# All ids there are to be, by severity; some checks may not be here yet.
IDS = {
    "error": "missed-restore snapshot-lost restore-failed hidden-leak config-changed "
    "stale-read scene-key cleanup-failed thread-shared-scene step-after-done reset-row "
    "final-observation end-flags aliasing observation-schema action-range non-finite "
    "unconverged masked-info absent-field target-as-action",
    "warning": "duplicate-seeds identical-start same-seed-every-reset "
    "unseeded-action-space shared-task-state context-threads hidden-state-not-reset "
    "frame-restamped callback-moved-state handle-as-env rounded-values profile-sum "
    "incomplete-recording clock-mismatch return-units",
    "note": "rewind zero-step free-scene",
}
# What a bare recording can show by itself.
BARE = {
    *("missed-restore", "config-changed", "absent-field", "non-finite"),
    *("identical-start", "callback-moved-state", "incomplete-recording"),
    *("rounded-values", "clock-mismatch", "rewind", "zero-step", "free-scene"),
}


def test_the_checks_and_their_severities() -> None:
    for key, check in registry.all_checks().items():
        assert key in IDS[check.SEVERITY].split()
        assert check.ABOUT


def test_the_written_form() -> None:
    path = RECORDINGS / "shared_cartpole_leak_gravity.h5"
    written = json.loads(encode(audit(Context(examine(path)))))
    assert next(iter(written)) == "schema"
    assert written["schema"] == "isoscope.audit/1"
    assert written["files"] == [str(path)]
    (finding,) = written["findings"]
    assert (
        finding.items()
        >= {
            "id": "config-changed",
            "severity": "error",
            "env": 1,
            "other_env": 0,
            "episode": 2,
            "control_step": 6,
            "native": [65, 66],
            "field": "gravity",
            "value": [0.0, -3.0, 0.0],
            "confidence": 1.0,
        }.items()
    )
    assert finding["expected"] == pytest.approx([0, -9.8, 0])
    assert finding["affected"] == [
        {"env": 0, "episode": 2, "control_step": 4, "native": 68}
    ]
    assert isinstance(finding["message"], str)
    assert isinstance(finding["remedy"], str)
    (not_run,) = [one for one in written["not_run"] if one["id"] == "hidden-leak"]
    assert not_run["reason"] == "a bare recording can't show it"
    assert "--reference" in not_run["needs"]
    ran = {check["id"]: check["ran"] for check in written["checks"]}
    assert set(ran) == set(registry.CHECKS)
    assert {key for key, value in ran.items() if value} >= BARE
    assert {one["id"] for one in written["not_run"]} == {k for k in ran if not ran[k]}
    assert all(one["needs"] for one in written["not_run"])


def test_unknown_is_null_and_numbers_that_are_not_finite_are_text() -> None:
    recording = shared(2, 8).recording()
    recording.actors[0].fields.tracks["rotation"].values[5] = float("nan")
    written = json.loads(encode(audit(Context(examine(recording)))))
    finding = next(f for f in written["findings"] if f["id"] == "non-finite")
    assert finding["value"] == "nan"
    assert finding["other_env"] is None
    assert finding["expected"] is None


def test_findings_come_worst_first() -> None:
    made = [
        Finding(id=str(k), severity=s, message="", remedy="", native=(n, n))
        for k, (s, n) in enumerate(
            [("note", 1), ("error", 9), ("warning", 2), ("error", 3)]
        )
    ]
    assert [f.id for f in worst_first(made)] == ["3", "1", "2", "0"]
    assert SEVERITIES == ("error", "warning", "note")


def test_several_files_are_put_together() -> None:
    names = ["shared_cartpole_missed_restore", "no_state"]
    both = [audit(Context(examine(RECORDINGS / f"{n}.h5"))) for n in names]
    together = merged(both)
    assert [Path(f).stem for f in together.files] == names
    assert together.findings[0].file == together.files[0]
    assert {n.file for n in together.not_run} == set(together.files)
    ran = {check.id: check.ran for check in together.checks}
    assert ran["missed-restore"]  # it did on one of them
    assert len(together.checks) == len(both[0].checks)


def test_a_run_in_which_every_step_is_wrong_lists_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_module, "LISTED_AT_MOST", 5)
    world = World()
    world.reset(0)
    for k in range(24):
        world.step(0, push_of(0, k))
        world.native(0.0)
    done = audit(Context(examine(world)))
    assert sum(f.id == "zero-step" for f in done.findings) == 5
    (check,) = [c for c in done.checks if c.id == "zero-step"]
    assert check.found == 24


def test_it_can_be_stopped_and_tells_how_far_it_is() -> None:
    context = Context(examine(shared(2, 4)))
    told: list[tuple[int, int]] = []
    audit(context, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == len(registry.all_checks())
    with pytest.raises(CancelledError, match="was stopped"):
        audit(context, cancelled=lambda: True)


# -- users' own checks -----------------------------------------------------------------


OWN = SimpleNamespace(
    ID="own",
    SEVERITY="warning",
    ABOUT="what we look for",
    run=lambda context: [
        Finding(id="own", severity="warning", message="ours", remedy="none")
    ],
)


def _joins(monkeypatch: pytest.MonkeyPatch, check: object) -> None:
    entry = EntryPoint("own", "somewhere:check", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: check)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])


def test_a_check_of_the_user_s_own_has_the_same_standing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _joins(monkeypatch, OWN)
    done = audit(Context(examine(shared(2, 4))))
    assert [f.message for f in done.findings] == ["ours"]
    assert done.checks[-1].id == "own"


def test_a_check_may_not_take_another_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    _joins(monkeypatch, SimpleNamespace(**{**vars(OWN), "ID": "rewind"}))
    with pytest.raises(UsageError, match="is there already"):
        registry.all_checks()


def test_a_check_by_its_id() -> None:
    assert registry.check("rewind").SEVERITY == "note"
    with pytest.raises(UsageError, match="no check 'rewinds'; there is missed-restore"):
        registry.check("rewinds")


def test_rows_as_ranges() -> None:
    import numpy as np

    assert runs(np.array([], np.int64)) == []
    assert runs(np.array([3, 4, 5, 9, 11, 12])) == [(3, 5), (9, 9), (11, 12)]


def test_two_audits_of_one_recording_together() -> None:
    def said(*ran: str, found: tuple[str, ...] = (), not_run: tuple[str, ...] = ()):
        words = {"severity": "error", "message": "", "remedy": ""}
        return Audit(
            files=["run"],
            findings=[Finding(id=key, **words) for key in found],
            not_run=[NotRun(id=key, reason="waits", needs="more") for key in not_run],
            checks=[
                *(CheckRan(id=key, ran=True, found=found.count(key)) for key in ran),
                *(CheckRan(id=key, ran=False) for key in not_run),
            ],
        )

    before = said("a", "b", found=("a", "b"), not_run=("c",))
    later = said("a", found=(), not_run=("b", "c"))
    both = together(later, before)
    # what the later one looked at counts, and only what it can't is kept
    assert [f.id for f in both.findings] == ["b"]
    assert {c.id: c.ran for c in both.checks} == {"a": True, "b": True, "c": False}
    assert [one.id for one in both.not_run] == ["c"]
