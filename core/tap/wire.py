"""ZeroMQ sockets as hubs, links and windows use them: bounded, lingering for nothing.

Loopback needs no keys; any other address is encrypted by CURVE or refused.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from typing import TYPE_CHECKING, Any

import zmq

from isoscope.core.errors import UsageError
from isoscope.core.tap.messages import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from isoscope.core.tap.keys import Keys

LOOPBACK = "tcp://127.0.0.1:*"
SILENT_MS = 10_000  # after which a connection that is cut somewhere is given up
PROBES, PROBE_S = 3, 2
WAITING_MESSAGES = 64  # received and not looked at yet, a peer
_ADDRESS = re.compile(r"tcp://(\[[0-9a-fA-F:.]+\]|[^\[\]:/\s]+):(\*|\d{1,5})")


def check_address(address: str, *, doing: str, encrypted: bool) -> str:
    """The address, if it may be used.

    Raises
    ------
    UsageError
        If it is none, or another machine could use it unencrypted.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise UsageError(f"{doing}: {address!r} is no address like tcp://HOST:PORT")
    port = found[2]
    if port != "*" and not 0 < int(port) < 65536:
        raise UsageError(f"{doing}: {port} is no port")
    if not encrypted and not is_loopback(found[1].strip("[]")):
        raise UsageError(
            f"{doing}: {address} can be reached from other machines, which takes keys: "
            "make some with tap.new_keys() and give keys=..., or use tcp://127.0.0.1"
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(
    context: zmq.Context[Any], address: str, keys: Keys | None
) -> zmq.Socket[bytes]:
    """A hub's socket, bound.

    Raises
    ------
    zmq.ZMQError
        If it can't be bound.
    """
    socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    try:
        _common(socket, address)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        if keys is not None:
            socket.curve_server = True
            socket.curve_publickey = keys.public.encode()
            socket.curve_secretkey = keys.secret.encode()
        socket.bind(address)
    except BaseException:
        socket.close(0)
        raise
    return socket


def connect(
    context: zmq.Context[Any], address: str, server_key: str
) -> zmq.Socket[bytes]:
    """A link's or a window's socket, which connects as soon as it can.

    Raises
    ------
    zmq.ZMQError, ValueError
        If the address or the key makes no sense.
    """
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    try:
        _common(socket, address)
        # The same after a connection was lost, so that the hub knows who it is.
        socket.setsockopt(zmq.ROUTING_ID, b"i" + secrets.token_bytes(16))
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        if server_key:
            public, secret = zmq.curve_keypair()
            socket.curve_publickey, socket.curve_secretkey = public, secret
            socket.curve_serverkey = server_key.encode()
        socket.connect(address)
    except BaseException:
        socket.close(0)
        raise
    return socket


def _common(socket: zmq.Socket[bytes], address: str) -> None:
    socket.setsockopt(zmq.IPV6, int("[" in address))
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
    # Senders bound themselves by bytes; a limit by messages would drop some unseen.
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, WAITING_MESSAGES)
    # The system's own signs of life, not ZeroMQ's heartbeats: with those, libzmq 4.3.5
    # aborts the process when a peer goes whose messages were not all taken.
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, SILENT_MS // 1000 - PROBES * PROBE_S)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, PROBE_S)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, PROBES)
    socket.setsockopt(zmq.TCP_MAXRT, SILENT_MS)
