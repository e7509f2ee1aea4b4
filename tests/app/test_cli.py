"""The command line as a whole: statuses, one line an error, nothing heavy at start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from isoscope.app.main import main

ISOSCOPE = (sys.executable, "-m", "isoscope.app")
COMMANDS = (
    "open",
    "info",
    "dump",
    "attribute",
    "align",
    "audit",
    "explain",
    "compare",
    "replay",
    "validate",
    "export",
    "manifest",
    "collect",
    "demo",
    "record",
    "attach",
    "repair",
    "doctor",
    "bench",
)


def one_line(text: str) -> str:
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.startswith("isoscope: ")
    return text.removeprefix("isoscope: ").strip()


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ISOSCOPE, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **variables},
    )


# -- at start --------------------------------------------------------------------------


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in COMMANDS:
        assert f"\n  {command} " in out
    assert "..." not in out.partition("Commands:")[2]  # no sentence is cut


@pytest.mark.parametrize(
    "command", [*COMMANDS, "bench open", "bench seek", "bench attribute"]
)
def test_every_command_has_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: isoscope {command} ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"isoscope {version('isoscope')}\n"


def test_help_imports_nothing_heavy() -> None:
    code = """
import sys
from isoscope.app.main import main
main(["--help"])
heavy = {"numpy", "h5py", "msgspec", "torch", "PySide6", "vispy", "pyqtgraph", "rich"}
sys.exit(", ".join(sorted(heavy & sys.modules.keys())) or 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# -- what goes wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["foo"], "no such command 'foo'; see: isoscope --help"),
        (["--foo"], "no such option: --foo"),
        (["info"], "missing argument 'FILE'; see: isoscope info --help"),
        (["info", "a", "b"], "unexpected extra argument"),
        (["info", "--jsn", "a"], "no such option: --jsn"),
        (["dump", "a.h5", "--out", "x.npz"], "missing option '--field'"),
        (["bench"], "missing command; see: isoscope bench --help"),
        (["info", "gone.h5"], "opening gone.h5: no such file"),
        (["info", ""], "opening .: this is a folder"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in one_line(captured.err)


def test_a_file_in_place_of_a_command_is_helped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.h5"
    file.touch()
    assert main([str(file)]) == 2
    assert f"isoscope open {file}" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x89HDF\r\n\x1a\n" + bytes(99)])
@pytest.mark.parametrize("command", ["info", "dump"])
def test_a_file_that_can_not_be_read_is_one_line(
    command: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.h5"
    file.write_bytes(content)
    more = ["--field", "x", "--out", str(tmp_path / "o.npz")] * (command == "dump")
    assert main([command, str(file), *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(file) in one_line(captured.err)


def test_a_bug_is_one_line_and_its_traceback_is_kept(
    tmp_path: Path,
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setenv("ISOSCOPE_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.setattr("isoscope.core.dump.find_track", broken)
    file = str(recordings / "create_destroy.h5")
    out = str(tmp_path / "o.npz")
    assert main(["dump", file, "--field", "gravity", "--out", out]) == 2
    said = one_line(capsys.readouterr().err)
    (kept,) = (tmp_path / "log").iterdir()
    assert said == (
        "this is a bug in isoscope: ZeroDivisionError: one two; please report it "
        f"with {kept}"
    )
    content = kept.read_text()
    assert "Traceback (most recent call last)" in content
    assert "arguments: ['dump'" in content


def test_a_bug_whose_traceback_can_not_be_kept_is_told_all_the_same(
    tmp_path: Path,
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    (tmp_path / "log").touch()
    monkeypatch.setenv("ISOSCOPE_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.setattr("isoscope.core.dump.find_track", broken)
    file = str(recordings / "create_destroy.h5")
    out = str(tmp_path / "o.npz")
    assert main(["dump", file, "--field", "gravity", "--out", out]) == 2
    said = one_line(capsys.readouterr().err)
    assert said.startswith("this is a bug in isoscope: RuntimeError(); its details")


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)]
)
def test_being_stopped_is_quiet(
    raised: type[BaseException],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopped(*_: object) -> None:
        raise raised

    monkeypatch.setattr("isoscope.app.loading.load", stopped)
    monkeypatch.setattr("isoscope.app.console.silence_stdout", lambda: None)
    assert main(["info", "run.h5"]) == status
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["info", "FILE"]])
def test_a_closed_pipe_is_quiet(arguments: list[str], recordings: Path) -> None:
    file = str(recordings / "create_destroy.h5")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [*ISOSCOPE, *(file if a == "FILE" else a for a in arguments)],
            stdout=write_end,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, of Linux")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_behind_the_output_is_one_line(
    options: list[str], recordings: Path
) -> None:
    file = str(recordings / "create_destroy.h5")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*ISOSCOPE, "info", file, *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert one_line(done.stderr) == (
        "writing to standard output: no space left on device"
    )


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_is_as_good_as_nobody_reading(
    closed: str, recordings: Path
) -> None:
    file = str(recordings / "create_destroy.h5")
    number = {"stdout": 1, "stderr": 2}[closed]
    command = f'exec "$0" -m isoscope.app info "$1" {number}>&-'
    for name, status in ((file, 0), ("gone.h5", 2)):
        done = subprocess.run(
            ["sh", "-c", command, sys.executable, name],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status
        assert "Traceback" not in done.stderr


def test_a_missing_extra_says_what_to_install() -> None:
    # As on the base install: Qt can't be imported.
    code = """
import sys
sys.modules["PySide6"] = None
from isoscope.app.extras import needs
from isoscope.core.errors import MissingExtraError
try:
    with needs("the window"):
        import PySide6.QtCore
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "the window needs PySide6, which is not installed; "
        "run: pip install 'isoscope[app]'\n"
    )


# -- dump ------------------------------------------------------------------------------


def test_dump_writes_and_says_so(
    tmp_path: Path, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(recordings / "create_destroy.h5")
    out = tmp_path / "g.npz"
    arguments = ["dump", file, "--field", "gravity", "--out", str(out)]
    assert main([*arguments, "--steps", "-3:"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "wrote gravity of the steps" in one_line(captured.err)
    with np.load(out) as found:
        assert len(found["native"]) == 3
    assert main(arguments) == 2
    assert "give --overwrite" in one_line(capsys.readouterr().err)
    assert main([*arguments, "--overwrite", "--actor", "scene"]) == 0


def test_dump_says_no_before_it_reads(
    tmp_path: Path,
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("was read")

    monkeypatch.setattr("isoscope.app.loading.load_told", read)
    file = recordings / "create_destroy.h5"
    for out, said in (
        (tmp_path / "o.txt", "the ending has to be .npz or .csv"),
        (tmp_path / "gone" / "o.csv", "there is no folder"),
    ):
        arguments = ["dump", str(file), "--field", "gravity", "--out", str(out)]
        assert main(arguments) == 2
        assert said in one_line(capsys.readouterr().err)


def test_dump_tells_where_a_field_is_absent(
    tmp_path: Path, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(recordings / "create_destroy.h5")
    out = str(tmp_path / "t.csv")
    arguments = ["dump", file, "--actor", "Late", "--field", "vcom", "--out", out]
    assert main(arguments) == 0
    said = one_line(capsys.readouterr().err)
    assert said == f"wrote vcom of Late, native steps 0:30, absent in 10, to {out}"
