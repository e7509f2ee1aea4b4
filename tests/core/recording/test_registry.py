"""The registry: a dictionary with late imports, and what each reader must keep to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isoscope.core.errors import ReadError, UsageError
from isoscope.core.recording import registry
from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import READERS, load, open_source, reader
from isoscope.core.recording.source import Source

DATA = Path(__file__).parents[2] / "data"
# A file of each format.
FILES = {
    "superdex-events": DATA / "recordings" / "post_callback.h5",
    "isoscope-labelled": DATA / "labelled" / "shared_cartpole_2env.isoscope.h5",
    "superdex-state": DATA / "states" / "cartpole-1.0.1.json",
}


def test_there_is_a_file_for_each_format() -> None:
    # Datasets have tests of their own.
    assert set(FILES) == set(READERS) - set(registry.DATASETS)


@pytest.mark.parametrize("key", sorted(FILES))
def test_a_reader_knows_its_own_files_and_no_others(key: str) -> None:
    module = reader(key)
    assert module.FORMAT == key
    for other, path in FILES.items():
        head = path.read_bytes()[: registry.HEAD_BYTES]
        assert module.sniff(path, head) == (other == key)
    for head in (b"", b"\0", b"\xff" * 100, b"{", b"\x89HDF"):
        assert not module.sniff(Path("nowhere"), head)


@pytest.mark.parametrize("key", sorted(FILES))
def test_a_source_keeps_the_contract(key: str) -> None:
    path = FILES[key]
    source = open_source(path)
    assert isinstance(source, Source)
    assert source.event_count > 0
    picture = source.preview()
    assert picture is not None
    assert len(picture) == 1
    assert source.preview(1 << 40) is None
    seen: list[tuple[int, int]] = []
    source.index(progress=lambda done, total: seen.append((done, total)))
    recording = source.recording
    source.close()
    source.close()
    assert recording.format == key
    assert recording.path == path
    assert recording.complete
    assert recording.size_bytes == path.stat().st_size
    assert seen[-1][0] == seen[-1][1]
    assert len(recording) >= 1
    # The recording stays usable, and the preview shows what the index holds.
    for actor in picture.actors:
        twin = next(a for a in recording.actors if a.handle == actor.handle)
        for name, track in actor.fields.tracks.items():
            shown, indexed = track.at(0), twin.fields[name].at(0)
            assert shown is not None
            assert indexed is not None
            assert shown.tobytes() == indexed.tobytes()


@pytest.mark.parametrize("key", sorted(FILES))
def test_a_reader_can_be_chosen(key: str) -> None:
    source = open_source(FILES[key], format=key)
    source.close()
    for other in set(READERS) - {key}:
        with pytest.raises(ReadError):
            open_source(FILES[key], format=other)


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="superdex-events"):
        reader("avi")


def test_load_gives_the_whole_recording() -> None:
    recording = load(FILES["superdex-events"])
    assert isinstance(recording, Recording)
    assert recording.complete
    assert len(recording) == 10


def test_readers_are_imported_late() -> None:
    code = "import sys, isoscope.core.recording.registry\nprint('h5py' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
