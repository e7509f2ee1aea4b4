from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.core.envs.manager import context

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def scenes_of_its_own() -> Iterator[None]:
    """No test finds scenes that another one left."""
    context._managers.clear()
    yield
    context._managers.clear()
