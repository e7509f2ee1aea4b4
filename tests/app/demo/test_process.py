from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import msgspec
import pytest

from isoscope.app.demo.live_settings import ENDLESS, LiveDemo, demo_of, to_line
from isoscope.app.demo.process import DemoProcess
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.faults.order import parse_order
from isoscope.core.errors import IsoscopeError
from isoscope.core.live.discovery import find, running
from isoscope.core.live.source import LiveSource

PATIENCE_S = 60.0
SMALL = LiveDemo(
    settings=DemoSettings(
        envs=2, steps=ENDLESS, integrator="semi_implicit", device="cpu"
    )
)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for has, too."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_what_is_run_survives_its_line() -> None:
    demo = LiveDemo(
        settings=DemoSettings(
            task="Pusher",
            scene="resident",
            faults=(parse_order("gravity-leak@1:2/3"),),
            watch=(0, 3),
        ),
        speed=None,
        record="/tmp/x.isoscope.h5",
    )
    assert demo_of(to_line(demo)) == demo


def test_a_worker_can_be_joined_and_ends_when_its_input_does() -> None:
    process = DemoProcess(SMALL)
    try:
        address = process.joinable()
        assert address in {run.address for run in running()}
        process.stop()
        assert process.wait(PATIENCE_S)
        assert not process.crashed
    finally:
        process.end()
    assert address not in {run.address for run in running()}


def test_what_can_not_run_says_why() -> None:
    process = DemoProcess(LiveDemo(settings=DemoSettings(task="Nothing")))
    try:
        with pytest.raises(IsoscopeError, match="Nothing"):
            process.joinable()
        assert process.crashed
    finally:
        process.end()


def test_a_worker_that_is_killed_has_crashed() -> None:
    process = DemoProcess(SMALL)
    try:
        process.joinable()
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(PATIENCE_S)
        assert process.crashed
        assert "SIGKILL" in process.ended
    finally:
        process.end()


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks into /proc")
def test_a_worker_ends_with_a_starter_that_is_killed() -> None:
    starter = textwrap.dedent(
        """
        import time
        from isoscope.app.demo.process import DemoProcess
        from tests.app.demo.test_process import SMALL
        process = DemoProcess(SMALL)
        process.joinable()
        print(process.pid, flush=True)
        time.sleep(1000)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()
    parent.stdout.close()
    assert gone(pid)


def test_one_that_waits_takes_no_step_before_it_is_told_to() -> None:
    process = DemoProcess(msgspec.structs.replace(SMALL, waits_s=PATIENCE_S))
    try:
        source = LiveSource(find(process.joinable()))
        following = threading.Thread(target=source.index)
        following.start()
        time.sleep(0.5)
        assert not len(source.recording)
        process.begin()
        end = time.monotonic() + PATIENCE_S
        while len(source.recording) < 20 and time.monotonic() < end:
            time.sleep(0.02)
        assert len(source.recording) >= 20
        assert source.whole  # the very first step was seen
        process.stop()
        following.join(PATIENCE_S)
        assert not following.is_alive()
        source.close()
    finally:
        process.end()
