"""Finds what makes a recording's scenes again, and says what can't be told of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import UsageError
from isoscope.core.replay.engine import ReplayError
from isoscope.core.tap.adapters.provenance import source_hash

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.records import Identity

GIVE = "give what makes one environment by --module FILE:FACTORY"
# Of files that came with Python or a package: what is named in a recording is run of
# the user's own files only, or of the engine's.
INSTALLED = re.compile(r"(^|[/\\])(site-packages|dist-packages|python\d\.\d+)[/\\]")
ENGINES_OWN = re.compile(r"[/\\]superdex[/\\]lab[/\\]")
SHOWN = 12  # characters of a hash


@dataclass(frozen=True, slots=True)
class Chosen:
    """A factory and how it is called.

    Attributes
    ----------
    doubts
        Why it may make another scene than the recorded one.
    """

    file: Path
    factory: str
    arguments: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def choose(identity: Identity, module: str | None) -> Chosen:
    """The factory that is given, else the recorded one.

    Parameters
    ----------
    identity
        What ran.
    module
        ``FILE:FACTORY``, or None.

    Raises
    ------
    UsageError
        If what is given is not there.
    ReplayError
        If none is given, and the recorded one isn't there any more as it was.
    """
    recorded = identity.factory.rpartition(":")[2]
    if module is None:
        return _with_arguments(identity, _recorded_file(identity), recorded, [])
    text, colon, factory = module.rpartition(":")
    file = Path(text).expanduser()
    if not (colon and text and factory):
        raise UsageError(
            f"--module {module}: give a file and what is called in it, as in "
            "train.py:make_env"
        )
    if not file.is_file():
        raise UsageError(f"--module {module}: there is no file {file}")
    here = source_hash(file)
    doubts = []
    if not identity.source_hash:
        doubts.append("the recording doesn't hold what made its scenes")
    elif here != identity.source_hash:
        doubts.append(
            f"{file.name} is not the source that was recorded (SHA-256 "
            f"{here[:SHOWN]}…, recorded {identity.source_hash[:SHOWN]}…)"
        )
    if recorded and factory != recorded:
        doubts.append(f"{factory} is not what was recorded, {recorded}")
        return Chosen(file, factory, doubts=tuple(doubts))
    return _with_arguments(identity, file, factory, doubts)


def _with_arguments(
    identity: Identity, file: Path, factory: str, doubts: list[str]
) -> Chosen:
    """Called as it was, if the recording holds that."""
    if "arguments" not in identity.extra:
        return Chosen(file, factory, doubts=tuple(doubts))
    told = identity.extra["arguments"]
    given, named = (told or {}).get("positional"), (told or {}).get("named")
    if not isinstance(given, list) or not isinstance(named, dict):
        doubts.append(
            f"{factory} was called with arguments that the recording can't hold"
        )
        return Chosen(file, factory, doubts=tuple(doubts))
    return Chosen(file, factory, given, named, tuple(doubts))


def _recorded_file(identity: Identity) -> Path:
    source = str(identity.extra.get("source", ""))
    name = identity.factory.rpartition(":")[2]
    if not source or not name or not identity.source_hash:
        raise ReplayError(f"the recording doesn't hold what made its scenes; {GIVE}")
    what = f"{name} of {source}, which made its scenes,"
    file = Path(source)
    if "<" in name:
        raise ReplayError(f"{what} is inside of a function; {GIVE}")
    if INSTALLED.search(source) and not ENGINES_OWN.search(source):
        raise ReplayError(f"{what} is part of an installed package; {GIVE}")
    here = source_hash(file)
    if not here:
        raise ReplayError(f"{what} is not there; {GIVE}")
    if here != identity.source_hash:
        raise ReplayError(f"{what} was changed since; {GIVE}, to take it as it is")
    return file
