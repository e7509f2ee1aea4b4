"""SuperDex Lab's `MochiEnv`: control steps, and every native step of its scene."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters import run as runs
from isoscope.core.tap.adapters.hooks import is_hooked
from isoscope.core.tap.adapters.kinds import innermost
from isoscope.core.tap.adapters.scalars import numbers
from isoscope.core.tap.adapters.single import SingleTap
from isoscope.core.tap.adapters.superdex import engine, inputs
from isoscope.core.tap.adapters.superdex.actors import all_actors
from isoscope.core.tap.adapters.superdex.build import build_of, statuses_of
from isoscope.core.tap.adapters.superdex.watch import SceneWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapters.plain_steps import PlainSteps
    from isoscope.core.tap.adapters.scalars import Name
    from isoscope.core.tap.session import TapSession

# What the total of a native step contains, in the profiler of the engine's side.
CPP_TOTAL = "cpp_total_step"
# What Lab measures around that.
SCENE_STEP = "step_scene"
# Between two looks at a configuration that nobody was seen to change.
LOOK_NS = 100_000_000


class MochiAdapter:
    """Wraps a `MochiEnv`, or what wraps one."""

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """See `isoscope.core.tap.adapter.Adapter`."""
        if not is_hooked(env, "step"):
            MochiTap(env, session, index).attach(env)
        return env


class MochiTap(SingleTap):
    """Watches one `MochiEnv`, and with others of its process their scene.

    Attributes
    ----------
    substep
        Native steps of this control step so far.
    first_row, last_row
        The control step's first and last native row; -1 where none.
    """

    def __init__(self, env: Any, session: TapSession, index: int | None) -> None:
        super().__init__(env, session, index)
        self.substep = 0
        self.first_row = self.last_row = -1
        self._watch: SceneWatch | None = None
        self._inner: Any = None
        self._clips = True
        self._asked = session.snapshots_asked

    # -- identity ----------------------------------------------------------------------

    def names(self, env: Any) -> dict[str, tuple[list[str], list[str]]]:
        """Of the flat vectors' components, in the order of the structured spaces."""
        inner = innermost(env)
        # A wrapper between may have other spaces; then nothing is known of them.
        out: dict[str, tuple[list[str], list[str]]] = {}
        if env.action_space is inner.action_space:
            out["action"] = _flat_names(inner._action_space_structure), []
        if env.observation_space is inner.observation_space:
            out["observation"] = _flat_names(inner._observation_space_structure), []
        return out

    def learn(self, env: Any) -> None:
        """Say which engine runs, and how it steps."""
        inner = innermost(env)
        engine.taps[id(inner)] = self
        runs.of(self.session).learn("superdex", _identity(inner))

    # -- native steps ------------------------------------------------------------------

    def before(self, env: Any, control_step: int) -> None:
        """Take over the scene."""
        if control_step == 0 or self._inner is None:
            self._inner = innermost(env)
        inner = self._inner
        self.substep = 0
        self.first_row = self.last_row = -1
        watch = self._watch
        if watch is None or watch.scene is not inner._scene:
            watch = self._watch = self._watch_of(inner._scene)
            self.session.takes_snapshots()
        if control_step == 0:
            # Its scene may be made in the reset.
            engine.newcomers[threading.get_ident()] = self._meet
        if watch is not None:
            if watch.owner is not None:  # whose step never ended
                watch.hand_on()
            watch.owner = self
            if control_step == 0:
                watch.starts_from(inner._initial_state_snapshot)
                watch.look_again()

    def generators(self, env: Any) -> tuple[bytes, bytes]:
        """See `SingleTap.generators`."""
        return self._generators.digests(self._inner, self._space)

    def rows(self) -> tuple[int, int]:
        """See `SingleTap.rows`."""
        if self._watch is not None:
            self._watch.hand_on()
        return self.first_row, self.last_row

    def after(self, env: Any, info: Any, transition: int) -> None:
        """Take a snapshot where one is due, and let go of the scene."""
        watch, k, session = self._watch, self.control_step, self.session
        every, asked = session.snapshots_every, session.snapshots_asked
        if watch is not None:
            if not k or watch.bad or asked != self._asked or (every and k % every == 0):
                self._due(watch, k, every, asked)
            if watch.owner is self:
                watch.hand_on()
                watch.owner = None
        if k == 0:
            engine.newcomers.pop(threading.get_ident(), None)
        if self._inner._profiler.enabled:
            self._profile("reset" if k == 0 else "step", transition)

    def _due(self, watch: SceneWatch, k: int, every: int, asked: int) -> None:
        """Take a snapshot, if there is a state of this control step's."""
        due = "" if k else "reset"
        wanted = bool(every) or asked != self._asked
        if watch.last_row < 0 or watch.last_row != self.last_row:
            return
        if asked != self._asked:
            self._asked, due = asked, due or "asked"
        if k and every and k % every == 0:
            due = "every"
        if watch.bad:
            due = "diverged"
        if due and (wanted or watch.bad):
            watch.snapshot(due, self._inner._state_snapshot)
            if k:
                watch.look_again(LOOK_NS)

    def failed(self, env: Any, error: BaseException) -> None:
        """Keep the state that it failed in."""
        engine.newcomers.pop(threading.get_ident(), None)
        watch = self._watch
        if watch is not None and watch.owner is self:
            watch.snapshot("exception")
        self._let_go()

    def _let_go(self) -> None:
        watch = self._watch
        if watch is not None and watch.owner is self:
            watch.hand_on()
            watch.owner = None

    def _meet(self, scene: Any) -> SceneWatch | None:
        """Watch the scene that the environment has just made."""
        if self._inner is None or self._inner._scene is not scene:
            return None
        with self.session.guard:
            watch = self._watch = self._watch_of(scene)
            if watch is not None:
                watch.owner = self
            return watch
        return None

    def _watch_of(self, scene: Any) -> SceneWatch | None:
        if scene is None:
            return None
        watch = engine.watched.get(scene)
        if watch is not None and watch.session is self.session:
            return watch
        actors, physics = all_actors(scene), sys.modules[type(scene).__module__]
        wrapped = engine.patch(scene, actors)
        inputs.patch(scene, actors, physics)
        engine.patch_environments(type(self._inner))
        run = runs.of(self.session)
        number = run.scene()
        watch = SceneWatch(scene, physics, self.session, number, build_of(physics))
        engine.watched[scene] = watch
        if not wrapped:
            watch.listen()
        self.recorder.scene(
            r.SceneInfo(
                id=number,
                key=self._inner._scene_name or scene.get_name(),
                process=self.process,
                engine=run.identity.engine,
            )
        )
        return watch

    # -- control steps -----------------------------------------------------------------

    def clipped(self, env: Any, raw: Any) -> Any:
        """As the environment clips it, to its own space."""
        space = self._inner.action_space
        return np.clip(raw, space.low, space.high)

    def terms(self, env: Any, info: Any) -> dict[Name, float]:
        """Reward terms as the environment keeps them, and what the info tells else."""
        return _named(self._inner._last_reward or {}, info)

    def later(self, env: Any, plain: PlainSteps, info: Any) -> Any:
        """See `SingleTap.later`."""
        return plain.told(self._inner._last_reward or {}, info, _named)

    def _profile(self, name: str, transition: int) -> None:
        profiler = self._inner._profiler
        if name in profiler:
            self._section(profiler[name], "", transition)

    def _section(self, section: Any, parent: str, transition: int) -> None:
        path = f"{parent}/{section.name}" if parent else section.name
        told = r.ProfileEntry(path, float(section.last), "ms", parent, self.number)
        told.transition = transition
        self.recorder.profile(told)
        inner = section.nested_sections
        total = f"{path}/{CPP_TOTAL}" if CPP_TOTAL in inner else ""
        outside = f"{path}/{SCENE_STEP}" if SCENE_STEP in inner else path
        for name, nested in inner.items():
            if not total or not name.startswith("cpp_"):
                self._section(nested, path, transition)
                continue
            # The engine's parts lie within its total, and that within what is measured
            # around the scene's step: they are kept flat, beside it.
            entry = r.ProfileEntry(
                *(f"{path}/{name}", float(nested.last), "ms"),
                *(outside if name == CPP_TOTAL else total, self.number),
            )
            entry.transition = transition
            self.recorder.profile(entry)

    # -- the end -----------------------------------------------------------------------

    def releases(self, env: Any, original: Callable[..., Any]) -> Any:
        """Be told that it lets go of its scene, which may end the scene."""
        watch, session = self._watch, self.session
        if watch is None or not session.on or watch.scene is not env._scene:
            return original(env)
        manager, name = env._scene_manager, env._scene_name
        watch.owner = self
        try:
            result = original(env)
        except BaseException as error:
            watch.failed("cleanup", error)
            raise
        finally:
            with session.guard:
                watch.hand_on()
            watch.owner = None
            self._watch = None
        with session.guard:
            if name is None or name not in manager:
                watch.end()
                engine.watched.pop(watch.scene, None)
        return result


