"""A hub's socket that a peer floods, and that peer is killed: this process lives on.

Without arguments it is the hub; with an address it is the peer.
"""

from __future__ import annotations

import subprocess
import sys
import time

import zmq

from isoscope.core.tap import wire

WAIT_S = 5.0  # two heartbeats, as they were, and some


def main() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    if len(sys.argv) > 1:
        socket = wire.connect(context, sys.argv[1], "")
        for _ in range(100_000):
            socket.send(bytes(1000))
        say("sent")
        time.sleep(60)
    hub = wire.bind(context, wire.LOOPBACK, None)
    address = hub.getsockopt_string(zmq.LAST_ENDPOINT)
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name, address], stdout=subprocess.PIPE
    ) as peer:
        assert peer.stdout is not None
        peer.stdout.readline()
        assert hub.poll(60_000)
        peer.kill()
    time.sleep(WAIT_S)
    say("alive")
    hub.close(0)
    context.term()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
