"""What HDF5 keeps of a file does not grow with a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.hdf5 import open_file
from isoscope.core.recording.labelled.metadata import CHUNKS_BYTES, METADATA_BYTES
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path

    import h5py

LITTLE = (METADATA_BYTES, METADATA_BYTES, CHUNKS_BYTES)


def bounds(file: h5py.File) -> tuple[int, int, int]:
    """How much it may keep now and at most, and how much of each dataset's chunks."""
    most = file.id.get_mdc_config().max_size
    return file.id.get_mdc_size()[0], most, file.id.get_access_plist().get_cache()[2]


def test_a_writer_keeps_little(tmp_path: Path) -> None:
    container = Container(tmp_path / "run.isoscope.h5", {"run": "1"}, live=True)
    try:
        assert container._file is not None
        assert bounds(container._file) == LITTLE
    finally:
        container.close()


def test_a_reader_of_what_is_being_written_keeps_little(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.isoscope.h5", r.Identity()) as recorder:
        recorder.native(r.NativeStep(env=0, h_s=0.1))
        assert recorder.flush(10.0)
        opened = open_file(recorder.path)
        try:
            assert opened.writer is not None
            assert bounds(opened.file) == LITTLE
        finally:
            opened.close()
