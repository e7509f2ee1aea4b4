"""What a query can ask; which findings touch what; picking by list and by query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoscope.core.dataset.curate.columns import Touches, columns, of_what_is_kept
from isoscope.core.dataset.curate.curated import curated
from isoscope.core.dataset.curate.edits import Choice, Judge, Split, Tag, Trim
from isoscope.core.dataset.curate.picking import keep_listed, keep_matching
from isoscope.core.errors import UsageError
from isoscope.core.isolation.findings import Audit, Finding
from isoscope.core.isolation.tainting import Span, Tainted
from tests.core.dataset.made import made


def finding(key: str, severity: Any = "error", **more: Any) -> Finding:
    return Finding(id=key, severity=severity, message=key, remedy="", **more)


def table() -> Any:
    """Episodes of 5, 1 and 12 steps in one table of transitions, interleaved."""
    found = made((5, 1, 12), plain=True, envs=2)
    rows = [np.arange(5) * 2, np.array([1]), np.arange(3, 27, 2)]
    found.episodes = [
        replace(e, rows=r) for e, r in zip(found.episodes, rows, strict=True)
    ]
    return found


def touched(
    episodes: Any, findings: list[Finding], spans: list[Span], **more: Any
) -> Touches:
    tainted = Tainted(
        np.zeros(300, np.bool_), np.zeros(40, np.bool_), tuple(findings), tuple(spans)
    )
    return Touches(episodes, tainted, **{"by_transition": True} | more)


NONE = np.zeros(0, np.int64)


def test_columns() -> None:
    episodes = table()
    choice = (
        Choice.all_of(episodes.episodes)
        .after(Judge((episodes.episodes[0].id,), "accepted"))
        .after(Judge((episodes.episodes[1].id,), "rejected"))
        .after(Tag((episodes.episodes[2].id,), "good"))
        .after(Trim(episodes.episodes[2].id, 2, 6))
    )
    found = columns(episodes, choice, query="return > 0")
    assert found["length"].tolist() == [5, 1, 4]
    assert found["env"].tolist() == [0, 1, 0]
    assert found["episode"].tolist() == [1, 1, 2]
    assert found["accepted"].tolist() == [1, 0, 0]
    assert found["rejected"].tolist() == [0, 1, 0]
    assert found["tags"] == [frozenset(), frozenset(), frozenset({"good"})]
    assert found["terminated"].tolist() == [1, 0, 0]
    assert found["truncated"].tolist() == [0, 1, 0]
    assert found["complete"].tolist() == [1, 1, 0]
    assert found["native_first"].tolist() == [0, 100, 200]
    assert found["return"].tolist() == [
        pytest.approx(episodes.columns[0]["reward"].sum()),
        pytest.approx(episodes.columns[1]["reward"].sum()),
        pytest.approx(episodes.columns[2]["reward"][2:6].sum()),
    ]
    assert np.isnan(found["findings"]).all()  # no audit: unknown
    # Nothing is summed up that isn't asked for.
    assert np.isnan(columns(episodes, choice, query="length > 1")["return"]).all()


def test_what_is_cut_away_is_touched_no_more() -> None:
    episodes = table()
    spans = [Span(0, 0, NONE, np.array([6, 8])), Span(1, None, NONE, np.array([1]))]
    findings = [finding("leak"), finding("odd", "warning"), finding("note", "note")]
    touches = touched(episodes, findings, spans)
    choice = Choice.all_of(episodes.episodes)
    assert touches.of(choice.items) == [[0], [1], []]
    found = columns(episodes, choice, touches)
    assert found["errors"].tolist() == [1, 0, 0]
    assert found["warnings"].tolist() == [0, 1, 0]
    assert found["findings"].tolist() == [1, 1, 0]
    first = episodes.episodes[0].id
    assert touches.of(choice.after(Trim(first, 0, 3)).items)[0] == []
    halves = choice.after(Split(first, 3)).items
    assert touches.of(halves)[:2] == [[], [0]]
    audit = Audit(files=["f"], findings=findings, not_run=[], checks=[])
    trimmed = choice.after(Trim(first, 0, 3))
    left = of_what_is_kept(audit, touches, trimmed)
    # A finding without a place stays, whatever was cut.
    assert [f.id for f in left.findings] == ["odd", "note"]
    assert len(of_what_is_kept(audit, touches, choice).findings) == 3


def test_by_native_steps_a_whole_episode_is_touched() -> None:
    episodes = table()  # native steps 0-99 of env 0, 100-199 of env 1, 200-299 of env 0
    spans = [
        Span(0, 0, np.array([50, 150]), NONE),  # 150 is env 1's, which is not meant
        Span(1, None, np.array([99, 100]), NONE),
    ]
    touches = touched(
        episodes, [finding("a"), finding("b")], spans, by_transition=False
    )
    assert touches.of(Choice.all_of(episodes.episodes).items) == [[0, 1], [1], []]


def test_a_finding_that_only_names_an_episode() -> None:
    episodes = table()
    named = finding("a", env=0, episode=2)
    touches = touched(episodes, [named], [])
    assert touches.of(Choice.all_of(episodes.episodes).items) == [[], [], [0]]


def test_tainted_transitions_are_counted_and_noted() -> None:
    episodes = table()
    spoilt = np.zeros(40, np.bool_)
    spoilt[[6, 8, 1, 30]] = True  # 30 is in no episode
    tainted = Tainted(np.zeros(300, np.bool_), spoilt, (), ())
    touches = Touches(episodes, tainted, by_transition=True)
    first = episodes.episodes[0].id
    choice = Choice.all_of(episodes.episodes)
    assert columns(episodes, choice, touches)["tainted"].tolist() == [2, 1, 0]
    trimmed = choice.after(Trim(first, 0, 4))
    assert columns(episodes, trimmed, touches)["tainted"].tolist() == [1, 1, 0]
    kept = curated(episodes, trimmed, touches).episodes
    assert [e.notes["tainted"] for e in kept] == [1, 1, 0]
    edit = keep_matching(
        choice, "tainted == 0", columns(episodes, choice, touches, "tainted == 0")
    )
    assert edit is not None
    assert [item.source for item in choice.after(edit).kept] == [2]


def test_what_is_not_known_is_not_counted() -> None:
    episodes = table()
    choice = Choice.all_of(episodes.episodes)
    assert np.isnan(columns(episodes, choice)["tainted"]).all()
    assert "tainted" not in curated(episodes, choice).episodes[0].notes
    episodes.episodes[1] = replace(episodes.episodes[1], rows=None)
    touches = touched(episodes, [], [])
    np.testing.assert_array_equal(
        columns(episodes, choice, touches)["tainted"], [0, np.nan, 0]
    )
    kept = curated(episodes, choice, touches).episodes
    assert ["tainted" in e.notes for e in kept] == [True, False, True]


def test_by_native_steps_all_of_a_touched_episode_counts() -> None:
    episodes = table()
    spans = [Span(0, 0, np.array([50, 150]), NONE)]
    touches = touched(episodes, [finding("a")], spans, by_transition=False)
    choice = Choice.all_of(episodes.episodes)
    assert touches.tainted_steps(choice.items).tolist() == [5, 0, 0]
    episodes.episodes[2] = replace(episodes.episodes[2], native=None)
    np.testing.assert_array_equal(touches.tainted_steps(choice.items), [5, 0, np.nan])


# -- picking ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("0", [0]),
        ("0-1", [0, 1]),
        ("2, 0", [0, 2]),
        ("e1/../1,2-2", [1, 2]),
        ("0-2", [0, 1, 2]),
    ],
)
def test_by_list(text: str, kept: list[int]) -> None:
    choice = Choice.all_of(made((5, 1, 12)).episodes)
    edit = keep_listed(choice, text)
    after = choice if edit is None else choice.after(edit)
    assert [item.source for item in after.kept] == kept


@pytest.mark.parametrize(
    "text", ["3", "1-3", "2-1", "14", "", "e9", "-1", "0,,1", "99999999999999999999"]
)
def test_a_bad_list_is_refused(text: str) -> None:
    choice = Choice.all_of(made((5, 1, 12)).episodes)
    with pytest.raises(UsageError, match="choosing episodes"):
        keep_listed(choice, text)


def test_by_query() -> None:
    episodes = table()
    choice = Choice.all_of(episodes.episodes)
    edit = keep_matching(choice, "length > 3", columns(episodes, choice))
    assert edit == Judge((episodes.episodes[1].id,), "rejected", "not where length > 3")
    assert keep_matching(choice, "length > 0", columns(episodes, choice)) is None
