"""What `isoscope info` prints, as a table and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from isoscope.app.main import main
from isoscope.core.jsonform import decode
from isoscope.core.recording.info import Info
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import Actor, Problem, Recording
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


def printed(file: Path, capsys: Capture, *options: str) -> str:
    assert main(["info", str(file), *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_json_is_one_object_of_the_schema(recordings: Path, capsys: Capture) -> None:
    file = recordings / "create_destroy.h5"
    out = printed(file, capsys, "--json")
    assert out.count("\n") == 1
    assert next(iter(json.loads(out))) == "schema"
    found = decode(out.encode(), Info)
    assert (found.schema, found.file, found.steps) == ("isoscope.info/1", str(file), 30)
    assert found.bytes == file.stat().st_size
    assert [actor.name for actor in found.actors] == [
        "Crate",
        "BallA",
        "Ground",
        "Late",
    ]


def test_the_table_says_what_there_is(recordings: Path, capsys: Capture) -> None:
    out = printed(recordings / "create_destroy.h5", capsys)
    lines = out.splitlines()
    assert "steps    30 native steps, recording time 0.02 s to 0.6 s" in lines
    assert "gravity  (0, -9.8, 0) m/s²" in lines
    assert re.search(r"^Late +Rigid +no +10:end +\d+ +\d+$", out, re.MULTILINE)
    assert re.search(r"^Crate +Rigid +no +0:20 ", out, re.MULTILINE)
    assert "Fields of Crate, BallA and Late" in lines
    assert re.search(r"^vcom +float32 +3 +m/s +20 to 30$", out, re.MULTILINE)
    assert re.search(r"^resimulation +no +it holds no snapshots", out, re.MULTILINE)


def test_a_change_of_gravity_is_told(recordings: Path, capsys: Capture) -> None:
    out = printed(recordings / "shared_cartpole_leak_gravity.h5", capsys)
    assert (
        "gravity  (0, -9.8, 0) m/s² in native 0 to 65; "
        "(0, -3, 0) m/s² in native 66 to 124\n"
    ) in out


def test_a_pipe_gets_the_same_whatever_the_terminal_is(
    recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", "1")
        seen.add(printed(recordings / "rigid_contacts_all.h5", capsys))
    (out,) = seen
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_gets_lines_that_fit(
    columns: int, recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("isoscope.app.console.in_terminal", lambda: True)
    for name in ("rigid_contacts_all.h5", "shared_cartpole_leak_gravity.h5"):
        out = printed(recordings / name, capsys)
        assert max(len(line) for line in out.splitlines()) <= columns
        assert "no replay of it can be compared" in " ".join(out.split())


def test_names_of_a_file_are_printed_as_they_are_and_obeyed_by_nobody(
    recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = load(recordings / "create_destroy.h5")
    name = "[bold]Crate[/bold] :smile: \x1b[2J\x07"
    recording.actors[0].name = name
    monkeypatch.setattr("isoscope.app.loading.load", lambda _: recording)
    out = printed(recordings / "create_destroy.h5", capsys)
    assert "\x1b" not in out
    assert out.count("[bold]Crate[/bold] :smile: �[2J�") == 2
    out = printed(recordings / "create_destroy.h5", capsys, "--json")
    assert json.loads(out)["actors"][0]["name"] == name


def test_what_could_not_be_read_is_listed(
    recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = load(recordings / "create_destroy.h5")
    recording.complete = False
    recording.problems.append(Problem("event is missing", "/events/7", 3, "error"))
    monkeypatch.setattr("isoscope.app.loading.load", lambda _: recording)
    assert main(["info", str(recordings / "create_destroy.h5")]) == 2
    out, err = capsys.readouterr()
    assert "not complete" in out
    assert err == (
        f"isoscope: reading {recordings / 'create_destroy.h5'}: not all of it could be "
        "read: event is missing (/events/7), and 2 more like it\n"
    )
    assert "Warnings (1)\nevent is missing (/events/7), and 2 more like it\n" in out


def test_what_was_lost_is_told_before_what_is_only_odd(
    recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = load(recordings / "create_destroy.h5")
    recording.complete = False
    recording.problems.append(Problem("link was not followed", "/events/5"))
    recording.problems.append(Problem("event is missing", "/events/7", 1, "error"))
    monkeypatch.setattr("isoscope.app.loading.load", lambda _: recording)
    assert main(["info", str(recordings / "create_destroy.h5")]) == 2
    err = capsys.readouterr().err
    assert err.endswith(
        ": not all of it could be read: event is missing (/events/7); 1 more is listed"
        "\n"
    )


def test_names_of_thousands_of_characters_leave_the_tables_readable(
    recordings: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = load(recordings / "create_destroy.h5")
    crate = recording.actors[0]
    crate.name = "C" * 5000
    crate.fields.tracks["f" * 5000] = crate.fields["vcom"]
    monkeypatch.setattr("isoscope.app.loading.load", lambda _: recording)
    out = printed(recordings / "create_destroy.h5", capsys)
    assert max(map(len, out.splitlines())) < 300
    assert f"Fields of {'C' * 59}…" in out
    assert f"{'f' * 199}…" in out
    found = json.loads(printed(recordings / "create_destroy.h5", capsys, "--json"))
    assert found["actors"][0]["name"] == crate.name


def test_a_recording_of_nothing_is_described(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recording = Recording(tmp_path / "run.h5", "test", complete=True)
    recording.actors.append(Actor(0, 7, "Bare", "unknown", None, 0))
    monkeypatch.setattr("isoscope.app.loading.load", lambda _: recording)
    out = printed(tmp_path / "run.h5", capsys)
    for line in (
        "events   none",
        "steps    0 native steps",
        "h        unknown",
        "gravity  unknown",
    ):
        assert line in out.splitlines()
    assert "Fields of" not in out
    assert re.search(r"^Bare +unknown +unknown +0:end +0 +7$", out, re.MULTILINE)


def test_a_run_without_native_steps_says_what_it_did(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "run.isoscope.h5"
    with Recorder(file, r.Identity(environments=2, seeds=[3, 4])) as recorder:
        recorder.transition(r.Transition(env=0, control_step=1, valid=1))
        recorder.failure(r.Failure(what="step", message="the arm is stuck", env=1))
    out = printed(file, capsys)
    assert re.search(r"^environments +2$", out, re.MULTILINE)
    assert re.search(r"^seeds +3, 4$", out, re.MULTILINE)
    assert re.search(r"^control steps +1, 0 resets, 0 episodes ended$", out, re.M)
    assert re.search(r"^step +1 +the arm is stuck$", out, re.MULTILINE)
    assert not re.search(r"^(gravity|h) ", out, re.MULTILINE)
