"""What was set as control input of a scene of the simulator, which can't be asked back.

Each setter of the one scene is listened to. What was set holds until it is set anew or
a state is restored, which brings back inputs that nobody here has seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters.hooks import hook, unhook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.core.scene import Scene, SceneActor

# The setter: the field's name, and what it drives.
SETTERS = {
    "set_dof_forces": ("force", "force"),
    "set_targets": ("target", "controller_target"),
}


class Controls:
    """Control inputs as they were set last, by setter and actor.

    Parameters
    ----------
    scene
        Whose.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        # Values of all worlds, and in which they are known; None: in all.
        self._last: dict[tuple[str, int], tuple[Any, Any]] = {}
        self._order: list[tuple[str, int]] = []
        self._hooks = {}
        for name in SETTERS:
            self._hooks[name] = hook(scene, name, self._around(name))

    def close(self) -> None:
        """Listen no longer."""
        for name, made in self._hooks.items():
            unhook(self._scene, name, made)

    def fields(self, numbers: Mapping[int, int]) -> list[r.Field]:
        """The fields, in the order of `now`; `numbers` are the actors' in the file."""
        found = []
        for actor in self._scene.actors:
            for name, (field, target) in SETTERS.items():
                names = actor.drives if name == "set_targets" else actor.dofs
                size = actor.velocity_size
                if name == "set_targets":
                    size = len(actor.drives)
                if not size or actor.static:
                    continue
                self._order.append((name, actor.index))
                found.append(
                    r.Field(
                        name=field,
                        shape=(size,),
                        unit=_unit(actor) if name == "set_dof_forces" else None,
                        group="control",
                        actor=numbers[actor.index],
                        target=target,
                        names=tuple(names) if len(names) == size else (),
                    )
                )
        return found

    def now(self) -> list[tuple[Any, Any] | None]:
        """What holds now, in the order of `fields`; None where that isn't known.

        Values [W, size], and bool [W] in which worlds they are known, None for all.
        None of these arrays is ever written to.
        """
        return [self._last.get(key) for key in self._order]

    def forget(self) -> None:
        """Know nothing any more: another state was restored."""
        self._last.clear()

    def _around(self, name: str) -> Callable[..., Any]:
        def around(
            scene: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
        ) -> Any:
            result = original(*args, **kwargs)
            self._set(name, *args, **kwargs)
            return result

        return around

    def _set(
        self, name: str, actor: int, *values: Any, worlds: Any = None, **named: Any
    ) -> None:
        given = values[0] if values else next(iter(named.values()), None)
        if len(values) > 1:
            worlds = values[1]
        if given is None:
            self._last.pop((name, actor), None)
            return
        if worlds is None:
            self._last[name, actor] = given * 1, None  # a copy; + 0 would lose -0
            return
        xp = self._scene.xp
        # Of worlds that were left out nothing is known.
        before, known = self._last.get((name, actor), (given * 0, worlds))
        if known is not None:
            known = xp.logical_or(known, worlds)
        self._last[name, actor] = xp.where(worlds[:, None], given, before), known


def _unit(actor: SceneActor) -> str | None:
    loads = ["N" if unit == "m" else "N·m" for unit in actor.dof_units]
    return " or ".join(dict.fromkeys(loads)) if loads else None
