"""``isoscope dump``: one field of one actor as .npz or .csv."""

from pathlib import Path
from typing import Annotated

import typer

from isoscope.app import console
from isoscope.app.commands.options import File, Overwrite


def dump(
    file: File,
    field: Annotated[
        str,
        typer.Option(
            "--field", metavar="FIELD", help="Its name, as `isoscope info` lists it."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="F.npz|F.csv", help="The file to write.")
    ],
    actor: Annotated[
        str | None,
        typer.Option(
            "--actor",
            metavar="NAME",
            help="An actor's name or handle; left out, or `scene`, the step itself.",
        ),
    ] = None,
    steps: Annotated[
        str,
        typer.Option(
            "--steps",
            metavar="A:B",
            help="Native steps, B not included; below 0 from the end.",
            show_default="all",
        ),
    ] = ":",
    overwrite: Overwrite = False,
) -> int:
    """Write one field of one actor to a file.

    What is absent is told apart from what is zero. An npz holds native, value and valid
    (and offsets, where the length varies); a csv has a line a step, and empty cells
    where the field is absent.
    """
    from isoscope.app.loading import load_told
    from isoscope.core.dump import check_target
    from isoscope.core.dump import dump as write
    from isoscope.core.summary import counted

    check_target(out, file, overwrite=overwrite)
    recording = load_told(file)
    done = write(recording, field, out, actor=actor, steps=steps, overwrite=overwrite)
    total = done.stop - done.start
    if done.odd:
        console.warn(
            f"{counted(len(done.odd), 'native step')} held {done.what} in another "
            f"dtype or shape than {done.dtype}{list(done.shape)}; left out as absent, "
            f"the first is native {done.odd[0]}"
        )
    absent = total - done.present - len(done.odd)
    left_out = f", absent in {absent:,}" if absent else ""
    console.tell(
        f"wrote {done.what}, native steps {done.start}:{done.stop}{left_out}, to {out}"
    )
    return 0
