"""A writer to be killed: records rows that say their own number, and tells how far.

Arguments: the file, seconds between flushes. Prints a line with the number of rows
whenever all of them are in the file. Actors and fields turn up while it runs.
"""

from __future__ import annotations

import sys

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder


def main() -> None:
    recorder = Recorder(
        sys.argv[1], r.Identity(engine="none"), flush_s=float(sys.argv[2])
    )
    frames = []
    row = 0
    while True:
        if row % 700 == 0 and len(frames) < 30:
            actor = recorder.actor(
                r.ActorInfo(name=f"body{len(frames)}", type="Rigid", created_row=row)
            )
            field = r.Field(name="translation", shape=(3,), actor=actor)
            frames.append(recorder.frame([field], "float64"))
        for number, frame in enumerate(frames):
            frame.put(0, (row, number, -row))
        step = r.NativeStep(env=row % 3, control_step=row, kind=0, h_s=0.5)
        assert recorder.native(step, *frames) == row
        if row % 50 == 0:
            snapshot = r.Snapshot(str(row).encode() * 200, row=row, covers=["pose"])
            assert recorder.snapshot(snapshot) == row // 50
        if row % 5 == 0:
            recorder.transition(r.Transition(env=row % 3, reward=row, reasons=[row]))
        row += 1
        if row % 311 == 0:
            assert recorder.flush()
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
