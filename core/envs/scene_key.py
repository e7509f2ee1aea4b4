"""What a scene is shared under: what the task says, and the configuration it wants.

A task that forgets a field in its own key can't make two environments share a scene
that they want configured differently, because the fingerprint differs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SceneKey:
    """Two environments share a scene exactly if all of this is equal.

    Attributes
    ----------
    task
        The task's own key.
    fingerprint
        SHA-256 of the persistent configuration that the environment wants.
    private
        Not empty for a scene that is never shared.
    """

    task: str
    fingerprint: str
    private: str = ""

    def __str__(self) -> str:
        private = f" private {self.private}" if self.private else ""
        return f"{self.task} {self.fingerprint[:12]}{private}"


def fingerprint(wanted: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """Hash wanted values and texts, whatever their order.

    Parameters
    ----------
    wanted
        Name of a persistent value to number or array.
    texts
        What else tells scenes apart: model, device, precision, integrator.
    """
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}={texts[name]}\0".encode())
    for name in sorted(wanted):
        value = np.asarray(wanted[name], np.float64)
        digest.update(f"{name}:{value.shape}\0".encode())
        # minus zero and zero are the same wish
        digest.update((value + 0.0).tobytes())
    return digest.hexdigest()
