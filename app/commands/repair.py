"""``isoscope repair``: a clean copy of a labelled recording whose writer died."""

from pathlib import Path
from typing import Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import AsJson, File, Overwrite

LISTED_AT_MOST = 10


def repair(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="F",
            help="The file to write; by default NAME.repaired.isoscope.h5 beside it.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Save what is left of a labelled recording to a clean copy.

    The recording itself is never changed. Says what was lost, as far as that can be
    known.
    """
    from isoscope.core.recording.labelled.repair import repair as save
    from isoscope.core.summary import counted

    done = save(file, out, overwrite=overwrite)
    if as_json:
        console.emit_json(done)
        return 0
    for line in done.lost[:LISTED_AT_MOST]:
        console.warn(f"lost: {line}")
    if len(done.lost) > LISTED_AT_MOST:
        console.warn(f"lost: {len(done.lost) - LISTED_AT_MOST:,} more")
    steps = counted(done.native_steps, "native step")
    if not done.native_steps and (controls := done.rows.get("transitions", 0)):
        steps = counted(controls, "control step")
    nothing = "" if done.needed else "; nothing was wrong with it"
    console.tell(f"saved {steps} to {done.out}{nothing}")
    return 0
