"""The index of a slow file: kept, found again, and never trusted blindly."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from isoscope.core.recording import cache as cache_module
from isoscope.core.recording.cache import IndexCache, KeptIndex, key_of
from isoscope.core.recording.model import Problem, Recording
from isoscope.core.recording.registry import load, open_source
from isoscope.core.recording.superdex import reader
from isoscope.core.recording.tracks import FieldTable, RaggedTrack, Track
from tests.fuzz import made

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def cache(folder: Path) -> IndexCache:
    return IndexCache(folder)


def same_table(one: FieldTable, other: FieldTable) -> None:
    assert list(one) == list(other)
    for name, track in one.tracks.items():
        twin = other[name]
        assert type(track) is type(twin)
        assert (track.dtype, track.shape, track.first, len(track)) == (
            twin.dtype,
            twin.shape,
            twin.first,
            len(twin),
        )
        for row in range(track.first, track.first + len(track)):
            value, again = track.at(row), twin.at(row)
            if value is None:
                assert again is None
                continue
            assert again is not None
            assert (value.dtype, value.shape) == (again.dtype, again.shape)
            assert value.tobytes() == again.tobytes()


def same(one: Recording, other: Recording) -> None:
    for name in ("event", "time_s", "h_s", "gravity", "scene_time_s"):
        assert (
            getattr(one.steps, name).tobytes() == getattr(other.steps, name).tobytes()
        )
    same_table(one.scene, other.scene)
    assert len(one.actors) == len(other.actors)
    for actor, twin in zip(one.actors, other.actors, strict=True):
        for name in ("index", "handle", "name", "type", "static"):
            assert getattr(actor, name) == getattr(twin, name)
        assert actor.created_native == twin.created_native
        assert actor.destroyed_native == twin.destroyed_native
        assert list(actor.reference) == list(twin.reference)
        for name, value in actor.reference.items():
            assert value.dtype == twin.reference[name].dtype
            assert np.array_equal(value, twin.reference[name])
        same_table(actor.fields, twin.fields)
    assert one.event_counts == other.event_counts
    assert one.problems == other.problems
    assert one.complete == other.complete
    assert one.real == other.real
    assert one.notes == other.notes


def again(cache: IndexCache, path: Path) -> Recording | None:
    recording = Recording(path, "superdex-events", path.stat().st_size)
    return recording if cache.load(key_of(path, 1), recording) else None


@pytest.mark.parametrize(
    "name",
    ["rigid_contacts_all", "soft_body", "create_destroy", "fp64_shared_cartpole_2env"],
)
def test_what_is_kept_comes_back_bit_for_bit(cache: IndexCache, name: str) -> None:
    path = RECORDINGS / f"{name}.h5"
    recording = load(path)
    assert cache.store(key_of(path, 1), recording)
    found = again(cache, path)
    assert found is not None
    same(recording, found)


def test_odd_values_texts_problems_and_notes_are_kept_too(
    cache: IndexCache, tmp_path: Path
) -> None:
    path = made.recording(tmp_path / "run.h5", decorate=made.worded)
    recording = load(path)
    fields = recording.actors[0].fields
    odd = Track(np.dtype(np.float32), (3,))
    odd.append_value(np.zeros(3, np.float32))
    odd.append_value(np.array(2.5, np.float64))
    odd.append_value(np.array([], np.int8))
    fields.tracks["odd"] = odd
    ragged = RaggedTrack(np.dtype(np.float64), first=2)
    ragged.append_value(np.ones((2, 3)))
    ragged.skip(1)
    ragged.append_value(np.array(7.0))
    ragged.append_value(np.array(b"text"))
    fields.tracks["ragged"] = ragged
    recording.actors[0].handle = (1 << 64) - 1
    recording.problems.append(Problem("something", "/events/3", 4, "error"))
    recording.notes["key"] = "wert ü"
    recording.complete = False
    assert cache.store(key_of(path, 1), recording)
    found = again(cache, path)
    assert found is not None
    same(recording, found)


def test_a_file_that_changed_is_read_again(cache: IndexCache, tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5")
    stamp = path.stat().st_mtime_ns
    assert cache.store(key_of(path, 1), load(path))
    assert again(cache, path) is not None
    assert not cache.load(key_of(path, 2), Recording(path, "superdex-events"))

    os.utime(path, ns=(stamp + 1, stamp + 1))
    assert again(cache, path) is None
    os.utime(path, ns=(stamp, stamp))
    assert again(cache, path) is not None

    content = bytearray(path.read_bytes())
    content[-1] ^= 1  # same size, and the same time
    path.write_bytes(bytes(content))
    os.utime(path, ns=(stamp, stamp))
    assert again(cache, path) is None

    path.write_bytes(bytes(content) + b"more")
    os.utime(path, ns=(stamp, stamp))
    assert again(cache, path) is None


def test_cut_or_damaged_it_is_read_again(
    cache: IndexCache, folder: Path, tmp_path: Path
) -> None:
    path = made.recording(tmp_path / "run.h5", decorate=made.packed)
    recording = load(path)
    assert cache.store(key_of(path, 1), recording)
    [kept] = folder.iterdir()
    content = kept.read_bytes()
    random = np.random.default_rng(1)
    for size in (0, 7, 100, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:size])
        assert again(cache, path) is None
        assert not kept.exists()
    for _ in range(200):
        at = int(random.integers(len(content)))
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(random.integers(8))
        kept.write_bytes(bytes(damaged))
        found = again(cache, path)
        # A flipped bit between columns, where nothing lies, does no harm.
        if found is not None:
            same(recording, found)
    kept.write_bytes(content)
    assert again(cache, path) is not None


def test_another_form_is_read_again(
    cache: IndexCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made.recording(tmp_path / "run.h5")
    assert cache.store(key_of(path, 1), load(path))
    monkeypatch.setattr(cache_module.cachefile, "FORM", 99)
    assert again(cache, path) is None


def test_what_was_not_used_for_longest_goes_first(folder: Path, tmp_path: Path) -> None:
    paths = [made.recording(tmp_path / f"{n}.h5") for n in range(4)]
    cache = IndexCache(folder)
    for age, path in enumerate(paths):
        assert cache.store(key_of(path, 1), load(path))
        newest = max(folder.iterdir(), key=lambda p: p.stat().st_ctime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    assert again(cache, paths[0]) is not None  # used: now the newest
    each = next(folder.iterdir()).stat().st_size
    IndexCache(folder, limit_bytes=2 * each + each // 2).tidy()
    kept = [again(cache, path) is not None for path in paths]
    assert kept == [True, False, False, True]


def test_nothing_larger_than_the_limit_is_kept(folder: Path, tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5")
    assert not IndexCache(folder, limit_bytes=10).store(key_of(path, 1), load(path))
    assert not folder.exists()


def test_a_cache_that_can_not_be_written_is_no_error(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5")
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    cache = IndexCache(blocked / "below")
    assert not cache.store(key_of(path, 1), load(path))
    assert again(cache, path) is None


def test_what_others_left_unfinished_is_tidied_away(
    cache: IndexCache, folder: Path
) -> None:
    folder.mkdir()
    (folder / "old.part").write_bytes(b"x")
    os.utime(folder / "old.part", (1000, 1000))
    (folder / "new.part").write_bytes(b"x")
    cache.tidy()
    assert sorted(p.name for p in folder.iterdir()) == ["new.part"]


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    path = made.recording(tmp_path / "run.h5")
    kept = KeptIndex(path, 1)
    recording = load(path)
    with h5py.File(path, "a") as file:
        made.step(file["events"], 99)
    assert not kept.keep(recording)


def test_the_limit_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE_DIR", str(tmp_path / "there"))
    monkeypatch.setenv("ISOSCOPE_CACHE_BYTES", "123")
    cache = IndexCache()
    assert cache.limit_bytes == 123
    assert cache.folder == tmp_path / "there" / "index"


# -- through the reader -------------------------------------------------------------


def kept_files() -> list[Path]:
    folder = IndexCache().folder
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_slow_file_is_opened_from_the_cache_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "WORTH_KEEPING_S", 0.0)
    path = made.recording(
        tmp_path / "run.h5", steps=500, decorate=made.plain, libver="latest"
    )
    slow = []
    recordings = []
    for _ in range(2):
        source = open_source(path)
        source.index()
        source.close()
        slow.append(source.slow_events)
        recordings.append(source.recording)
    assert len(kept_files()) == 1
    same(*recordings)
    assert slow[0] > 400
    assert slow[1] == 0


def test_a_fast_file_is_not_kept() -> None:
    load(RECORDINGS / "rigid_contacts_all.h5")
    assert kept_files() == []


def test_what_was_stopped_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "WORTH_KEEPING_S", 0.0)
    path = made.recording(tmp_path / "run.h5", steps=50, libver="latest")
    source = open_source(path)
    with pytest.raises(reader.CancelledError):
        source.index(cancelled=lambda: len(source.recording) > 10)
    source.close()
    assert kept_files() == []
    load(path)
    assert len(kept_files()) == 1
