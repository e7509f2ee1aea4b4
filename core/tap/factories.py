"""Factories of environments that tap what they make, in whatever process that is.

What travels is the hub's address, the run's token and the environment's number. In the
process that wrapped the factory its own session is used, in any other one a session
that is linked to the hub, one for all environments of that process.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap import api
from isoscope.core.tap.adapters.run import of
from isoscope.core.tap.session import TapSession

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_EACH = "wrap each factory by a tap.factory(...) of its own, or give index="


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker process finds the hub.

    Attributes
    ----------
    address
        The hub's.
    server_key
        CURVE's public key of the hub, in Z85; empty on this machine alone.
    token
        What the hub knows its workers by.
    run
        The run's id.
    process
        Of the hub.
    """

    address: str
    token: str
    run: str
    process: int
    server_key: str = ""
    name: str = ""
    snapshots_every: int = 50
    options: dict[str, Any] = {}

    def __repr__(self) -> str:
        """Without the token."""
        return f"Ticket({self.address!r}, run={self.run!r})"


class TapFactory:
    """Makes an environment and taps it. Without a ticket it only makes it."""

    def __init__(
        self, make: Callable[..., Any], ticket: Ticket | None, index: int
    ) -> None:
        self.make = make
        self.ticket = ticket
        self.index = index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make the environment with the arguments that the caller gives, if any."""
        env = self.make(*args, **kwargs)
        if self.ticket is None:
            return env
        asked = args[0] if args else None
        if getattr(asked, "probe", False):
            return env
        index = getattr(asked, "global_index", self.index)
        return _tapped(env, self.make, self.ticket, index)


def wrap_factory(
    make: Callable[..., Any], ticket: Ticket | None, index: int
) -> Callable[..., Any]:
    """Wrap a factory of any kind; one that is told its index stays such a one."""
    ours = sys.modules.get("isoscope.core.envs.vector.factories")
    if ours is not None and isinstance(make, ours.IndexedFactory):
        indexed: Callable[..., Any] = ours.IndexedFactory(
            TapFactory(make.make, ticket, index)
        )
        return indexed
    return TapFactory(make, ticket, index)


def _tapped(env: Any, make: Callable[..., Any], ticket: Ticket, index: int) -> Any:
    """The environment with a tap, or without one where that can't be."""
    if os.getpid() == ticket.process:
        session = api.current()  # None if the user detached it meanwhile
    else:
        try:
            session = api.join(ticket, _linked)
        except Exception as error:  # noqa: BLE001 the worker goes on without a tap
            TapSession.say(f"no tap in process {os.getpid()}: {error}")
            return env
    if session is None:
        return env
    session.env_index(index=index)
    session.has([index])
    with session.guard:
        _tell_twins(session, env, index)
        of(session).came_from(make)
    return api.tap_with(session, env, index)


def _tell_twins(session: TapSession, env: Any, index: int) -> None:
    """Say so where two environments of this process have one number."""
    twin = session.made.get(index)
    session.made[index] = weakref.ref(env)
    if twin is None or twin() is None:
        return
    text = f"environment {index} was made twice in process {os.getpid()}: {ONE_EACH}"
    session.say(text)
    session.recorder.failure(r.Failure("tap", text, env=index, wall_ns=time.time_ns()))


def _linked(ticket: Ticket) -> TapSession:
    from isoscope.core.tap.link import Link

    session = TapSession(
        name=ticket.name,
        snapshots_every=ticket.snapshots_every,
        options=ticket.options,
    )
    session.outlet = Link.start(session, ticket)
    return session
