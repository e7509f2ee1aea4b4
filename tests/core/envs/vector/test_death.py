"""Workers that die, hang or fail: one error, the rest closed, nothing left behind."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from isoscope.core.envs.vector import (
    EnvironmentFailedError,
    HybridVectorEnv,
    IndexedFactory,
    VectorEnvError,
    WorkerDiedError,
    WorkerTimeoutError,
    pool,
    process,
)
from tests.core.envs.vector.worlds import Counting, faulty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[4]
SHARED = Path("/dev/shm")
ZEROS = np.zeros((4, 1), dtype=np.float32)
PATIENCE_S = 60.0


def children() -> set[int]:
    """Worker processes of this one, by what the system says."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (folder / "stat").read_text()
            state, parent = text.rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
            if int(parent) == os.getpid() and b"spawn_main" in command:
                assert state != "Z", "a dead child that nobody waited for"
                found.add(int(folder.name))
    return found


def segments() -> set[str]:
    return {path.name for path in SHARED.glob("psm_*")}


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for what another process does; fails only if it never happens."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    if sys.platform != "linux":
        pytest.skip("looks into /proc and /dev/shm")
    before = children(), segments()
    yield
    gc.collect()
    assert children() <= before[0]
    # other tests share memory too, at the same time; only what is left over stays
    new = segments() - before[1]
    wait_until(lambda: not new & segments())


def bad(where: int, what: str, when: str, folder: Path) -> list[Any]:
    return [IndexedFactory(partial(faulty, where, what, when, str(folder)))] * 4


def begin_and_step(envs: HybridVectorEnv) -> None:
    envs.reset()
    envs.step(ZEROS)


def closed(folder: Path) -> set[str]:
    return {path.name.removeprefix("closed-") for path in folder.iterdir()}


@pytest.mark.parametrize("when", ["step", "reset"])
def test_a_worker_killed_in_the_middle(when: str, tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(3, "kill", when, tmp_path), workers=2)
    with pytest.raises(WorkerDiedError) as died:
        begin_and_step(envs)
    error = died.value
    assert (error.workers, error.environments) == ((1,), (2, 3))
    text = str(error)
    assert "worker 1 (environments 2, 3) was ended by SIGKILL" in text
    assert "in environment 3" in text
    assert "its last words: about to kill" in text
    assert "\n" not in text
    # the others were closed as they should be
    assert closed(tmp_path) == {"probe", "0", "1"}
    assert envs.closed
    envs.close()
    for call in (lambda: envs.step(ZEROS), envs.reset, lambda: envs.call("x")):
        with pytest.raises(VectorEnvError, match=r"is closed \(.*SIGKILL"):
            call()


@pytest.mark.parametrize(
    ("what", "how"),
    [("segfault", "ended by SIGSEGV"), ("exit", "SystemExit: 3")],
)
def test_other_ways_to_go(what: str, how: str, tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(2, what, "step", tmp_path), workers=2)
    envs.reset()
    with pytest.raises(VectorEnvError, match=how) as died:
        envs.step(ZEROS)
    if isinstance(died.value, WorkerDiedError):
        # where it was, as faulthandler wrote it
        assert "Fatal Python error: Segmentation fault" in str(died.value)
        assert "in string_at" in str(died.value)
        assert "_perhaps" in died.value.last_words
    envs.close()


def test_a_worker_killed_from_outside_between_steps() -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=2)
    envs.reset()
    os.kill(envs.worker_info[1].pid, signal.SIGKILL)
    wait_until(lambda: not _runs(envs.worker_info[1].pid))
    with pytest.raises(WorkerDiedError, match=r"worker 1 \(environments 2, 3\) was"):
        envs.step(ZEROS)


def test_all_workers_killed_are_one_error() -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=2)
    envs.reset()
    for info in envs.worker_info:
        os.kill(info.pid, signal.SIGKILL)
    # a process shows as dead in /proc before all of its threads are
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    wait_until(lambda: all(os.waitid(os.P_PID, i.pid, how) for i in envs.worker_info))
    with pytest.raises(WorkerDiedError) as died:
        envs.step(ZEROS)
    assert died.value.environments == (0, 1, 2, 3)


def test_a_worker_killed_while_it_makes_its_environments(tmp_path: Path) -> None:
    with pytest.raises(WorkerDiedError) as died:
        HybridVectorEnv(bad(2, "kill", "make", tmp_path), workers=2)
    assert "making the environments: worker 1" in str(died.value)
    assert "before its environments were made" in str(died.value)
    assert closed(tmp_path) == {"probe", "0", "1"}


