"""A Ray cluster for tests: one for a file, with a token of its own.

It is started as the README tells users to, and other processes join it by the address
in RAY_ADDRESS. Nothing is written into the user's home: Ray would keep its token there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ray reads these when it is imported, so they are set before any test could do that.
os.environ.update(
    RAY_AUTH_MODE="token",
    RAY_AUTH_TOKEN=secrets.token_hex(32),
    RAY_USAGE_STATS_ENABLED="0",
)
HOST = "127.0.0.1"
START_S = 60.0


@contextmanager
def running() -> Iterator[str]:
    """Start a cluster on this machine and join it; gives its address."""
    pytest.importorskip("ray")
    from isoscope.core.channel.ray_cluster import join_cluster, leave_cluster

    # Ray's sockets have to have short paths, so this is not in pytest's folder.
    folder = tempfile.mkdtemp(prefix="isoray")
    address = f"{HOST}:{_free_port()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", address)
        head = _start_head(address, folder)
        try:
            assert join_cluster()
            yield address
            leave_cluster()
        finally:
            head.terminate()
            head.wait(START_S)
            shutil.rmtree(folder, ignore_errors=True)


def _start_head(address: str, folder: str) -> subprocess.Popen[bytes]:
    log = Path(folder) / "head.log"
    with log.open("wb") as said:
        head = subprocess.Popen(
            [
                *(Path(sys.executable).with_name("ray"), "start", "--head", "--block"),
                *(f"--port={address.rpartition(':')[2]}", f"--node-ip-address={HOST}"),
                *("--num-cpus=2", f"--object-store-memory={128 * 2**20}"),
                *("--include-dashboard=false", f"--temp-dir={folder}"),
            ],
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    until = time.monotonic() + START_S
    while b"Ray runtime started" not in log.read_bytes():
        if head.poll() is not None or time.monotonic() > until:
            head.kill()
            head.wait()
            raise RuntimeError(f"Ray did not start: {log.read_text()[-2000:]}")
        time.sleep(0.1)
    return head


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
