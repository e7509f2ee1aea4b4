"""The wire: what was sent arrives; whatever isn't a message is refused and counted."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import zmq

from isoscope.core import tap
from isoscope.core.recording.labelled.intake import Intake
from isoscope.core.tap import messages as m
from isoscope.core.tap import wire
from isoscope.core.tap.merge import Merger, PacketError
from isoscope.core.tap.packet import Outflow, Packet
from isoscope.core.tap.session import TapSession
from isoscope.core.tap.target import Target
from tests.core.tap.fake import FakeEnv, Tapped, run
from tests.core.tap.support import Child, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SEVERAL = 10_000


def packet() -> Packet:
    session = TapSession(name="x")
    run(Tapped(FakeEnv(), session, 0), 3, seed=1)
    return Outflow(session.recorder.intake).take()


def valid() -> list[list[bytes]]:
    """Messages that make sense, of every kind, as bytes."""
    told: list[list[Any]] = [
        m.encode(m.Hello(role="window", token="t" * 32, process=4)),
        m.encode(m.Hello(role="worker", token="t" * 32)),
        m.encode(m.Control(number=1, what="speed", arguments={"factor": 2.0})),
        m.encode(m.Credit(sequence=3)),
        m.encode(m.Alive()),
        m.encode(m.Lanes(environments=[1, 2])),
        m.encode(m.Bye(why="over")),
        m.encode(m.State(state={"paused": True})),
        m.encode_packet(packet(), 1),
    ]
    return [[bytes(frame) for frame in frames] for frames in told]


def mutated(chance: random.Random, seeds: list[list[bytes]]) -> list[bytes]:
    """Noise, or a message that something happened to."""
    if chance.random() < 0.1:
        return [
            chance.randbytes(chance.randrange(64))
            for _ in range(chance.randrange(1, 5))
        ]
    frames = list(chance.choice(seeds))
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(frames))
        frame = bytearray(frames[at])
        match chance.randrange(6):
            case 0 if frame:
                frame[chance.randrange(len(frame))] = chance.randrange(256)
            case 1:
                frame = frame[: chance.randrange(len(frame) + 1)]
            case 2:
                frame += chance.randbytes(chance.randrange(1, 40))
            case 3:
                frames.insert(at, chance.randbytes(chance.randrange(20)))
            case 4 if len(frames) > 1:
                del frames[at]
                continue
            case _:
                frame = bytearray(chance.randbytes(len(frame)))
        frames[at] = bytes(frame)
    return frames


def test_a_packet_arrives_as_it_was_sent() -> None:
    sent = packet()
    frames = [bytes(f) for f in m.encode_packet(sent, 7, missed=3)]
    message, got = m.decode(frames)
    assert isinstance(message, m.Data)
    assert (message.sequence, message.missed) == (7, 3)
    assert got is not None
    assert got.definitions == sent.definitions
    assert got.blobs == sent.blobs
    assert [(b.table, b.first, b.count, bytes(b.content)) for b in got.blocks] == [
        (b.table, b.first, b.count, bytes(b.content)) for b in sent.blocks
    ]


def test_another_version_is_refused() -> None:
    mark, header = m.encode(m.Alive())
    with pytest.raises(m.WireError) as refused:
        m.decode([mark[:-1] + bytes([m.VERSION + 1]), header])
    assert refused.value.kind == "version"


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = m.encode_packet(packet(), 1)
    monkeypatch.setattr(m, "MAX_MESSAGE_BYTES", 1000)
    with pytest.raises(m.WireError) as refused:
        m.decode(frames)
    assert refused.value.kind == "oversized"
    monkeypatch.undo()
    monkeypatch.setattr(m, "MAX_HEADER_BYTES", 10)
    with pytest.raises(m.WireError) as refused:
        m.decode(frames)
    assert refused.value.kind == "oversized"


def test_nested_beyond_reason_is_refused() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    header = msgspec.msgpack.encode({"type": "state"})[:-1]
    for content in (deep, b"\x82" + header[1:] + b"\xa5state" + deep):
        with pytest.raises(m.WireError):
            m.decode([m.encode(m.Alive())[0], content])


def test_ten_thousand_mutated_messages_are_taken_or_refused() -> None:
    """Decoding and merging raise nothing but what refuses a message."""
    chance, seeds = random.Random(6), valid()
    refused = 0
    for k in range(SEVERAL):
        if k % 500 == 0:
            merger = Merger(Target(Intake(1 << 40, nothing)))
        try:
            _, got = m.decode(mutated(chance, seeds))
            if got is not None:
                merger.take(got)
        except (m.WireError, PacketError):
            refused += 1
    assert refused > SEVERAL // 2


def nothing() -> None:
    pass


@pytest.fixture
def sender() -> Iterator[zmq.Socket[bytes]]:
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    yield socket
    socket.close(0)
    context.term()


def test_a_hub_refuses_and_counts_ten_thousand(
    sender: zmq.Socket[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """From a stranger and from a worker: the run goes on, and others may join it."""
    env = tap.attach(FakeEnv())
    session = tap.current()
    assert session is not None
    hub: Any = session.outlet
    sender.connect(hub.run.address)
    chance, seeds = random.Random(7), valid()
    for k in range(SEVERAL):
        if k == SEVERAL // 2:
            hello = m.Hello(role="worker", token=hub.run.token)
            sender.send_multipart(m.encode(hello))
        sender.send_multipart(mutated(chance, seeds))
        if k % 1000 == 0:
            run(env, 5)
    until(lambda: sum(hub.refused.values()) > SEVERAL // 3)
    sender.send_multipart([b"isoscope\0" + bytes([m.VERSION + 1]), b"\xc0"])
    until(lambda: hub.refused["version"])
    assert hub.refused["malformed"]
    assert hub.refused["unexpected"]
    assert session.on
    while sender.poll(0):
        sender.recv_multipart()
    sender.send_multipart(m.encode(m.Hello(role="window", token=hub.run.token)))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        message, _ = m.decode(sender.recv_multipart())
        if isinstance(message, m.Welcome):
            break
    assert isinstance(message, m.Welcome)
    until(lambda: session.state.get("refused") == dict(hub.refused))
    refused = [
        line for line in capfd.readouterr().err.splitlines() if "refused" in line
    ]
    assert len(refused) == 1  # and not again for a while
    assert "malformed" in refused[0]
    count = sum(hub.refused.values())
    sender.send_multipart([b"nothing"])
    until(lambda: sum(hub.refused.values()) == count + 1)
    tap.detach()
    (at_last,) = capfd.readouterr().err.splitlines()
    assert f"{count + 1:,} messages" in at_last


def test_who_was_forgotten_is_not_refused(sender: zmq.Socket[bytes]) -> None:
    tap.attach(FakeEnv())
    session = tap.current()
    assert session is not None
    hub: Any = session.outlet
    sender.connect(hub.run.address)
    for message in (m.Alive(), m.Credit(sequence=3), m.Bye()):
        sender.send_multipart(m.encode(message))
        answer, _ = m.decode(sender.recv_multipart())
        assert isinstance(answer, m.Refused)
    assert not hub.refused


def test_no_socket_has_heartbeats() -> None:
    """What they do is in the next test."""
    context: zmq.Context[Any] = zmq.Context()
    with context.socket(zmq.DEALER) as socket:
        wire._common(socket, wire.LOOPBACK)
        assert socket.getsockopt(zmq.HEARTBEAT_IVL) == 0
    context.term()


@pytest.mark.slow
def test_a_peer_that_floods_and_dies_does_not_end_the_run() -> None:
    """With ZeroMQ's heartbeats libzmq aborts then."""
    with Child("tests.core.tap.flooded") as hub:
        assert hub.says() == "alive"
        assert hub.ended() == ""
        assert hub.process.returncode == 0
