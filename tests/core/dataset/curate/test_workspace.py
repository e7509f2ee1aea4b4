"""Edits: reversible, on disk at once, refused whole where they can't be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoscope.core.dataset.curate.curated import curated
from isoscope.core.dataset.curate.edits import Judge, Split, Tag, Trim
from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.errors import ReadError, UsageError, WriteError

if TYPE_CHECKING:
    from pathlib import Path

F8 = np.dtype(np.float64)


def source(*lengths: int) -> MemoryEpisodes:
    features = [
        Feature("observation", "observation", F8, (1,), per="boundary"),
        Feature("reward", "reward", F8),
    ]
    episodes, columns = [], []
    for index, length in enumerate(lengths):
        over = {"terminated": True, "truncated": False}
        episodes.append(
            Episode(index, f"ep{index}", length, rows=np.arange(length), **over)
        )
        base = 100.0 * index
        columns.append(
            {
                "observation": (base + np.arange(length + 1.0))[:, None],
                "reward": base + np.arange(float(length)),
            }
        )
    return MemoryEpisodes("made", features, episodes, columns)


def test_rejected_ones_leave_contiguous_numbers_and_their_old_ids() -> None:
    episodes = source(3, 4, 5, 6, 7)
    workspace = Workspace(episodes)
    workspace.make(Judge(("ep1", "ep3"), "rejected", "short"))
    kept = curated(episodes, workspace.choice)
    assert [(e.index, e.id, e.length) for e in kept.episodes] == [
        (0, "ep0", 3),
        (1, "ep2", 5),
        (2, "ep4", 7),
    ]
    assert kept.read(1, "reward").tolist() == [200, 201, 202, 203, 204]
    assert [(d.count, d.why) for d in kept.dropped] == [
        (10, "transitions of rejected episodes")
    ]


@pytest.mark.parametrize(
    "edit",
    [
        Judge(("ep0", "ep14"), "rejected"),
        Trim("ep0", 0, 4),
        Trim("ep0", -1, 2),
        Trim("ep0", 2, 2),
        Split("ep0", 0),
        Split("ep0", 3),
        Tag(("ep0",), "  "),
    ],
)
def test_a_bad_edit_changes_nothing(tmp_path: Path, edit) -> None:
    workspace = Workspace(source(3, 4), tmp_path / "w")
    workspace.make(Judge(("ep0",), "accepted"))
    before, content = workspace.choice, (tmp_path / "w").read_bytes()
    with pytest.raises(UsageError):
        workspace.make(edit)
    assert workspace.choice is before
    assert (tmp_path / "w").read_bytes() == content


def test_trim_and_split_keep_the_boundaries() -> None:
    episodes = source(5)
    workspace = Workspace(episodes)
    workspace.make(Trim("ep0", 1, 4))
    (trimmed,) = curated(episodes, workspace.choice).episodes
    assert (trimmed.length, trimmed.terminated, trimmed.complete) == (3, False, False)
    assert trimmed.rows is not None
    assert trimmed.rows.tolist() == [1, 2, 3]
    view = curated(episodes, workspace.choice)
    assert view.read(0, "observation")[:, 0].tolist() == [1, 2, 3, 4]
    assert view.read(0, "observation", 3)[:, 0].tolist() == [4]
    assert view.read(0, "reward").tolist() == [1, 2, 3]
    workspace.make(Split("ep0", 1))
    view = curated(episodes, workspace.choice)
    assert [(e.id, e.length, e.complete) for e in view.episodes] == [
        ("ep0/a", 1, False),
        ("ep0/b", 2, False),
    ]
    assert view.read(1, "observation")[:, 0].tolist() == [2, 3, 4]
    workspace.undo()
    workspace.undo()
    (whole,) = curated(episodes, workspace.choice).episodes
    assert (whole.length, whole.terminated, whole.notes) == (5, True, {})


def test_what_was_made_is_there_again(tmp_path: Path) -> None:
    episodes = source(3, 4)
    workspace = Workspace(episodes, tmp_path / "sub" / "w")
    workspace.make(Tag(("ep0", "ep1"), "good"))
    workspace.make(Judge(("ep1",), "rejected"))
    workspace.undo()
    again = Workspace(episodes, tmp_path / "sub" / "w")
    assert again.choice == workspace.choice
    assert again.can_redo
    again.redo()
    assert again.choice.find("ep1").verdict == "rejected"
    assert again.choice.find("ep1").tags == ("good",)


def test_half_a_line_is_left_out_and_overwritten(tmp_path: Path) -> None:
    episodes, path = source(3, 4), tmp_path / "w"
    workspace = Workspace(episodes, path)
    for id in ("ep0", "ep1"):
        workspace.make(Judge((id,), "rejected"))
    content = path.read_bytes()
    for size in range(content.index(b"\n") + 1, len(content)):
        path.write_bytes(content[:size])
        cut = Workspace(episodes, path)
        assert cut.choice.find("ep1").verdict is None
        assert cut.cut_short == (content[size - 1 : size] != b"\n")
        cut.make(Judge(("ep1",), "accepted"))
        assert Workspace(episodes, path).choice == cut.choice


def test_a_workspace_of_another_source_is_refused(tmp_path: Path) -> None:
    Workspace(source(3, 4), tmp_path / "w").make(Judge(("ep0",), "accepted"))
    with pytest.raises(ReadError, match="belongs to made with 2 episodes"):
        Workspace(source(3, 5), tmp_path / "w")
    (tmp_path / "w").write_bytes(b"no journal\n")
    with pytest.raises(ReadError, match="no workspace"):
        Workspace(source(3), tmp_path / "w")


def test_an_edit_that_cant_be_kept_isnt_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    workspace = Workspace(source(3), tmp_path / "file" / "w")
    with pytest.raises(WriteError, match="keeping an edit"):
        workspace.make(Judge(("ep0",), "rejected"))
    assert workspace.edits == ()


EDITS = st.one_of(
    st.builds(
        Judge,
        st.lists(st.sampled_from(["ep0", "ep1", "ep2", "ep1/a"]), max_size=3).map(
            tuple
        ),
        st.sampled_from(["accepted", "rejected", None]),
    ),
    st.builds(Tag, st.just(("ep2",)), st.sampled_from("xy"), st.booleans()),
    st.builds(
        Trim,
        st.sampled_from(["ep0", "ep1", "ep1/b"]),
        st.integers(0, 3),
        st.integers(1, 9),
    ),
    st.builds(Split, st.sampled_from(["ep1", "ep1/a", "ep2"]), st.integers(0, 5)),
    st.sampled_from(["undo", "redo"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, max_size=90))
def test_undo_goes_back_exactly_and_the_journal_agrees(tmp_path: Path, edits) -> None:
    path = tmp_path / "w"
    path.unlink(missing_ok=True)
    episodes = source(4, 8, 9)
    workspace = Workspace(episodes, path)
    past, future = [workspace.choice], []
    for edit in edits:
        if edit == "undo":
            if len(past) > 1:
                workspace.undo()
                future.append(past.pop())
        elif edit == "redo":
            if future:
                workspace.redo()
                past.append(future.pop())
        else:
            try:
                workspace.make(edit)
            except UsageError:
                continue
            past.append(workspace.choice)
            future = []
        assert workspace.choice == past[-1]
    assert Workspace(episodes, path).choice == past[-1]
    kept = curated(episodes, workspace.choice)
    counted = sum(e.length for e in kept.episodes) + sum(d.count for d in kept.dropped)
    assert counted == 21
