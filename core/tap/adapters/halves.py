"""Steps and resets of a batch that a caller asks for and fetches apart.

Gymnasium's `AsyncVectorEnv` has `step_async` and `step_wait`, and the same of resets.
Its `step` calls both: then the step is told once, by the tap around that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.tap.adapters.hooks import hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapters.vector import VectorTap

NAMES = ("reset", "step")


def has_halves(env: Any) -> bool:
    """Whether its calls come in halves, too."""
    return all(
        hasattr(type(env), f"{name}_{half}")
        for name in NAMES
        for half in ("async", "wait")
    )


class Halves:
    """Watches the halves of a batch's resets and steps.

    Parameters
    ----------
    tap
        Told as if they were whole; its `within` says that a whole one is running.
    """

    def __init__(self, tap: VectorTap) -> None:
        self._tap = tap
        self._asked: dict[str, Any] = {}

    def attach(self, env: Any) -> None:
        """Put the tap around the halves."""
        tap = self._tap
        for name, asks, told in (
            ("reset", tap.asks_reset, tap.resets),
            ("step", tap.asks_step, tap.steps),
        ):
            hook(env, f"{name}_async", self._ask(name, asks))
            hook(env, f"{name}_wait", self._fetch(name, told))

    def _ask(self, name: str, asks: Callable[..., Any]) -> Callable[..., Any]:
        def ask(
            env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
        ) -> Any:
            if not self._tap.within:
                self._asked[name] = asks(env, *args, **kwargs)
            return original(*args, **kwargs)

        return ask

    def _fetch(self, name: str, told: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(
            env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
        ) -> Any:
            if self._tap.within or name not in self._asked:
                return original(*args, **kwargs)
            result = self._tap.call(env, name, original, *args, **kwargs)
            told(env, self._asked.pop(name), result)
            return result

        return fetch
