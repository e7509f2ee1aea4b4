"""The keeper: a process that merges what a hub hears, and writes the file.

Merging, hashing and packing would hold up the process whose run is recorded, whose
interpreter does one thing at a time. So the hub only passes on what it was told. The
keeper ends with its hub: also where that was killed, after the file got all that came.
"""

from __future__ import annotations

import queue
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import IsoscopeError, UsageError
from isoscope.core.tap import messages as m
from isoscope.core.tap import process
from isoscope.core.tap.kept import source_name
from isoscope.core.tap.merge import PacketError
from isoscope.core.tap.merged import MergedStream, open_recorder
from isoscope.core.tap.pipe import Said, all_said, say

if TYPE_CHECKING:
    from isoscope.core.tap.merge import Merger
    from isoscope.core.tap.packet import Packet

WATCH_S = 0.5  # between two looks whether the hub's process lives
BUSY_S = 0.01
COUNTED = ("native", "transitions")


def main(about: dict[str, Any]) -> None:
    """Keep what comes over a socket until its end.

    Parameters
    ----------
    about
        ``descriptor`` of the socket; ``hub`` and ``started``, the process whose run it
        is; ``file`` and ``overwrite``.
    """
    # Interrupts are the run's: its hub says when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=about["descriptor"]) as end:
        Keeper(end, about).run()


class Keeper:
    """Keeps one run.

    Parameters
    ----------
    end
        Of the pair of sockets.
    about
        As `main` takes it.
    """

    def __init__(self, end: socket.socket, about: dict[str, Any]) -> None:
        self._end = end
        self._about = about
        self._heard: queue.SimpleQueue[Said | None] = queue.SimpleQueue()
        self._saying = threading.Lock()
        self._sources: dict[int, Merger] = {}
        self._watched = False

    def run(self) -> None:
        """Open the file, say whether that worked, and keep."""
        try:
            recorder = open_recorder(
                self._about["file"],
                overwrite=self._about["overwrite"],
                tell=lambda line: self._say("stopped", line),
                process=self._about["hub"],
            )
        except IsoscopeError as error:
            self._say("refused", [isinstance(error, UsageError), str(error)])
            return
        self._stream = MergedStream(recorder)
        self._say("ready")
        threading.Thread(target=self._hear, daemon=True).start()
        try:
            whole = self._keep()
        except BaseException:
            recorder.abandon()
            raise
        if whole:
            recorder.close()
            self._say("closed")
        else:
            recorder.abandon()

    def _say(self, word: str, about: Any = None, frames: Any = ()) -> None:
        with suppress(OSError), self._saying:  # where nobody is there, it goes on
            say(self._end, word, about, frames)

    def _hear(self) -> None:
        """Take in what comes at once: the hub is never to wait."""
        for said in all_said(self._end):
            self._heard.put(said)
        self._heard.put(None)

    def _keep(self) -> bool:
        """Do what is said; whether the hub said the end."""
        hub, started = self._about["hub"], self._about["started"]
        while True:
            try:
                said = self._heard.get(timeout=WATCH_S)
            except queue.Empty:
                # Where the run forked, others hold its end of the sockets open.
                if process.alive(hub, started):
                    continue
                return False
            if said is None:
                return False
            if said.word == "close":
                return True
            self._do(said)

    def _do(self, said: Said) -> None:
        stream = self._stream
        if said.word == "packet":
            number, size = said.about
            _, packet = m.decode(said.frames)
            assert packet is not None
            while stream.behind:  # the hub is told nothing, and so gives no more
                time.sleep(BUSY_S)
            self._merge(number, packet)
            lengths = {table: stream.length(table) for table in COUNTED}
            self._say("taken", [size, lengths])
        elif said.word == "watch":
            self._watched = bool(said.about)
            if self._watched:
                self._give("state", stream.latest.packet(), {})

    def _merge(self, number: int, packet: Packet) -> None:
        stream = self._stream
        source = self._sources.get(number)
        if source is None:
            source = self._sources[number] = stream.source(source_name(number))
        try:
            source.take(packet)
        except PacketError as error:
            self._say("senseless", [number, str(error)])
        merged = stream.take()
        if merged and self._watched:
            self._give("merged", merged, stream.latest.references)

    def _give(self, word: str, packet: Packet, references: dict[int, bytes]) -> None:
        self._say(word, sorted(references), m.encode_packet(packet, 0))
