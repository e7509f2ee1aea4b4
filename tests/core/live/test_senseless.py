"""A packet that makes no sense is told in the window, and what follows it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core import tap
from isoscope.core.live.source import Phase
from isoscope.core.tap import peers
from isoscope.core.tap.messages import encode_packet
from isoscope.core.tap.packet import Packet, Rows
from tests.core.live.test_live import Window, hub
from tests.core.tap.fake import FakeEnv, run
from tests.core.tap.support import until

if TYPE_CHECKING:
    import pytest


def test_a_packet_that_makes_no_sense_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    env = tap.attach(FakeEnv(), name="mine")
    window = Window()
    until(lambda: hub()._guests.watching)
    run(env, 5)
    until(lambda: window.rows == 10)
    assert not window.source.dropped

    sent: list[Packet] = []

    def mad(packet: Packet, *rest: Any) -> Any:
        if packet.blocks and not sent:
            sent.append(packet)
            packet = Packet(b"", [Rows(9999, 0, 1, b"?")], [])
        return encode_packet(packet, *rest)

    monkeypatch.setattr(peers, "encode_packet", mad)
    run(env, 5)
    until(lambda: sent)
    run(env, 5)
    tap.detach()
    window.wait()
    assert window.error is None
    assert window.source.phase is Phase.ENDED
    assert window.source.dropped == {"packets": 1}
    lines = [p.message for p in window.source.recording.problems]
    (line,) = [line for line in lines if "no sense" in line]
    assert "9999" in line
    assert 10 < window.rows < 30
    window.close()
