"""H20: a dataset whose writer was not closed is told from one that was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.errors import ReadError
from isoscope.core.trajectory.lerobot.footer import check_footers

if TYPE_CHECKING:
    from pathlib import Path

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path: Path, close: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"state": [[1.0, 2.0], [3.0, 4.0]], "frame_index": [0, 1]})
    writer = pq.ParquetWriter(path, table.schema)
    writer.write_table(table)
    if close:
        writer.close()
        return
    unfinished = path.read_bytes()  # what is there before the footer is written
    writer.close()
    path.write_bytes(unfinished)


def test_h20_finished_files_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "data/chunk-000/file-000.parquet")
    write(tmp_path / "meta/episodes/chunk-000/file-000.parquet")
    assert check_footers(tmp_path) == 2


def test_h20_a_file_that_was_never_closed_is_named(tmp_path: Path) -> None:
    write(tmp_path / "meta/tasks.parquet")
    bad = tmp_path / "data/chunk-000/file-000.parquet"
    write(bad, close=False)
    with pytest.raises(ReadError, match="footer is missing") as caught:
        check_footers(tmp_path)
    assert str(bad) in str(caught.value)
    assert "finalize" in str(caught.value)


def test_h20_a_cut_or_overwritten_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    for change in (
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole[:20],
        lambda whole: whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:],
        lambda whole: b"HDF5" + whole[4:],
    ):
        write(path)
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(ReadError):
            check_footers(tmp_path)


def test_h20_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no parquet file"):
        check_footers(tmp_path)
