"""Windows that join a run late: that they lack what was before is nothing wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium
import numpy as np

from isoscope.core import tap
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from tests.core.live.test_live import Window, hub, merged
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import until

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


def found(recording: Recording) -> list[str]:
    examined = Examined(recording, attribute(recording))
    return [finding.id for finding in audit(Context(examined)).findings]


def test_what_was_before_the_joining_is_not_missing() -> None:
    env = tap.attach(gymnasium.make("Pendulum-v1"), name="mine")
    env.reset(seed=1)
    for _ in range(30):
        env.step(np.zeros(1, np.float32))
    until(lambda: hub()._stream.length("transitions") == 31)
    window = Window()
    until(lambda: window.rows == 1)
    for _ in range(5):
        env.step(np.zeros(1, np.float32))
    tap.detach()
    window.wait()
    recording = window.source.recording
    assert recording.labels is not None
    assert recording.labels.control_step.tolist() == [30, 31, 32, 33, 34, 35]
    assert not window.source.whole
    assert "incomplete-recording" not in found(recording)
    window.close()


def test_a_run_that_is_joined_late_has_no_jump() -> None:
    env = tap.attach(FakeEnv(), name="mine")
    run(env, 25, seed=3)
    until(lambda: merged() == 50)
    window = Window()
    until(lambda: window.rows == 1)
    run(env, 5)
    tap.detach()
    window.wait()
    recording = window.source.recording
    assert recording.steps.time_s[0] > 0.4
    assert "clock-mismatch" not in found(recording)
    window.close()
