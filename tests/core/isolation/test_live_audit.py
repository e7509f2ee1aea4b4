"""The audit of a run while it goes on: the same findings, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.isolation import incremental
from isoscope.core.isolation.incremental import Incremental, LiveAudit
from isoscope.core.isolation.registry import all_checks
from isoscope.core.recording.labelled.reader import LabelledSource
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.isolation.findings import Finding

KEEP_UP = {
    *("missed-restore", "snapshot-lost", "restore-failed", "cleanup-failed"),
    *("thread-shared-scene", "unconverged"),
}


def _missed(run: Run) -> None:
    run.step(1, restore=False)


def _refused(run: Run) -> None:
    run.event("restore", 1, ok=0, detail={"problem": "gone"})


def _lost(run: Run) -> None:
    run.k[1] += 1
    run.restore(1)
    run.event("exception", 1, ok=0, detail={"doing": "step", "problem": "torn"})
    run.reset(1)


def _thread(run: Run) -> None:
    run.thread += 1
    run.step(1)
    run.thread -= 1


def _diverged(run: Run) -> None:
    run.step(1, native={"solver_status": 2})


def _cleanup(run: Run) -> None:
    run.event("cleanup", -1, ok=0, detail={"problem": "busy"})


FAULTS: dict[str, Callable[[Run], None]] = {
    "missed-restore": _missed,
    "restore-failed": _refused,
    "snapshot-lost": _lost,
    "thread-shared-scene": _thread,
    "unconverged": _diverged,
    "cleanup-failed": _cleanup,
}


class Following:
    """A live audit of a made run."""

    def __init__(self, run: Run, **more: Any) -> None:
        self.run = run
        run.recorder.flush(10.0)
        self.source = LabelledSource(run.path)
        self.live = LiveAudit(self.source.labelled, **more)

    def look(self) -> list[Finding]:
        self.run.recorder.flush(10.0)
        self.source.refresh()
        return self.live.update()


def _plain(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return sorted(
        (f.id, f.env, f.episode, f.control_step, f.headline) for f in findings
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_it_finds_what_the_whole_audit_finds(tmp_path: Path, fault: str) -> None:
    run = Run(tmp_path, 3).resets()
    following = Following(run)
    assert following.look() == []
    found: list[Finding] = []
    for k in range(4):
        run.step(0)
        found += following.look()  # in the middle of a round of turns
        if k == 2:
            FAULTS[fault](run)
        else:
            run.step(1)
        found += following.look()
        run.step(2)
    found += following.look() + following.live.finish()
    whole = [f for f in run.findings() if f.id in KEEP_UP]
    assert [f.id for f in found] == [fault]
    assert _plain(found) == _plain(whole)


def test_windows_of_any_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, 3).resets().steps(3)
    for fault in FAULTS.values():
        fault(run)
        run.steps(2)
    for rows in (3, 7, 1000):
        monkeypatch.setattr(incremental, "WINDOW_ROWS", rows)
        live = LiveAudit(run.examine().recording.labelled)
        found = live.update() + live.finish()
        whole = [f for f in run.findings() if f.id in KEEP_UP]
        assert {f.id for f in found} == set(FAULTS)
        assert _plain(found) == _plain(whole), rows


def test_which_checks_keep_up_and_which_say_that_they_do_not(tmp_path: Path) -> None:
    checks = all_checks()
    able = {key for key, check in checks.items() if isinstance(check, Incremental)}
    assert able >= KEEP_UP
    run = Run(tmp_path, 2).resets().steps(2)
    live = Following(run)
    live.look()
    assert {one.id for one in live.live.not_run} >= set(checks) - able


def test_it_keeps_to_its_memory(tmp_path: Path) -> None:
    run = Run(tmp_path, 4).resets().steps(3)
    live = Following(run)
    live.look()
    kept = live.live.nbytes
    for _ in range(4):
        run.steps(6)
        live.look()
    assert live.live.nbytes <= 2 * kept
    small = Following(run, memory_bytes=kept // 2)
    small.look()
    assert small.live.nbytes <= kept // 2
    reasons = [one.reason for one in small.live.not_run]
    assert "it would need more memory than the live audit may take" in reasons
