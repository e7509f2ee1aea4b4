"""Which runs can be joined on this machine."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from isoscope.core.errors import UsageError, one_line
from isoscope.core.tap import process, runtime, wire
from isoscope.core.tap.runtime import Run

DOING = "attaching"
MAX_BYTES = 1 << 16


def running() -> list[Run]:
    """The runs of this user that live, the oldest first.

    The files of those that died without a word are removed.

    Raises
    ------
    UsageError
        If the runtime folder can't be used.
    """
    try:
        paths = sorted(runtime.folder().glob("*.json"))
    except OSError as error:
        raise UsageError(f"{DOING}: {one_line(error)}") from None
    here = process.host()
    found: list[Run] = []
    for path in paths:
        run = None
        with suppress(OSError, msgspec.MsgspecError):
            if path.stat().st_size <= MAX_BYTES:
                run = msgspec.json.decode(path.read_bytes(), type=Run)
        if run is None:
            continue  # being written, or not ours
        if run.host == here and not process.alive(run.process, run.started):
            runtime.withdraw(path)
            continue
        found.append(run)
    return sorted(found, key=lambda run: run.began_ns)


def find(address: str | None = None, *, token: str = "", server_key: str = "") -> Run:
    """The run at this address, or the only one there is.

    Parameters
    ----------
    address
        ``"tcp://HOST:PORT"``, or the beginning of a run's id or name.
    token, server_key
        What joining a run of another machine takes; see `isoscope.core.tap.keys`.

    Raises
    ------
    UsageError
        If there is none, or more than one.
    """
    runs = running()
    if address is None:
        if len(runs) == 1:
            return runs[0]
        if not runs:
            raise UsageError(
                f"{DOING}: no run of yours is tapped on this machine; add "
                "env = tap.attach(env) to one, or give its address"
            )
        listed = ", ".join(f"{run.name} {run.address}" for run in runs)
        raise UsageError(f"{DOING}: there are {len(runs)} runs; name one: {listed}")
    for run in runs:
        if run.address == address:
            return run
    named = [r for r in runs if r.run.startswith(address) or r.name == address]
    if len(named) == 1:
        return named[0]
    wire.check_address(address, doing=DOING, encrypted=True)
    near = wire.is_loopback(address.removeprefix("tcp://").rpartition(":")[0])
    if not token or not (near or server_key):
        raise UsageError(
            f"{DOING}: no run of yours is at {address}; for another machine's give its "
            "--token and --key, and see which are here with isoscope attach --list"
        )
    return Run(address=address, run="", token=token, server_key=server_key)
