"""Faults of what no snapshot covers: configuration, keys, cleanups, hidden input."""

from __future__ import annotations

from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.envs.faults.fault import (
    InjectedError,
    SceneKind,
    StageFault,
    When,
    Whose,
    put_rows,
)

if TYPE_CHECKING:
    import numpy as np

    from isoscope.core.envs.faults.fault import Fault, Need
    from isoscope.core.envs.faults.order import FaultOrder
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.scene_key import SceneKey
    from isoscope.core.scene import Array, Scene, Worlds

TOGETHER: tuple[SceneKind, ...] = ("shared", "resident")
IGNORED = "not in the key"
HEAVIER = 1.25  # what a leaked value is multiplied by
LEAKED_SHARE = 0.05  # of another's action


class _Leak(StageFault):
    """An environment changes the scene's configuration and leaves it so."""

    FINDS = ("config-changed",)
    SCENES: ClassVar[tuple[SceneKind, ...]] = ("shared",)
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)
    ENTRIES: ClassVar[tuple[str, ...]]

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Apply, and change it before the first native step."""
        self.inner.apply(lanes, action, substep)
        if substep == 0 and self.here(lanes) is not None:
            there = lanes.scene.persistent_configuration()
            for entry in self.ENTRIES:
                if entry not in there:
                    continue
                old = there[entry]
                new = lanes.scene.to_device(self.changed(old), "configuration")
                lanes.scene.configure(entry, new)
            self.note()

    def changed(self, old: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The new value."""
        return old * HEAVIER


class GravityLeak(_Leak):
    """Gravity."""

    NAME = "gravity-leak"
    ABOUT = "an environment makes gravity a quarter stronger, for all in its scene"
    ENTRIES = ("gravity",)


class FrictionLeak(_Leak):
    """Friction, of joints and of surfaces."""

    NAME = "friction-leak"
    ABOUT = "an environment adds to the friction of joints and surfaces, for all"
    ENTRIES = ("damping", "friction")

    def changed(self, old: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """More, also where there was none."""
        return old + 0.1


class InertiaLeak(_Leak):
    """Inertia about the centres of mass, masses as they were."""

    NAME = "inertia-leak"
    ABOUT = "an environment makes all inertias a quarter larger, for all"
    ENTRIES = ("inertia",)


class DensityLeak(_Leak):
    """Density: mass and inertia together."""

    NAME = "density-leak"
    ABOUT = "an environment makes all bodies a quarter denser: mass and inertia"
    ENTRIES = ("mass", "inertia")


class HiddenLeak(StageFault):
    """Something of another environment gets into a step, and nothing shows it.

    What the environment asks for is its own; what the scene is given is not, past
    whoever listens to it, as a buffer would do that two controllers share.
    """

    NAME = "hidden-leak"
    ABOUT = "a part of another environment's last action is applied too, past the tap"
    FINDS = ("hidden-leak",)
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)
    SCENES = TOGETHER

    def apply(self, lanes: LaneGroup, action: Array, substep: int) -> None:
        """Apply one's own, and some of the other's last."""
        mask = self.here(lanes) if substep == 0 else None
        theirs = None if mask is None else self._theirs(lanes)
        if mask is None or theirs is None:
            self.inner.apply(lanes, action, substep)
            return
        self.inner.apply(lanes, action, substep)
        mixed = action + LEAKED_SHARE * (theirs + lanes.action_high)
        lanes.view.scene = _Unheard(lanes.scene)
        try:
            self.inner.apply(lanes, put_rows(mask, mixed, action, lanes), substep)
        finally:
            lanes.view.scene = lanes.scene
        self.note()

    def _theirs(self, lanes: LaneGroup) -> Array | None:
        if len(lanes.envs) > 1:
            last = self.switch.last.get(lanes.envs[0])
            lane = self.lane(lanes) - 1
            return None if last is None else last.clipped[lane : lane + 1 or None]
        for other in self.switch.others(lanes):
            last = self.switch.last.get(other.envs[0])
            if last is not None:
                return last.clipped
        return None


class _Unheard:
    """A scene whose methods nobody hears who stands in their place on the instance."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self._scene), name, None)
        if isinstance(own, FunctionType):
            return MethodType(own, self._scene)
        return getattr(self._scene, name)


class IncompleteKey(StageFault):
    """Scenes are shared under a key that says nothing of their configuration."""

    NAME = "incomplete-key"
    ABOUT = "an environment that wants another gravity gets a scene made for others"
    FINDS = ("scene-key",)
    WHOSE: ClassVar[Whose] = "pair"  # whose wish is the odd one, nobody can say
    WHEN: ClassVar[When] = "start"
    SCENES: ClassVar[tuple[SceneKind, ...]] = ("shared",)
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)

    # what the environment of the place wants
    WANTED: ClassVar[dict[str, Any]] = {"gravity": (0.0, -1.62, 0.0)}

    def key(self, key: SceneKey) -> SceneKey:
        """Forget the configuration."""
        if self.waiting:
            self.note()
        return replace(self.inner.key(key), fingerprint=IGNORED)


class FailingCleanup(StageFault):
    """A cleanup raises once, as the last environment lets go."""

    NAME = "failing-cleanup"
    ABOUT = "a cleanup of the scene fails as the last environment closes"
    FINDS = ("cleanup-failed",)
    WHOSE: ClassVar[Whose] = "run"
    WHEN: ClassVar[When] = "start"

    def __init__(self, order: FaultOrder) -> None:
        super().__init__(order)
        self._added = False

    def reset(self, lanes: LaneGroup, worlds: Worlds) -> None:
        """Reset; before the first one, add a cleanup that fails."""
        if self.place.env in lanes.envs and not self._added:
            self._added = True
            lanes.handle.add_cleanup("viewer", self._fail)
        self.inner.reset(lanes, worlds)

    def _fail(self) -> None:
        if self.waiting:
            self.note()
            raise InjectedError(f"the viewer is busy, as {self.order} wanted")


FAULTS: tuple[type[Fault], ...] = (
    GravityLeak,
    FrictionLeak,
    InertiaLeak,
    DensityLeak,
    HiddenLeak,
    IncompleteKey,
    FailingCleanup,
)
