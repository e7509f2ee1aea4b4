from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from isoscope.core.errors import UsageError, WriteError
from isoscope.core.newfile import new_file, refuse_bad_target

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_appears_whole_when_it_is_done(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with new_file(target) as file:
        file.write(b"a,b\n")
        assert not target.exists()
    assert target.read_bytes() == b"a,b\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_keeps_the_permissions_that_new_files_get(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with new_file(tmp_path / "ours"):
        pass
    usual, ours = ((tmp_path / name).stat().st_mode for name in ("usual", "ours"))
    assert ours == usual


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"before")

    def stop_half_way() -> None:
        with new_file(target, overwrite=True) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stop_half_way()
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"before")
    with pytest.raises(UsageError, match="exists already; give --overwrite"):
        refuse_bad_target(target, overwrite=False)
    with new_file(target, overwrite=True) as file:
        file.write(b"after")
    assert target.read_bytes() == b"after"


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with pytest.raises(UsageError, match="exists already"), new_file(target):
        target.write_bytes(b"somebody else's")
    assert target.read_bytes() == b"somebody else's"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("how", ["same", "symlink", "hardlink"])
def test_the_source_is_never_replaced(tmp_path: Path, how: str) -> None:
    source = tmp_path / "run.csv"
    source.write_bytes(b"recorded")
    target = source if how == "same" else tmp_path / "other.csv"
    if how == "symlink":
        target.symlink_to(source)
    elif how == "hardlink":
        os.link(source, target)
    with (
        pytest.raises(UsageError, match="the source, which is never changed"),
        new_file(target, overwrite=True, sources=[None, tmp_path / "gone", source]),
    ):
        pass
    assert source.read_bytes() == b"recorded"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        refuse_bad_target(tmp_path, overwrite=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="no ordinary file"):
        refuse_bad_target(pipe, overwrite=True)
    with pytest.raises(WriteError, match="there is no folder"):
        refuse_bad_target(tmp_path / "gone" / "out.csv", overwrite=False)


def test_a_name_too_long_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="file name too long"):
        refuse_bad_target(tmp_path / ("x" * 300), overwrite=False)


FULL_DISK = """
import resource, sys
from isoscope.core.errors import WriteError
from isoscope.core.newfile import new_file
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with new_file(sys.argv[1]) as file:
        for _ in range(100):
            file.write(bytes(1000))
except WriteError as error:
    print(error)
"""


def test_a_disk_that_fills_up_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "out.npz")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"writing {tmp_path / 'out.npz'}: file too large\n"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