def test_an_environment_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailedError) as failed:
        HybridVectorEnv(bad(3, "raise", "make", tmp_path), workers=2)
    assert (failed.value.environment, failed.value.worker, failed.value.lane) == (
        3,
        1,
        1,
    )
    assert "the pole is gone" in str(failed.value)
    assert closed(tmp_path) == {"probe", "0", "1", "2"}


def test_a_worker_killed_as_it_closes(tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(3, "kill", "close", tmp_path), workers=2)
    envs.reset()
    with pytest.raises(VectorEnvError, match=r"worker 1 .*was ended by SIGKILL"):
        envs.close()
    envs.close()
    assert closed(tmp_path) == {"probe", "0", "1"}


def test_a_worker_killed_in_a_call(tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(-1, "", "", tmp_path), workers=2)
    with pytest.raises(WorkerDiedError, match=r"calling kill_me: worker 0"):
        envs.worker_call(0, kill_me)
    with pytest.raises(VectorEnvError, match="is closed"):
        envs.reset()
    assert closed(tmp_path) == {"probe", "2", "3"}


def test_a_worker_that_hangs_while_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs = HybridVectorEnv(bad(-1, "", "", tmp_path), workers=2)
    cast("Any", envs._crew)._timeout_s = 1e-3
    monkeypatch.setattr(process, "STACK_WAIT_S", 0.5)
    # what it writes is heard, and is no answer
    with pytest.raises(WorkerTimeoutError, match="worker 0"):
        envs.worker_call(0, write_for_ever)


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(VectorEnvError, match=r"sharing memory .*No space left"):
        HybridVectorEnv([Counting] * 2, workers=1)


@pytest.mark.parametrize("workers", [0, 2])
def test_one_that_cannot_be_closed_is_named(workers: int, tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(3, "raise", "close", tmp_path), workers=workers)
    envs.reset()
    lane = "worker 1: lane 1" if workers else "worker 0: lane 3"
    with pytest.raises(VectorEnvError, match=f"{lane} raised ValueError: the pole"):
        envs.close()
    assert closed(tmp_path) == {"probe", "0", "1", "2"}
    envs.close()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("when", ["step", "reset"])
def test_an_environment_that_raises(workers: int, when: str, tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(2, "raise", when, tmp_path), workers=workers)
    doing = "resetting" if when == "reset" else "stepping"
    place = (2, 1, 0) if workers else (2, 0, 2)
    with pytest.raises(EnvironmentFailedError) as failed:
        begin_and_step(envs)
    error = failed.value
    assert (error.environment, error.worker, error.lane) == place
    assert error.kind == "ValueError"
    assert str(error) == (
        f"{doing} environment 2 (worker {place[1]}, lane {place[2]}): ValueError: the "
        "pole is gone"
    )
    assert "_perhaps" in error.remote_traceback
    # nothing is known of that step; all have to be reset
    with pytest.raises(VectorEnvError, match="reset"):
        envs.step(ZEROS)
    one = np.zeros(4, dtype=np.bool_)
    one[2] = True
    with pytest.raises(VectorEnvError, match="all of them"):
        envs.reset(options={"reset_mask": one})
    envs.worker_call(place[1], mend, place[2])
    envs.reset()
    assert envs.step(ZEROS)[0][:, 1].tolist() == [1.0] * 4
    envs.close()
    assert closed(tmp_path) == {"probe", "0", "1", "2", "3"}


