"""What is kept between runs: settings, bookmarks, and files written whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoscope.app import bookmarks
from isoscope.app.folders import config_dir, data_dir, log_dir, write_whole
from isoscope.app.settings import RECENT_AT_MOST, Settings
from isoscope.widgets.session import Bookmark


def test_folders_can_be_put_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOSCOPE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("ISOSCOPE_DATA_DIR", str(tmp_path / "d"))
    assert config_dir() == tmp_path / "c"
    assert data_dir() == tmp_path / "d"
    assert log_dir() == tmp_path / "d" / "log"
    monkeypatch.delenv("ISOSCOPE_CONFIG_DIR")
    assert "isoscope" in str(config_dir())


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(*_args):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_settings_are_there_the_next_time():
    settings = Settings()
    settings.values.theme = "light"
    settings.values.docks["inspect"] = "abc"
    settings.add_recent(Path("/a.h5"))
    again = Settings()
    assert again.values.theme == "light"
    assert again.values.docks == {"inspect": "abc"}
    assert again.values.recent == ["/a.h5"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"theme": "pink"}', b"\xff\xfe"])
def test_settings_that_cannot_be_read_are_the_defaults(content):
    settings = Settings()
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    settings.path.write_bytes(content)
    assert Settings().values.theme == "system"


@pytest.mark.parametrize("size", [0, -1, 1 << 21, '"much"'])
def test_a_memory_cap_that_makes_no_sense_is_the_default(size):
    settings = Settings()
    settings.values.live_memory_mb = 64
    settings.save()
    assert Settings().values.live_memory_bytes == 64 << 20
    settings.path.write_text(f'{{"live_memory_mb": {size}}}')
    assert Settings().values.live_memory_mb == 128


def test_unknown_settings_of_a_later_version_are_passed_over():
    settings = Settings()
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    settings.path.write_bytes(b'{"theme": "dark", "later": [1]}')
    assert Settings().values.theme == "dark"


def test_settings_that_cannot_be_written_stop_nobody(tmp_path):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    settings = Settings(tmp_path / "blocked" / "settings.json")
    settings.add_recent(Path("/a.h5"))
    assert settings.values.recent == ["/a.h5"]


def test_recent_files_are_few_newest_first_and_each_once():
    settings = Settings()
    for number in range(RECENT_AT_MOST + 5):
        settings.add_recent(Path(f"/{number}.h5"))
    settings.add_recent(Path("/10.h5"))
    recent = settings.values.recent
    assert len(recent) == RECENT_AT_MOST
    assert recent[0] == "/10.h5"
    assert len(set(recent)) == len(recent)
    settings.drop_recent(Path("/10.h5"))
    assert "/10.h5" not in Settings().values.recent


def test_settings_for_a_picture_are_neither_read_nor_written():
    Settings().add_recent(Path("/a.h5"))
    passing = Settings(remember=False)
    passing.add_recent(Path("/b.h5"))
    assert Settings().values.recent == ["/a.h5"]


def test_bookmarks_are_kept_by_path_size_and_beginning(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"a" * 100)
    key = bookmarks.key_of(path)
    marks = [Bookmark(3, "three", "a\nnote"), Bookmark(5, "five")]
    bookmarks.save(key, path, marks)
    assert bookmarks.load(bookmarks.key_of(path)) == marks
    assert list(tmp_path.glob("run*")) == [path]  # nothing beside it
    path.write_bytes(b"b" * 100)
    assert bookmarks.load(bookmarks.key_of(path)) == []
    path.write_bytes(b"a" * 101)
    assert bookmarks.load(bookmarks.key_of(path)) == []


def test_no_bookmarks_need_no_file(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"a")
    key = bookmarks.key_of(path)
    bookmarks.save(key, path, [Bookmark(1, "x")])
    bookmarks.save(key, path, [])
    assert not bookmarks.sidecar_of(key).exists()


def test_unreadable_bookmarks_are_kept_aside(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"a")
    key = bookmarks.key_of(path)
    bookmarks.save(key, path, [Bookmark(1, "x")])
    sidecar = bookmarks.sidecar_of(key)
    sidecar.write_text("{ torn")
    assert bookmarks.load(key) == []
    bookmarks.save(key, path, [Bookmark(2, "y")])
    assert bookmarks.load(key) == [Bookmark(2, "y")]
    assert sidecar.with_suffix(".unreadable").read_text() == "{ torn"
