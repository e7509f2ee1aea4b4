"""Windows on live runs: they come, go, come back, and are told how it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
import zmq

from isoscope.core import tap
from isoscope.core.errors import CancelledError, ReadError, UsageError
from isoscope.core.live import discovery
from isoscope.core.live import source as live
from isoscope.core.live.client import Client
from isoscope.core.live.source import LiveSource, Phase
from isoscope.core.recording.source import Source
from isoscope.core.tap import messages as m
from isoscope.core.tap import process, runtime
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import Child, opened, until
from tests.core.tap.test_messages import mutated, valid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Window:
    """A window that follows a run in a thread."""

    def __init__(self, run: runtime.Run | None = None, **options: Any) -> None:
        self.follow(LiveSource(run or discovery.find(), **options))

    def follow(self, source: LiveSource) -> None:
        self.source = source
        self.error: Exception | None = None
        self.grown: list[int] = []
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        try:
            grown = self.grown.append
            self.source.index(lambda done, _: grown(done), self._cancelled.is_set)
        except Exception as error:  # noqa: BLE001 the test looks at it
            self.error = error

    @property
    def rows(self) -> int:
        return len(self.source.recording)

    def cancel(self) -> None:
        self._cancelled.set()

    def wait(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def close(self) -> None:
        self.source.close()
        self.wait()


@pytest.fixture
def windows() -> Iterator[list[Window]]:
    opened: list[Window] = []
    yield opened
    for window in opened:
        window.close()


def hub() -> Any:
    session = tap.current()
    assert session is not None
    return session.outlet


def peer() -> Any:
    """The only window that wants data, as its hub sees it."""

    def only() -> list[Any]:
        return [w for w in list(hub()._guests._windows.values()) if w.data]

    (found,) = until(only)
    return found


def merged() -> int:
    count: int = hub()._stream.target.length("native")
    return count


def test_a_window_sees_a_run_from_its_joining_on(windows: list[Window]) -> None:
    env = tap.attach(FakeEnv(), name="mine")
    run(env, 25, seed=3)
    until(lambda: merged() == 50)
    windows.append(window := Window())
    assert isinstance(window.source, Source)
    until(lambda: window.rows == 1)
    assert not window.source.whole
    run(env, 25)
    until(lambda: window.rows == 51)
    assert window.source.phase is Phase.RUNNING
    tap.detach()
    window.wait()
    assert window.error is None
    assert window.source.phase is Phase.ENDED
    assert window.source.last_words == ""
    assert window.grown == sorted(window.grown)
    recording = window.source.recording
    assert not recording.problems
    steps = recording.labels.control_step[1:21:2] if recording.labels else []
    np.testing.assert_array_equal(steps, np.arange(1, 11))
    (actor,) = recording.actors
    state = actor.fields.tracks["translation"].read(0, 51)
    assert state.valid.all()
    assert state.values[:2].tolist() == [[0, 5, 1], [0, 1, 0]]
    assert len(window.source.reader.labelled.transitions()) == 26
    assert not window.source.dropped
    # The recording time goes on from where it was.
    assert recording.steps.time_s[0] == pytest.approx(0.5)


def test_a_window_that_is_there_first_misses_nothing(windows: list[Window]) -> None:
    env = tap.attach(FakeEnv(), name="mine")
    windows.append(window := Window())
    assert window.source.whole  # nothing was before it, as far as it knows
    until(lambda: hub()._guests.watching)
    run(env, 5)
    until(lambda: window.rows >= 10)
    assert window.source.whole
    # That the window itself still writes what it reads is nothing wrong with the run.
    assert not window.source.recording.problems
    windows.append(late := Window())
    until(lambda: late.rows >= 1)
    assert not late.source.whole
    tap.detach()


def test_of_control_steps_it_is_told_too_that_the_first_are_not_there(
    windows: list[Window],
) -> None:
    env = tap.attach(gymnasium.make("CartPole-v1"), name="mine")
    windows.append(window := Window())
    until(lambda: hub()._guests.watching)
    env.reset(seed=1)
    for _ in range(3):
        env.step(0)
    until(lambda: window.rows == 4)
    assert window.source.whole
    windows.append(late := Window())
    until(lambda: late.rows >= 1)
    assert not late.source.whole
    tap.detach()


def test_what_came_is_whole_where_it_is_watched_no_longer(
    windows: list[Window],
) -> None:
    env = tap.attach(FakeEnv(), name="mine")
    windows.append(window := Window())
    until(lambda: hub()._guests.watching)
    run(env, 5)
    until(lambda: window.rows == 10)
    window.cancel()
    window.wait()
    assert isinstance(window.error, CancelledError)
    assert window.source.recording.complete
    assert not window.source.recording.problems
    tap.detach()


def test_a_file_of_this_machine_has_all_of_it(
    tmp_path: Path, windows: list[Window]
) -> None:
    env = tap.attach(FakeEnv(), record=tmp_path / "run.isoscope.h5")
    run(env, 25)
    windows.append(window := Window())
    assert window.source.whole
    until(lambda: window.rows == 50)
    run(env, 5)
    until(lambda: window.rows == 60)
    tap.detach()
    window.wait()
    assert window.source.phase is Phase.ENDED
    assert window.source.recording.complete


def test_two_windows_and_one_that_keeps(tmp_path: Path, windows: list[Window]) -> None:
    env = tap.attach(FakeEnv())
    kept = tmp_path / "kept.isoscope.h5"
    windows += [Window(), Window(keep=kept)]
    until(lambda: len(hub()._guests._windows) == 2)
    run(env, 25)
    for window in windows:
        until(lambda w=window: w.rows == 50)  # type: ignore[misc]
    windows[0].close()
    assert isinstance(windows[0].error, CancelledError)
    run(env, 5)
    until(lambda: windows[1].rows == 60)
    tap.detach()
    windows[1].wait()
    windows[1].close()
    assert not windows[0].source.path.exists()
    assert len(opened(kept).recording) == 60


def test_a_window_that_was_killed_comes_back(windows: list[Window]) -> None:
    env = tap.attach(FakeEnv())
    with Child("tests.core.live.looker") as looker:
        assert looker.says() == "joined"
        until(lambda: hub()._guests.looking)
        run(env, 5)
        until(lambda: looker.says() == "rows 10 of all")
        os.kill(looker.process.pid, signal.SIGKILL)
        looker.process.wait()
    until(lambda: not hub()._guests.looking)
    run(env, 5)
    until(lambda: hub()._stream.length("native") == 20)
    with Child("tests.core.live.looker") as looker:
        assert looker.says() == "joined"
        until(lambda: hub()._guests.looking)
        run(env, 5)
        until(lambda: looker.says() == "rows 11 from now on")
        tap.detach()
        until(lambda: looker.says() == "over ended:")
        assert looker.ended() == ""


@pytest.mark.parametrize("words", [False, True])
def test_a_run_that_is_killed(windows: list[Window], words: bool) -> None:
    with Child("tests.core.live.runner", "-") as runner:
        assert runner.says() == "ready"
        windows.append(window := Window())
        runner.tell("5")
        assert runner.says() == "10"
        until(lambda: window.rows == 10)
        if words:
            runner.tell("failure")
            runner.says()
            until(lambda: window.source.reader.labelled.count("failures") == 1)
        os.kill(runner.process.pid, signal.SIGKILL)
        window.wait()
    assert window.source.phase is Phase.DIED
    told = "its process died without a word"
    if words:
        told += "; before that: it went wrong"
    assert window.source.last_words == told
    assert discovery.running() == []
    failures = window.source.reader.labelled.failures()
    assert failures[-1].message == told


def test_workers_end_with_a_run_that_is_killed(windows: list[Window]) -> None:
    with Child("tests.core.tap.fleet_runner") as runner:
        workers = [int(number) for number in runner.says().split()]
        windows.append(window := Window())
        runner.tell("4")
        assert runner.says() == "done"
        until(lambda: window.rows >= 16)
        os.kill(runner.process.pid, signal.SIGKILL)
        window.wait()
        until(lambda: not any(process.alive(number) for number in workers))
    assert window.source.phase is Phase.DIED
    assert discovery.running() == []
    transitions = window.source.reader.labelled.transitions()
    assert {t.env for t in transitions} == {0, 1}


def test_a_recorded_run_that_is_killed(tmp_path: Path, windows: list[Window]) -> None:
    with Child("tests.core.live.runner", tmp_path / "run.isoscope.h5") as runner:
        assert runner.says() == "ready"
        windows.append(window := Window())
        runner.tell("5")
        until(lambda: window.rows == 10)
        os.kill(runner.process.pid, signal.SIGKILL)
        window.wait()
    assert window.source.phase is Phase.DIED
    assert window.rows == 10
    assert any("cut" in p.message for p in window.source.recording.problems)
    assert discovery.running() == []


def test_a_run_that_raises_says_why(windows: list[Window]) -> None:
    with Child("tests.core.live.runner", "-") as runner:
        assert runner.says() == "ready"
        windows.append(window := Window())
        runner.tell("5")
        until(lambda: window.rows == 10)
        runner.tell("raise")
        window.wait()
        said = runner.ended()
    assert said.count("Traceback") == 1
    assert "fails here" in said
    assert window.source.phase is Phase.DIED
    assert window.source.last_words == "ValueError: this environment fails here"
    failures = window.source.reader.labelled.failures()
    assert [f.what for f in failures] == ["step", "program"]


def test_what_a_slow_window_misses_is_told() -> None:
    env = tap.attach(FakeEnv())
    client = Client(discovery.find())
    came: list[tuple[Any, Any]] = []

    def packets() -> list[Any]:
        came.extend(client.poll(0.05))
        return [message for message, packet in came if packet is not None]

    until(lambda: packets() and client.welcome)
    window = peer()
    client.credit(1)
    until(lambda: window.waits_for == 0)
    window.limit_bytes = 1000
    for _ in range(20):
        before = merged()
        run(env, 10)
        until(lambda b=before: merged() > b)  # type: ignore[misc]
    until(lambda: merged() == 400)
    until(lambda: window.total_missed > 0)
    until(lambda: len(packets()) == window.sequence)
    seen = window.sequence
    client.credit(seen)
    until(lambda: window.waits_for == 0)
    run(env, 10)
    until(lambda: len(packets()) > seen)
    assert packets()[seen].missed > 0
    client.close()


def test_a_window_that_missed_something_goes_on(
    tmp_path: Path, windows: list[Window]
) -> None:
    env = tap.attach(FakeEnv())
    windows.append(window := Window(keep=tmp_path / "kept.isoscope.h5"))
    told = peer()
    run(env, 10)
    until(lambda: window.rows == 20)
    told._flying.append((1 << 40, 1 << 40))  # as if it had taken nothing
    told._flying_bytes += 1 << 40
    run(tap.attach(FakeEnv()), 10)
    until(lambda: merged() == 40)
    until(lambda: told.total_missed > 0)
    told._flying_bytes -= told._flying.pop()[1]
    run(env, 10)
    until(lambda: window.rows == 40)
    tap.detach()
    window.wait()
    assert window.source.missed == told.total_missed
    assert window.source.dropped == {"records": told.total_missed}
    assert len(window.source.recording.actors) == 2
    envs = window.source.reader.labelled.column("native", "env")
    assert set(envs.tolist()) == {0}


def test_what_is_cached_is_bounded_and_read_again(windows: list[Window]) -> None:
    env = tap.attach(FakeEnv())
    windows.append(window := Window(memory_bytes=20_000))
    until(lambda: hub()._guests.looking)
    assert not window.source.memory.in_file
    assert window.source.memory.cap_bytes == 20_000
    for _ in range(4):
        run(env, 1000)
    until(lambda: window.rows == 8000)
    store = window.source.reader.store
    (actor,) = window.source.recording.actors
    track = actor.fields.tracks["translation"]
    for start in range(0, 8000, 500):
        assert track.read(start, start + 500).valid.all()
        # The last block that was read may be larger by itself.
        assert store._cached <= 10_000 or len(store._cache) == 1
    assert track.read(0, 2).values.tolist() == [[0, 1, 0], [0, 1, 1]]
    spill = window.source.reader._spill
    assert spill is not None
    assert spill.mapped_bytes > 100_000
    memory = window.source.memory
    assert 0.5 * 8000 < memory.in_file < 8000
    assert memory.used_bytes <= max(memory.cap_bytes, 10_000 + store.cached_bytes)
    window.source.set_memory(1 << 26)
    assert window.source.memory.cap_bytes == 1 << 26
    assert spill.memory_bytes == store.cache_bytes == 1 << 25
    steps = window.source.recording.steps
    np.testing.assert_array_equal(steps.event, np.arange(8000))
    np.testing.assert_allclose(np.diff(steps.time_s), 0.01)


def test_commands_are_answered(windows: list[Window]) -> None:
    tap.attach(FakeEnv())
    session = tap.current()
    assert session is not None
    windows.append(window := Window())
    answers: list[tuple[bool, str]] = []
    window.source.control("pause", lambda ok, text: answers.append((ok, text)))
    until(lambda: answers)
    assert answers.pop() == (False, "this run does not take the command 'pause'")
    session.allow("pause", "speed")
    window.source.control(
        "speed", lambda ok, text: answers.append((ok, text)), factor=2.0
    )
    (command,) = until(session.commands)
    assert (command.what, command.arguments) == ("speed", {"factor": 2.0})
    command.done("as fast as it goes")
    session.tell(paused=True)
    until(lambda: answers)
    assert answers == [(True, "as fast as it goes")]
    until(lambda: window.source.phase is Phase.PAUSED)
    assert window.source.told["allowed"] == ["pause", "speed"]


def test_a_lost_connection_is_noticed_and_comes_back(
    windows: list[Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOST_S", 0.2)
    monkeypatch.setattr("isoscope.core.live.client.HELLO_S", 0.3)
    env = tap.attach(FakeEnv())
    windows.append(window := Window())
    run(env, 5)
    until(lambda: window.rows == 10)
    guests = hub()._guests
    monkeypatch.setattr(guests, "take", lambda *_: None)
    until(lambda: window.source.phase is Phase.LOST)
    guests._windows.clear()  # as if it had been taken for gone
    monkeypatch.undo()
    monkeypatch.setattr("isoscope.core.live.client.HELLO_S", 0.3)
    until(lambda: window.source.phase is Phase.RUNNING)
    until(lambda: guests.looking)
    run(env, 5)
    until(lambda: window.rows == 20)
    assert not window.source.recording.problems


def test_keys_keep_strangers_out(windows: list[Window], tmp_path: Path) -> None:
    keys = tap.new_keys()
    env = tap.attach(FakeEnv(), address="tcp://0.0.0.0:*", keys=keys)
    assert keys.secret not in repr(keys)
    here = discovery.find()
    assert here.server_key == keys.public
    assert keys.secret not in (next((tmp_path / "runtime").glob("*.json"))).read_text()
    windows.append(Window())
    until(lambda: len(hub()._guests._windows) == 1)
    run(env, 3)
    until(lambda: windows[0].rows == 6)
    for other in (
        runtime.Run(address=here.address, run="", token=keys.token),
        runtime.Run(
            address=here.address,
            run="",
            token=keys.token,
            server_key=tap.new_keys().public,
        ),
    ):
        stranger = Client(other)
        stranger.poll(0.3)
        assert stranger.welcome is None
        stranger.close()
    wrong = runtime.Run(address=here.address, run="", token="", server_key=keys.public)
    with pytest.raises(ReadError, match="token"):
        LiveSource(wrong)
    assert len(hub()._guests._windows) == 1


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ANSWER_S", 0.1)
    with pytest.raises(ReadError, match="no run answered"):
        LiveSource(runtime.Run(address="tcp://127.0.0.1:9", run="", token="x"))


def test_a_window_refuses_and_counts_what_makes_no_sense(windows: list[Window]) -> None:
    """A hub gone mad sends ten thousand messages; the window stays."""
    context = zmq.Context()
    router: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.LINGER, 0)
    router.setsockopt(zmq.SNDHWM, 0)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    client = Client(runtime.Run(address=f"tcp://127.0.0.1:{port}", run="", token="x"))
    identity = router.recv_multipart()[0]
    chance, seeds = random.Random(8), valid()
    for _ in range(10_000):
        router.send_multipart([identity, *mutated(chance, seeds)])
    router.send_multipart([identity, *m.encode(m.State(state={"last": 1}))])
    came: list[Any] = []
    while m.State(state={"last": 1}) not in came:
        came += [message for message, _ in client.poll(1.0)]
    assert client.refused["malformed"] > 3000
    assert client.refused["version"] > 0
    client.close()
    router.close(0)
    context.term()


def test_runs_are_found_and_the_dead_removed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run of yours"):
        discovery.find()
    tap.attach(FakeEnv(), name="mine")
    me = discovery.find()
    assert (me.name, me.process) == ("mine", os.getpid())
    assert discovery.find(me.address) == discovery.find("mine") == me
    folder = tmp_path / "runtime"
    assert folder.stat().st_mode & 0o77 == 0
    assert all(p.stat().st_mode & 0o77 == 0 for p in folder.iterdir())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for number, (pid, started) in enumerate([(gone.pid, 0), (os.getpid(), 1)]):
        runtime.announce(
            runtime.Run(
                address="tcp://127.0.0.1:9",
                run=f"{number}",
                process=pid,
                started=started,
                host=me.host,
            )
        )
    (folder / "1-x.json").write_bytes(b"{")
    assert len(list(folder.glob("*.json"))) == 4
    assert discovery.running() == [me]
    assert len(list(folder.glob("*.json"))) == 2
    (folder / "1-x.json").unlink()
    with pytest.raises(UsageError, match="token"):
        discovery.find("tcp://127.0.0.1:9")
    other = discovery.find("tcp://h:9", token="t", server_key="k" * 40)
    assert other.token == "t"
