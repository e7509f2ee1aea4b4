from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from isoscope.app import environments
from isoscope.core.envs.manager import context
from tests.core.envs.rail_scene import make_rail_scene

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def scenes_of_its_own() -> Iterator[None]:
    """No test finds scenes that another one left."""
    torch.set_num_threads(1)
    context._managers.clear()
    yield
    context._managers.clear()


@pytest.fixture
def on_rails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenes in NumPy, which take no time."""
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
