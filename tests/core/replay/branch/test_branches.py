"""The branches of a recording: kept as soon as made, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path  # noqa: TC003 hypothesis looks the annotation up
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.errors import IsoscopeError, ReadError, UsageError, WriteError
from isoscope.core.exclusive import exclusive
from isoscope.core.replay.branch.branches import Branches
from isoscope.core.replay.branch.model import (
    ActionEdit,
    Branch,
    ConfigurationEdit,
    StateEdit,
    check_branch,
    described,
    new_branch,
    parse_action,
    parse_configuration,
    parse_state,
)

SOURCE = "a" * 32
names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
actions = st.builds(
    ActionEdit,
    from_step=st.integers(5, 50),
    to_step=st.none() | st.integers(50, 99),
    name=names,
    do=st.sampled_from(["set", "scale", "add"]),
    amount=numbers,
)
configurations = st.builds(
    ConfigurationEdit,
    key=names,
    value=numbers | st.lists(numbers, min_size=1, max_size=3),
)
states = st.builds(
    StateEdit,
    actor=names,
    field=st.sampled_from(["positions", "velocities", "translation"]),
    component=st.none() | st.integers(0, 6) | names,
    value=numbers | st.lists(numbers, min_size=1, max_size=3),
)
edits = st.lists(actions | configurations | states, max_size=4).map(tuple)


def a_branch(name: str = "kick", **changed: Any) -> Branch:
    whole: dict[str, Any] = {
        "name": name,
        "source": SOURCE,
        "file": "run.isoscope.h5",
        "env": 1,
        "episode": 2,
        "control_step": 5,
        "native": 60,
    }
    return new_branch(**{**whole, **changed})


@given(edits=edits, note=st.text(), steps=st.none() | st.integers(1, 10**6))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    edits: Any,
    note: str,
    steps: int | None,
) -> None:
    path = tmp_path_factory.mktemp("kept") / "x.branches.json"
    made = a_branch(edits=edits, note=note, steps=steps)
    Branches(SOURCE, "run.isoscope.h5", path).add(made)
    (again,) = Branches(SOURCE, "run.isoscope.h5", path).branches
    assert again == made
    assert [described(edit) for edit in again.edits] == [described(e) for e in edits]


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    window, line = (Branches(SOURCE, "run", path) for _ in range(2))
    window.add(a_branch("one"))
    line.add(a_branch("two"))
    window.rename("two", "three")
    assert [one.name for one in line.branches] == ["one", "two"]  # as it saw them
    line.remove("one")
    assert [one.name for one in Branches(SOURCE, "run", path).branches] == ["three"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "kick"},
        {"name": " "},
        {"name": "a\nb"},
        {"name": "x" * 121},
        {"source": "b" * 32},
        {"control_step": 0},
        {"steps": 0},
        {"edits": (parse_action("4:control=1"),)},
        {"edits": (ActionEdit(from_step=6, to_step=5, name="x", amount=1.0),)},
        {"edits": (ActionEdit(from_step=6, name="x", amount=float("nan")),)},
        {"edits": (StateEdit(actor="a", field="b", value=float("inf")),)},
        {"edits": (StateEdit(actor="a", field="b", value=[]),)},
    ],
)
def test_refused_and_nothing_changed(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = tmp_path / "x.json"
    kept = Branches(SOURCE, "run", path)
    kept.add(a_branch())
    before, content = kept.branches, path.read_bytes()
    bad = msgspec.structs.replace(a_branch("other"), **wrong)
    with pytest.raises(UsageError):
        kept.add(bad)
    for which in ("nope", ""):
        with pytest.raises(UsageError, match="has no branch"):
            kept.remove(which)
    with pytest.raises(UsageError):
        kept.rename("kick", " ")
    assert kept.branches == before
    assert path.read_bytes() == content


def test_a_full_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    kept = Branches(SOURCE, "run", path)
    kept.add(a_branch())
    content = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(IsoscopeError, match="no space left"):
        kept.add(a_branch("two"))
    assert [one.name for one in kept.branches] == ["kick"]
    assert path.read_bytes() == content
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == [".x.json.lock", "x.json"]


@given(content=st.binary(max_size=300))
def test_any_bytes_are_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("kept") / "x.json"
    path.write_bytes(content)
    with pytest.raises(ReadError) as told:
        Branches(SOURCE, "run", path)
    assert "\n" not in str(told.value)
    assert path.read_bytes() == content


def test_a_file_cut_short_or_of_another_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    Branches(SOURCE, "run", path).add(a_branch())
    whole = path.read_bytes()
    with pytest.raises(ReadError, match="they are of run"):
        Branches("b" * 32, "other", path)
    for stop in range(0, len(whole), 17):
        path.write_bytes(whole[:stop])
        with pytest.raises(ReadError):
            Branches(SOURCE, "run", path)


ADDING = """
import sys
from pathlib import Path
from isoscope.core.replay.branch.branches import Branches
from isoscope.core.replay.branch.model import new_branch
path, who = Path(sys.argv[1]), sys.argv[2]
kept = Branches("a" * 32, "run", path)
sys.stdin.readline()
for k in range(10):
    kept.add(new_branch(name=f"{who} {k}", source="a" * 32, file="run", env=0,
                        episode=1, control_step=1, native=0))
"""


def test_processes_that_add_at_once_keep_each_other_s(tmp_path: Path) -> None:
    path = tmp_path / "x.branches.json"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ADDING, str(path), who], stdin=subprocess.PIPE
        )
        for who in "abc"
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [one.wait(60) for one in started] == [0, 0, 0]
    names = {one.name for one in Branches(SOURCE, "run", path).branches}
    assert names == {f"{who} {k}" for who in "abc" for k in range(10)}


def test_a_file_that_somebody_else_has_is_not_waited_for_long(tmp_path: Path) -> None:
    path = tmp_path / "x.branches.json"
    with exclusive(path, "keeping"):
        with (
            pytest.raises(WriteError, match=r"another process has had .* for 0\.05 s"),
            exclusive(path, "keeping a branch", wait_s=0.05),
        ):
            pass
        assert Branches(SOURCE, "run", path).branches == (), "reading needs no lock"
    with exclusive(path, "keeping"):
        pass


def test_edits_as_one_writes_them() -> None:
    assert parse_action("30-34:control*=1.5") == ActionEdit(
        from_step=30, to_step=34, name="control", do="scale", amount=1.5
    )
    assert parse_action("30-:A.force[0]+=-2").to_step is None
    assert parse_action("30-:A.force[0]+=-2").amount == -2
    assert parse_configuration("gravity=0,0,-9.81").value == [0, 0, -9.81]
    assert parse_configuration("gains=[[1,2],[3,4]]").value == [[1, 2], [3, 4]]
    found = parse_state("Arm/Hand.0.positions[Hinge]=0.1")
    assert (found.actor, found.field, found.component) == (
        "Arm/Hand.0",
        "positions",
        "Hinge",
    )
    check_branch(a_branch(edits=(parse_action("30:control=2"), found)))


@given(text=st.text(max_size=40))
@pytest.mark.parametrize("parse", [parse_action, parse_configuration, parse_state])
def test_any_text_is_an_edit_or_refused(parse: Any, text: str) -> None:
    try:
        edit = parse(text)
    except UsageError:
        return
    assert described(edit)
