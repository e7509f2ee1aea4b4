"""A view as one line of text, and back: ``isoscope:?file=…&at=native:12&layout=…``.

A link holds no data: it names a file, a position in it and how it was looked at. What a
link names and this machine doesn't have is told when it is opened.

The form is ours: the scheme ``isoscope``, then an ordinary URL query. ``file`` may come
several times (the last one is the active one); ``env`` is the environment that is
looked at, ``hide`` an actor's index, and
``plot`` is ``ACTOR:COMPONENT:FIELD`` with ``-`` for none.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from isoscope.core.errors import UsageError
from isoscope.widgets.session import FieldRef

SCHEME = "isoscope:"
PARTS = 2000  # more than any view has, and few enough to read at once


@dataclass(frozen=True, slots=True)
class ViewLink:
    """What a link says; empty where it says nothing."""

    files: tuple[str, ...]
    at: str = ""
    layout: str = ""
    theme: str = ""
    actor: int | None = None
    hidden: tuple[int, ...] = ()
    plots: tuple[FieldRef, ...] = ()
    env: int | None = None


def is_link(text: str) -> bool:
    """Whether the text is meant as a link."""
    return text.strip().startswith(SCHEME)


def format_link(link: ViewLink) -> str:
    """Write a link."""
    pairs = [("file", name) for name in link.files]
    pairs += [
        (key, value)
        for key, value in (
            ("at", link.at),
            ("layout", link.layout),
            ("theme", link.theme),
            ("env", _number(link.env) if link.env is not None else ""),
            ("actor", _number(link.actor) if link.actor is not None else ""),
        )
        if value
    ]
    pairs += [("hide", str(actor)) for actor in link.hidden]
    pairs += [
        ("plot", f"{_number(p.actor)}:{_number(p.component)}:{p.field}")
        for p in link.plots
    ]
    return f"{SCHEME}?{urlencode(pairs, quote_via=quote, safe='/:')}"


def parse_link(text: str) -> ViewLink:
    """Read a link; keys that aren't known are passed over.

    Raises
    ------
    UsageError
        If it is none, names no file, or a number in it is none.
    """
    text = text.strip()
    if not is_link(text):
        raise UsageError(f"not a link: it does not begin with {SCHEME}")
    try:
        pairs = parse_qsl(text.removeprefix(SCHEME).lstrip("?"), max_num_fields=PARTS)
    except ValueError:
        raise UsageError(f"the link has more than {PARTS} parts") from None
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    files = tuple(found.get("file", ()))
    if not files:
        raise UsageError("the link names no file; it needs ?file=PATH")
    actors, envs = found.get("actor", ()), found.get("env", ())
    return ViewLink(
        files,
        _last(found, "at"),
        _last(found, "layout"),
        _last(found, "theme"),
        _index(actors[-1], "actor") if actors else None,
        tuple(_index(value, "hide") for value in found.get("hide", ())),
        tuple(_plot(value) for value in found.get("plot", ())),
        _index(envs[-1], "env") if envs else None,
    )


def _last(found: dict[str, list[str]], key: str) -> str:
    return found.get(key, [""])[-1]


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _index(text: str, key: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"the link's {key}={text} is no number that it can be")
    return int(text)


def _plot(text: str) -> FieldRef:
    parts = text.split(":", 2)
    if len(parts) != 3 or not parts[2]:
        raise UsageError(f"the link's plot={text} is not ACTOR:COMPONENT:FIELD")
    actor, component = (
        None if part == "-" else _index(part, "plot") for part in parts[:2]
    )
    return FieldRef(actor, parts[2], component)
