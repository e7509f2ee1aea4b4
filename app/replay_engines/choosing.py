"""Chooses the engine that steps a recording again: as asked, else what recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.replay.engine import EngineMaker

BUILTIN, SUPERDEX = "builtin", "superdex"
ENGINES = (BUILTIN, SUPERDEX)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the user says about the engine.

    Attributes
    ----------
    engine
        One of `ENGINES`; None for the one that recorded it.
    module
        ``FILE:FACTORY`` that makes one environment of SuperDex Lab, or a scene. None
        for what the recording says made it.
    """

    engine: str | None = None
    module: str | None = None


def engine_maker(identity: Identity, options: EngineOptions) -> EngineMaker:
    """What makes the engine for a recording's scenes.

    Parameters
    ----------
    identity
        What ran.

    Raises
    ------
    UsageError
        If the options don't fit together or name something that isn't there.
    ReplayError
        If there is no interpreter with SuperDex, or what made the recording's scenes is
        not found and none is given.
    """
    chosen = options.engine
    if chosen is None:
        chosen = SUPERDEX if identity.engine == SUPERDEX else BUILTIN
    if chosen not in ENGINES:
        raise UsageError(f"--engine {chosen}: there are {', '.join(ENGINES)}")
    if chosen == SUPERDEX:
        from isoscope.app.replay_engines.superdex import SuperDexMaker

        return SuperDexMaker(identity, options.module)
    if options.module is not None:
        raise UsageError(
            f"--module {options.module}: only SuperDex's scenes are made by a factory "
            "(--engine superdex)"
        )
    from isoscope.app.replaying import make_builtin

    return make_builtin
