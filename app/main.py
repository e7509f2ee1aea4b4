"""The command line: one program, a subcommand a file in `isoscope.app.commands`.

Exit status: 0 fine, 1 findings, 2 the input can't be read, the arguments are wrong or
the program failed, 130 stopped by Ctrl+C, 141 nobody reads the output any more.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once and
every command works on the base install as far as it can.
"""

import sys
import time
import traceback
from typing import Annotated, cast

import typer

from isoscope.app import console
from isoscope.app.commands import (
    align,
    attach,
    attribute,
    audit,
    bench,
    branch,
    collect,
    compare,
    demo,
    doctor,
    dump,
    explain,
    export,
    info,
    launch,
    manifest,
    record,
    repair,
    replay,
    validate,
)
from isoscope.core.errors import IsoscopeError, one_line

FAILED, STOPPED, PIPE_CLOSED = 2, 130, 141
# The parser's own base class of errors, public only through its children.
PARSER_ERROR = cast("type[Exception]", typer.BadParameter.__mro__[2])

cli = typer.Typer(
    name=console.PROGRAM,
    help="See what really happened inside a batch of simulated environments.",
    epilog="Positions, as --seek takes them: native:120, control:ENV/EPISODE/K, "
    "time:recording=1.5, event:63.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from isoscope.core.version import isoscope_version

        console.emit(f"{console.PROGRAM} {isoscope_version()}")
        raise typer.Exit


@cli.callback(invoke_without_command=True)
def _open_without_command(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say the version.", is_eager=True, callback=_say_version
        ),
    ] = False,
) -> int:
    if context.invoked_subcommand is None:
        return launch.open_command()
    return 0


cli.command("open")(launch.open_command)
cli.command("info")(info.info)
cli.command("dump")(dump.dump)
cli.command("attribute")(attribute.attribute)
cli.command("align")(align.align)
cli.command("audit")(audit.audit)
cli.command("explain")(explain.explain)
cli.command("compare")(compare.compare)
cli.command("replay")(replay.replay)
cli.command("branch")(branch.branch)
cli.add_typer(bench.cli, name="bench")
cli.command("collect")(collect.collect)
cli.command("demo")(demo.demo)
cli.command("validate")(validate.validate)
cli.command("export")(export.export)
cli.add_typer(manifest.cli, name="manifest")
cli.command("record")(record.record)
cli.command("attach")(attach.attach)
cli.command("repair")(repair.repair)
cli.command("doctor")(doctor.doctor)


def main(arguments: list[str] | None = None) -> int:
    """Run the program; gives the exit status.

    Parameters
    ----------
    arguments
        Those of the process by default.
    """
    console.prepare_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(arguments)
    except IsoscopeError as error:
        console.tell(str(error))
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    except BrokenPipeError:
        console.silence_stdout()
        return PIPE_CLOSED
    except MemoryError:
        console.tell("out of memory")
        return FAILED
    except Exception as error:  # noqa: BLE001 the last door: told in one line, and kept
        console.tell(_keep(error, arguments))
        return FAILED


def _run(arguments: list[str]) -> int:
    try:
        status = typer.main.get_command(cli).main(
            arguments, prog_name=console.PROGRAM, standalone_mode=False
        )
    except PARSER_ERROR as error:
        console.tell(_usage(error, arguments))
        return FAILED
    except SystemExit as end:
        # Commands return their status. Only the parser leaves this way: by 1 where it
        # met a closed pipe, which must not read as findings.
        if end.code == 1:
            raise BrokenPipeError from None
        raise
    return status if isinstance(status, int) else 0


def _usage(error: Exception, arguments: list[str]) -> str:
    said = getattr(error, "format_message", error.__str__)()
    said = one_line(said).rstrip(".")
    said = said[:1].lower() + said[1:]
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", console.PROGRAM)
    from pathlib import Path

    first = arguments[0] if arguments else ""
    if said.startswith("no such command") and Path(first).is_file():
        return f"{said}; to look at that file: {console.PROGRAM} open {first}"
    return f"{said}; see: {path} --help"


def _keep(error: Exception, arguments: list[str]) -> str:
    """Write the traceback where the user can find it; gives the line to say."""
    from isoscope.app.folders import log_dir, write_whole
    from isoscope.core.version import isoscope_version

    said = f"{type(error).__name__}: {one_line(error)}" if str(error) else repr(error)
    path = (
        log_dir()
        / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000}.txt"
    )
    lines = [
        f"isoscope {isoscope_version()}, Python {sys.version}, {sys.platform}\n",
        f"arguments: {arguments}\n\n",
        *traceback.format_exception(error),
    ]
    try:
        write_whole(path, "".join(lines).encode("utf-8", "backslashreplace"))
    except OSError as failed:
        where = f"its details could not be kept ({failed.strerror or failed})"
    else:
        where = f"please report it with {path}"
    return f"this is a bug in isoscope: {one_line(said)[:300]}; {where}"