def _named(terms: Any, info: Any) -> dict[Name, float]:
    # The sum's parts are in the info again, and the profiler's times are told apart.
    skip = frozenset(f"reward_{name}" for name in terms) | frozenset(
        key for key in info if key.startswith("timings/")
    )
    return numbers(terms, "reward_term") | numbers(info, "info", skip)


def _identity(env: Any) -> r.Identity:
    scene = env._scene
    physics = sys.modules[type(scene).__module__] if scene is not None else None
    threads = None if physics is None else int(physics.get_num_threads())
    about = {} if physics is None else build_of(physics)
    statuses = {}
    if physics is not None:
        statuses = {int(s.value): s.name.lower() for s in statuses_of(physics)}
    return r.Identity(
        engine=about.get("engine", "superdex"),
        engine_version=about.get("version", ""),
        build=about.get("build", ""),
        precision=about.get("precision", ""),
        control_hz=float(env.get_control_frequency()),
        simulation_hz=float(env.get_simulation_frequency()),
        substeps=int(env.get_control_to_simulation_ratio()),
        threads=threads,
        shared_scenes=env._scene_manager is not None,
        solver_statuses=statuses,
        extra={"state_digest": "blake2b, 16 bytes, of the engine's snapshot"},
    )


def _flat_names(structure: Any) -> list[str]:
    """Names of the components of a flattened Dict space, in its order of keys."""
    names: list[str] = []
    for key, space in (getattr(structure, "spaces", None) or {}).items():
        size = int(np.prod(space.shape, dtype=np.int64))
        names += [key] if size == 1 else [f"{key}[{k}]" for k in range(size)]
    return names