def kill_me(_: list[Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_for_ever(_: list[Any]) -> None:
    while True:
        sys.stderr.write("still here\n")


def mend(envs: list[Any], lane: int) -> None:
    envs[lane].bad = False


@pytest.mark.parametrize("workers", [0, 2])
def test_an_observation_that_does_not_fit_is_named(
    workers: int, tmp_path: Path
) -> None:
    envs = HybridVectorEnv(bad(1, "wrong", "step", tmp_path), workers=workers)
    envs.reset()
    with pytest.raises(EnvironmentFailedError, match=r"environment 1 .*shape \[3\]"):
        envs.step(ZEROS)
    envs.close()


def test_a_worker_that_hangs_is_named_and_where_it_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs = HybridVectorEnv(bad(3, "hang", "step", tmp_path), workers=2, timeout_s=200)
    envs.reset()
    processes = cast("Any", envs._crew)._processes

    def now() -> float:
        """Let the time be over when nobody else is waited for, and that one hangs."""
        owing = [one.number for one in processes if one.owed]
        hangs = "about to hang" in processes[1].last_words
        return 1e9 if owing == [1] and hangs else 0.0

    monkeypatch.setattr(pool, "_now", now)
    with pytest.raises(WorkerTimeoutError) as hung:
        envs.step(ZEROS)
    text = str(hung.value)
    assert "worker 1 (environments 2, 3) gave no answer in 200 s" in text
    assert "it is in environment 3" in text
    assert "in _perhaps" in text  # from its stack
    assert closed(tmp_path) == {"probe", "0", "1"}


def test_an_interrupted_step_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = HybridVectorEnv([Counting] * 4, workers=2)
    envs.reset()
    selector = cast("Any", envs._crew)._selector
    waiting = selector.select

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(selector, "select", interrupted)
    with pytest.raises(KeyboardInterrupt):
        envs.step(ZEROS)
    monkeypatch.setattr(selector, "select", waiting)
    with pytest.raises(VectorEnvError, match="interrupted"):
        envs.step(ZEROS)
    obs, _ = envs.reset()  # the late answers are not taken for those of the reset
    assert obs[:, 1].tolist() == [0.0] * 4
    assert envs.step(ZEROS)[0][:, 1].tolist() == [1.0] * 4
    envs.close()


def test_closed_when_nobody_closes(tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(-1, "", "", tmp_path), workers=2)
    pids = [info.pid for info in envs.worker_info]
    del envs
    gc.collect()
    assert not any(_runs(pid) for pid in pids)
    assert closed(tmp_path) == {"probe", "0", "1", "2", "3"}


def test_terminating_closes_at_once(tmp_path: Path) -> None:
    envs = HybridVectorEnv(bad(3, "hang", "close", tmp_path), workers=2)
    envs.close(terminate=True)
    envs.close()
    late = HybridVectorEnv(bad(3, "hang", "close", tmp_path), workers=2)
    with pytest.raises(VectorEnvError, match="worker 1 had to be ended"):
        late.close(timeout=1)
    assert {"0", "1"} <= closed(tmp_path)


SCRIPT = """
import sys, time
sys.path[:0] = {path!r}
from functools import partial
import numpy as np
from isoscope.core.envs.vector import HybridVectorEnv, IndexedFactory
from tests.core.envs.vector.worlds import Counting, faulty
{body}
"""


def script(tmp_path: Path, body: str) -> list[str]:
    file = tmp_path / "script.py"
    body = textwrap.dedent(body)
    path = [entry for entry in sys.path if entry] + [str(ROOT)]
    file.write_text(SCRIPT.format(path=path, body=body))
    return [sys.executable, "-W", "error", str(file)]


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    done = subprocess.run(
        script(tmp_path, "HybridVectorEnv([Counting] * 2, workers=2)"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "__main__" in line]
    assert len(said) == 1
    assert 'under `if __name__ == "__main__":`' in said[0]
    assert done.stderr.count("Traceback") == 1  # the script's own


def test_leaving_without_closing_closes(tmp_path: Path) -> None:
    body = """
    if __name__ == "__main__":
        factory = IndexedFactory(partial(faulty, -1, "", "", sys.argv[1]))
        envs = HybridVectorEnv([factory] * 4, workers=2)
        envs.reset()
    """
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [*script(tmp_path, body), str(out)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert closed(out) == {"probe", "0", "1", "2", "3"}


@pytest.mark.parametrize("hang", [False, True])
def test_workers_end_when_their_parent_is_killed(hang: bool, tmp_path: Path) -> None:
    body = f"""
    if __name__ == "__main__":
        what = "hang" if {hang} else ""
        factory = IndexedFactory(partial(faulty, 1, what, "step", sys.argv[1]))
        envs = HybridVectorEnv([factory] * 4, workers=2)
        envs.reset()
        print(*(info.pid for info in envs.worker_info), flush=True)
        if what:
            envs.step(np.zeros((4, 1)))
        time.sleep(1000)
    """
    parent = subprocess.Popen(
        [*script(tmp_path, body), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pids = [int(part) for part in parent.stdout.readline().split()]
    assert len(pids) == 2
    if hang:
        wait_until(lambda: _runs(pids[0]))
    parent.kill()
    _, said = parent.communicate()
    wait_until(lambda: not any(_runs(pid) for pid in pids))
    assert "leaked" not in said


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
