"""A name for the weights that acted, found from their versions.

Section 2.7 of the trajectory contract: the UUIDv5, in the DNS namespace, of the
lower-case hex of the raw bytes of the stacked versions.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK = 1 << 20


def get_model_weights_id(versions: torch.Tensor) -> str:
    """Name the weights of these versions, any shape and dtype.

    Computed block by block (RFC 9562, section 5.5: SHA-1 over namespace and name), so
    that the hex text of large tensors is never whole in memory.
    """
    flat = versions.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    raw = flat.numpy().data
    digest = hashlib.sha1(uuid.NAMESPACE_DNS.bytes, usedforsecurity=False)
    for begin in range(0, len(raw), _BLOCK):
        digest.update(raw[begin : begin + _BLOCK].hex().encode("ascii"))
    return str(uuid.UUID(bytes=digest.digest()[:16], version=5))


NO_VERSIONS = get_model_weights_id(torch.zeros(1))


class WeightsId:
    """An id that is computed when somebody wants to know it; hashing takes a while.

    Parameters
    ----------
    shards
        The versions [T, b, ...] of each shard of one trajectory, in order. They are
        kept until the id is known.
    """

    def __init__(self, shards: Sequence[torch.Tensor]) -> None:
        self._shards: list[torch.Tensor] | None = list(shards)
        self._known = ""

    def __str__(self) -> str:
        shards = self._shards
        if shards is not None:
            whole = shards[0] if len(shards) == 1 else torch.cat(shards, dim=1)
            self._known = get_model_weights_id(whole)
            self._shards = None
        return self._known
