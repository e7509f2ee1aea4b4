"""Records a demo as its command does, and audits the recording as that one does."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.replaying import make_builtin
from isoscope.core.attribution.attributor import attribute
from isoscope.core.envs.manager import context
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load
from isoscope.core.replay.alone import SteppedAgain

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.demo import Demo
    from isoscope.core.isolation.findings import Audit


# Contact takes long: fewer native steps for each control step.
WITH_CONTACT = {
    "FallingBodies": {"simulation_hz": 100},
    "Pusher": {"simulation_hz": 100},
}


@dataclass(frozen=True)
class RecordedDemo:
    """What it did, how many native steps are recorded, and what is found in them."""

    settings: DemoSettings
    demo: Demo
    rows: int
    said: Audit


def recorded(folder: Path, settings: DemoSettings) -> RecordedDemo:
    """Run, record, read and audit it, environments stepped again alone."""
    torch.set_num_threads(1)
    context._managers.clear()
    file = folder / "run.isoscope.h5"
    recorder = DemoRecorder(settings, file)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        run = stack.enter_context(DemoRun(settings, recorder.around))
        recorder.listen(run)
        demo = run.run()
    recording = load(file)
    examined = Examined(recording, attribute(recording))
    with SteppedAgain(examined, make_builtin) as again:
        said = audit(Context(examined, resimulator=again))
    return RecordedDemo(settings, demo, len(recording), said)
