"""The recorder: bounded, never in the way, and whole whatever happens to the disk."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[4]


def fill(recorder: Recorder, rows: int, width: int = 64) -> int:
    """Record noise, which does not compress; returns how many rows were taken."""
    chance = np.random.default_rng(0)
    frame = recorder.frame([r.Field(name="noise", shape=(width,))], "f8")
    taken = 0
    for row in range(rows):
        frame.put(0, chance.normal(size=width))
        step = r.NativeStep(env=0, control_step=row, h_s=0.1)
        taken += recorder.native(step, frame) >= 0
    return taken


def test_imports_are_few() -> None:
    """A training process imports this: h5py, msgspec and numpy, nothing heavier."""
    code = (
        "import sys\n"
        "from isoscope.core.recording.labelled import recorder\n"
        "print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"h5py", "msgspec", "numpy"} <= loaded
    others = "torch PySide6 gymnasium typer rich zmq pandas pyarrow platformdirs vispy"
    assert not loaded & set(others.split())


def test_an_existing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    path.write_text("precious")
    with pytest.raises(UsageError, match="--overwrite"):
        Recorder(path, r.Identity())
    assert path.read_text() == "precious"
    Recorder(path, r.Identity(), overwrite=True).close()
    assert registry.load(path).complete
    with pytest.raises(WriteError):
        Recorder(tmp_path / "nowhere" / "run.isoscope.h5", r.Identity())


def test_what_waits_is_bounded_and_refusals_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.isoscope.h5"
    go = threading.Event()
    write = Container.add_blocks

    def slow(self: Container, blocks: Any) -> None:
        assert go.wait(60)
        write(self, blocks)

    monkeypatch.setattr(Container, "add_blocks", slow)
    limit = 2 << 20
    recorder = Recorder(path, r.Identity(), backlog_bytes=limit, flush_s=0.01)
    taken = fill(recorder, 20_000)
    block = 1024 * (64 * 8 + 200)
    assert recorder.backlog_bytes <= limit + 2 * block
    assert taken < 20_000
    assert recorder.rows == taken
    go.set()
    assert recorder.flush()
    assert recorder.native(r.NativeStep(env=1)) == taken
    recorder.close()
    recording = registry.load(path)
    assert recording.complete
    assert len(recording) == taken + 1
    assert recording.labelled is not None
    dropped = recording.labelled.dropped()
    assert [(d.what, d.count) for d in dropped] == [("native", 20_000 - taken)]
    assert f"{20_000 - taken} records were dropped" in str(recording.problems)
    # Each row that was taken has its field.
    assert recording.scene["noise"].present_count() == taken


def told_when_full(path: Path) -> None:
    said: list[str] = []
    recorder = Recorder(path, r.Identity(), tell=said.append, flush_s=0.01)
    fill(recorder, 3000)
    recorder.flush()
    fill(recorder, 9000)
    assert not recorder.flush()
    assert recorder.native(r.NativeStep()) == -1  # and the run goes on
    assert recorder.snapshot(r.Snapshot(b"x")) == -1
    recorder.actor(r.ActorInfo(name="late", type="Rigid"))
    recorder.close()
    assert len(said) == 1
    assert "stopped" in said[0]
    with h5py.File(path, "r", locking=False):
        pass
    recording = registry.load(path)
    assert len(recording) > 0
    rows = np.arange(len(recording))
    assert recording.labels is not None
    control = recording.labels.control_step
    np.testing.assert_array_equal(control, np.where(rows < 3000, rows, rows - 3000))
    assert "stopped before" in str(recording.problems)
    assert not recording.complete


def limited(path: str, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    told_when_full(Path(path))


@pytest.mark.parametrize("limit", [3_100_000, 4_000_000])
def test_a_full_disk_stops_the_recording_not_the_run(
    tmp_path: Path, limit: int
) -> None:
    """A limit on the size of files, in a process of its own."""
    child = multiprocessing.get_context("spawn").Process(
        target=limited, args=(str(tmp_path / "run.isoscope.h5"), limit)
    )
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_full_file_system(tmp_path: Path) -> None:
    """A small tmpfs, where mounting is allowed."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        told_when_full(place / "run.isoscope.h5")
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(WriteError, match="no space left"):
        Recorder(tmp_path / "run.isoscope.h5", r.Identity())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "ending",
    ["", "del recorder", "recorder.close(); recorder.close()", "raise SystemExit(3)"],
)
def test_every_way_out_marks_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "run.isoscope.h5"
    code = (
        "from isoscope.core.recording.labelled import records as r\n"
        "from isoscope.core.recording.labelled.recorder import Recorder\n"
        f"recorder = Recorder({str(path)!r}, r.Identity())\n"
        "for k in range(10): recorder.native(r.NativeStep(env=k))\n"
        f"{ending}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=120)
    recording = registry.load(path)
    assert recording.complete
    assert len(recording) == 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    code = (
        "import os\n"
        "from isoscope.core.recording.labelled import records as r\n"
        "from isoscope.core.recording.labelled.recorder import Recorder\n"
        f"recorder = Recorder({str(path)!r}, r.Identity())\n"
        "recorder.native(r.NativeStep(env=0))\n"
        "assert recorder.flush()\n"
        "if os.fork() == 0:\n"
        "    recorder.native(r.NativeStep(env=1)); recorder.close(); raise SystemExit\n"
        "os.wait()\n"
        "recorder.native(r.NativeStep(env=2))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    recording = registry.load(path)
    assert recording.complete
    assert recording.labels is not None
    assert recording.labels.env.tolist() == [0, 2]


def threads(work: Callable[[int], None], count: int) -> None:
    each = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()


def test_several_threads_each_with_its_frame(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    recorder = Recorder(path, r.Identity())

    def work(env: int) -> None:
        frame = recorder.frame([r.Field(name=f"of{env}")], "i8", scene=env)
        for k in range(3000):
            frame.put(0, k)
            step = r.NativeStep(env=env, control_step=k, scene=env)
            assert recorder.native(step, frame) >= 0

    threads(work, 3)
    recorder.close()
    recording = registry.load(path)
    labels = recording.labels
    assert labels is not None
    assert len(recording) == 9000
    for env in range(3):
        mine = np.flatnonzero(labels.env == env)
        window = recording.scene[f"of{env}"].read(0, 9000)
        np.testing.assert_array_equal(np.flatnonzero(window.valid), mine)
        np.testing.assert_array_equal(window.values[mine], np.arange(3000))
        np.testing.assert_array_equal(labels.control_step[mine], np.arange(3000))


def test_values_that_json_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"

    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    with Recorder(path, r.Identity(extra={"x": np.float32(2)})) as recorder:
        recorder.reset(r.Reset(seed=2**200, options={1: np.arange(3), "o": Odd()}))
        recorder.failure(r.Failure("step", message="\udc80 broken", detail={3, 4}))
        recorder.stream(r.StreamSample("eye", data=np.eye(2, dtype=np.uint8)))
        recorder.stream(r.StreamSample("eye", data=b"raw"))
        recorder.stream(r.StreamSample("eye", data=np.zeros(9), keep=False))
    labelled = registry.load(path).labelled
    assert labelled is not None
    (reset,) = labelled.resets()
    assert reset.seed == 2**200
    assert reset.options == {"1": [0, 1, 2], "o": "<Odd>"}
    assert labelled.failures()[0].detail == [3, 4]
    assert labelled.identity.extra == {"x": 2.0}
    first = labelled.sample(0)
    np.testing.assert_array_equal(first, np.eye(2))  # type: ignore[arg-type]
    assert labelled.sample(1) == b"raw"
    assert labelled.sample(2) is None
    assert labelled.streams()["digest"].any(axis=1).all()
