"""What `isoscope bench` prints, and that what it measures can be measured."""

from __future__ import annotations

import json
import lzma
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.bench import open_bench, sample
from isoscope.app.bench.sample import SAMPLE, unpacked
from isoscope.app.main import main
from isoscope.core.errors import ReadError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

MEASURED: dict[str, Any] = {
    "runs": 6,
    "ratio_index": 123.4,
    "equal": True,
    "peak_anonymous_bytes": None,
    "columns_bytes": 12_345_678,
    "panels": ["Scene", "Signals"],
}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were measured, without the time that it takes."""
    files: list[Path] = []

    def run(file: Path) -> dict[str, Any]:
        assert file.is_file()
        files.append(file)
        return dict(MEASURED)

    monkeypatch.setattr(open_bench, "run", run)
    return files


def test_figures_are_printed_in_both_places(
    measured: list[Path], recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recordings / "create_destroy.h5"
    assert main(["bench", "open", "--file", str(file), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    said = json.loads(captured.out)
    assert (said["schema"], said["name"], said["runs"]) == (
        "isoscope.bench/1",
        "open",
        6,
    )
    assert said["machine"]["cores"] >= 1
    figures = {key: value for key, value in MEASURED.items() if key != "runs"}
    assert said["figures"] == figures
    assert {key: said[key] for key in figures} == figures
    assert measured == [file]


def test_the_table_reads_well(
    measured: list[Path], recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recordings / "create_destroy.h5"
    assert main(["bench", "open", "--file", str(file)]) == 0
    head, blank, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("bench open, 6 runs on ")
    assert blank == ""
    assert lines == [
        "figure                value",
        "ratio_index           123.4",
        "equal                 yes",
        "peak_anonymous_bytes  unknown",
        "columns_bytes         12,345,678",
        "panels                Scene, Signals",
    ]
    assert len(measured) == 1


def test_a_packed_recording_is_unpacked_meanwhile(tmp_path: Path) -> None:
    packed = tmp_path / "run.h5.xz"
    packed.write_bytes(lzma.compress(b"recorded" * 1000))
    with unpacked(packed) as file:
        assert file.name == "run.h5"
        assert file.read_bytes() == b"recorded" * 1000
    assert not file.exists()
    assert packed.exists()


def test_a_recording_that_is_not_packed_is_taken_as_it_is(tmp_path: Path) -> None:
    with unpacked(tmp_path / "run.h5") as file:
        assert file == tmp_path / "run.h5"


@pytest.mark.parametrize("cut", [0, 30, -8])
def test_a_damaged_archive_is_told(cut: int, tmp_path: Path) -> None:
    packed = tmp_path / "run.h5.xz"
    content = lzma.compress(bytes(range(256)) * 100)
    packed.write_bytes(content[:cut] if cut else b"no archive at all")
    with pytest.raises(ReadError, match="unpacking"), unpacked(packed):
        pass


def test_the_sample_is_where_it_is_looked_for() -> None:
    assert SAMPLE.is_file()


def test_without_the_source_tree_a_file_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "SAMPLE", tmp_path / "gone.xz")
    with pytest.raises(UsageError, match="name one with --file"), unpacked():
        pass


@pytest.mark.gl
def test_seeks_are_measured_in_the_real_window(
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("isoscope.app.bench.seek_bench.ROUNDS", 5)
    monkeypatch.setattr("isoscope.app.bench.seek_bench.WARMUP", 2)
    file = recordings / "create_destroy.h5"
    assert main(["bench", "seek", "--file", str(file), "--json"]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["runs"] == 5
    assert said["ratio_p95"] == pytest.approx(said["seek_p95_s"] / said["alone_p95_s"])
    assert {"Scene", "Timeline", "Signals"} <= set(said["panels"])
    assert min(said["canvas_px"]) > 100


@pytest.mark.gl
def test_seeks_in_a_file_that_can_not_be_read_are_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.h5"
    file.write_bytes(b"no recording at all")
    assert main(["bench", "seek", "--file", str(file), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("isoscope: measuring seeks: opening ")
    assert captured.err.count("\n") == 1
