"""Each rule: what makes it fail, where it says that is, and what doesn't."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.model import Dropped, Episode, Feature
from isoscope.core.dataset.validate import run
from isoscope.core.dataset.validate.registry import RULES
from isoscope.core.dataset.validate.report import Report, Waiver
from isoscope.core.dataset.validate.run import validate
from isoscope.core.errors import CancelledError, UsageError
from isoscope.core.isolation.findings import Audit, Finding
from isoscope.core.jsonform import decode, encode

F4, F8, BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
FEATURES = (
    Feature("observation", "observation", F4, (2,), names=("x", "v"), per="boundary"),
    Feature("action", "action", F4, (1,), low=(-1.0,), high=(1.0,)),
    Feature("reward", "reward", F8),
    Feature("terminated", "terminated", BOOL),
    Feature("time", "time", F4),
)


def good(*lengths: int, seed: int = 0) -> MemoryEpisodes:
    """Episodes that nothing is wrong with."""
    rng = np.random.default_rng(seed)
    episodes, columns = [], []
    for index, n in enumerate(lengths):
        ended = np.arange(n) == n - 1
        columns.append(
            {
                "observation": rng.normal(size=(n + 1, 2)).astype(np.float32),
                "action": rng.uniform(-1, 1, (n, 1)).astype(np.float32),
                "reward": np.ones(n),
                "terminated": ended,
                "time": (np.arange(n) / 25).astype(np.float32),
            }
        )
        episodes.append(
            Episode(index, f"ep{index}", n, env=0, terminated=True, truncated=False)
        )
    return MemoryEpisodes("made", FEATURES, episodes, columns, control_hz=25.0)


def answers(report: Report) -> dict[str, str]:
    return {rule.id: rule.answer for rule in report.rules}


def one(source: MemoryEpisodes, key: str, **more: Any):
    report = validate(source, **more)
    return next(rule for rule in report.rules if rule.id == key)


def test_good_episodes_pass_every_rule() -> None:
    source = replace(good(30, 40), dropped=[Dropped("resets", 2)])
    report = validate(source)
    told = answers(report)
    # Of what a dataset in memory has not; test_stored_rules has those that do.
    for key in ("stats", "masks", "loss-mask", "trajectory-alignment"):
        assert told.pop(key) == "not_checkable"
    assert set(told.values()) == {"passed"}
    assert not report.blocking
    assert report.transitions == 70
    assert [line.return_ for line in report.episodes] == [30, 40]
    assert [line.return_s for line in report.episodes] == [1.2, 1.6]
    assert report.dropped == [{"why": "resets", "count": 2}]
    assert decode(encode(report), Report) == report
    assert b'"return":30' in encode(report)


@pytest.mark.parametrize("window", [1, 7, 64, 1 << 20])
def test_windows_change_nothing(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    source = good(30, 40)
    source.columns[1]["observation"][[3, 4], 1] = np.nan
    source.columns[1]["time"][20:] += 0.04
    whole = validate(source)
    monkeypatch.setattr(run, "WINDOW_BYTES", window)
    parts = validate(source)
    assert answers(whole) == answers(parts)
    first = [(r.id, r.count, encode(w)) for r in whole.rules for w in r.where[:1]]
    assert first == [
        (r.id, r.count, encode(w)) for r in parts.rules for w in r.where[:1]
    ]
    assert len(first) == 2


def test_what_is_not_finite_is_counted_and_located() -> None:
    source = good(30, 40)
    source.columns[1]["observation"][5, 1] = np.nan
    source.columns[1]["reward"][7] = -np.inf
    rule = one(source, "finite")
    assert (rule.answer, rule.count, rule.blocks) == ("failed", 2, True)
    places = {(w.episode, w.feature, w.step, w.component) for w in rule.where}
    assert places == {("ep1", "observation", 5, 1), ("ep1", "reward", 7, 0)}


def test_a_spike_and_a_joint_that_never_moves() -> None:
    source = good(300, 40)
    source.columns[0]["observation"][123, 1] = 1e5
    for columns in source.columns:
        columns["observation"][:, 0] = 0.5
    spike = one(source, "extreme-values")
    assert [(w.episode, w.step, w.component) for w in spike.where] == [("ep0", 123, 1)]
    constant = one(source, "constant-column")
    assert [(w.feature, w.component, w.value) for w in constant.where] == [
        ("observation", 0, 0.5)
    ]
    assert (constant.severity, spike.severity) == ("warning", "warning")


def test_usual_tails_are_no_extreme_values() -> None:
    rng = np.random.default_rng(3)
    source = good(5000)
    source.columns[0]["observation"][:, 0] = rng.standard_t(3, 5001)
    assert one(source, "extreme-values").answer == "passed"


@pytest.mark.parametrize(
    ("rows", "words"),
    [(267, "50 more than there are control steps"), (216, "ambiguous"), (217, "which")],
)
def test_a_surplus_is_an_error_and_never_cut(rows: int, words: str) -> None:
    source = good(217)
    source.columns[0]["observation"] = np.zeros((rows, 2), np.float32)
    rule = one(source, "lengths")
    assert rule.blocks
    assert words in rule.where[0].value
    assert rule.where[0].expected == 218


def test_an_episode_without_its_final_observation_is_named() -> None:
    source = good(20)
    source.episodes = [replace(source.episodes[0], final=False)]
    source.columns[0]["observation"] = source.columns[0]["observation"][:-1]
    rule = one(source, "lengths")
    assert (rule.answer, rule.message) == ("passed", "observations: 1 pre-step")


def test_actions_out_of_bounds_are_named_raw_ones_may_be() -> None:
    source = good(20)
    source.columns[0]["action"][4] = 1.5
    rule = one(source, "action-bounds")
    assert (rule.where[0].step, rule.where[0].expected) == (4, [-1.0, 1.0])
    raw = replace(source, features=[_as_raw(f) for f in FEATURES])
    assert one(raw, "action-bounds").answer == "not_checkable"


def _as_raw(feature: Feature) -> Feature:
    return replace(feature, role="raw_action") if feature.role == "action" else feature


def test_an_end_in_the_middle_and_no_end_at_all() -> None:
    source = good(20, 20)
    source.columns[0]["terminated"][3] = True
    source.episodes = [
        source.episodes[0],
        replace(source.episodes[1], terminated=False, complete=False),
    ]
    assert one(source, "ends").where[0].step == 3
    incomplete = one(source, "incomplete")
    assert [w.episode for w in incomplete.where] == ["ep1"]
    assert not incomplete.blocks


def test_a_missing_row_shows_in_the_times() -> None:
    source = good(20)
    source.columns[0]["time"][8:] += np.float32(0.04)
    rule = one(source, "timestamps")
    assert (rule.count, rule.where[0].step) == (1, 8)
    assert one(replace(source, control_hz=None), "timestamps").answer == "not_checkable"


def test_long_float32_times_are_as_coarse_as_they_are() -> None:
    source = good(3)
    n = 200_000
    source.columns[0]["time"] = (np.arange(n) / 25).astype(np.float32)
    assert one(source, "timestamps").answer == "passed"


def test_a_copy_of_an_episode_is_found() -> None:
    source = good(20, 20)
    source.columns = [source.columns[0], source.columns[0]]
    rule = one(source, "duplicates")
    assert [(w.episode, w.value) for w in rule.where] == [("ep1", "equals ep0")]


def test_rounded_columns_are_found() -> None:
    source = good(400)
    source.columns[0]["observation"] = np.round(source.columns[0]["observation"], 3)
    assert one(source, "rounded-columns").where[0].feature == "observation"


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (FEATURES[1:], "an observation"),
        (FEATURES[:1], "an action"),
        ((*FEATURES, FEATURES[2]), "declared 2 times"),
        ((replace(FEATURES[0], names=("x",)), FEATURES[1]), "1 names"),
        ((replace(FEATURES[0], names=("x", "x")), FEATURES[1]), "two components"),
        ((FEATURES[0], replace(FEATURES[1], low=(2.0,))), "low above high"),
    ],
)
def test_declarations_that_contradict_themselves(features, words: str) -> None:
    rule = one(replace(good(20), features=features), "schema")
    assert rule.blocks
    assert any(words in f"{w.value} {w.expected}" for w in rule.where)


def finding(severity: str) -> Finding:
    return Finding(
        id="missed-restore",
        severity=severity,
        env=0,
        episode=1,
        control_step=9,
        headline="h",
        message="env 0 went on from env 1's state",
        remedy="r",
    )


def test_findings_of_the_audit_block_and_can_be_waived() -> None:
    source = good(20)
    audit = Audit(files=["made"], findings=[finding("error")], not_run=[], checks=[])
    report = validate(source, audit)
    rule = report.failed[0]
    assert (rule.id, rule.blocks, rule.where[0].step) == (
        "audit:missed-restore",
        True,
        8,
    )
    waiver = Waiver(rule="audit:missed-restore", by="me", why="known")
    waived = validate(source, audit, [waiver])
    assert not waived.blocking
    last = waived.rules[-1]
    assert (last.answer, last.waived_by, last.why) == ("waived", "me", "known")


def test_a_waiver_of_nothing_is_refused_and_of_what_passes_is_no_matter() -> None:
    with pytest.raises(UsageError, match="no rule 'audit:x' to waive; readable,"):
        validate(good(3), waivers=[Waiver(rule="audit:x", by="me", why="")])
    passed = validate(good(20), waivers=[Waiver(rule="finite", by="me", why="")])
    assert answers(passed)["finite"] == "passed"


def test_it_can_be_stopped() -> None:
    done = []
    with pytest.raises(CancelledError):
        validate(
            good(3, 3, 3),
            progress=lambda n, of: done.append((n, of)),
            cancelled=lambda: len(done) == 2,
        )
    assert done == [(1, 3), (2, 3)]


def test_every_rule_names_itself() -> None:
    from isoscope.core.dataset.validate.registry import rule

    assert [rule(key).ID for key in RULES] == list(RULES)
