"""The actors of a native scene: what each is, and its state as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters.superdex import engine
from isoscope.core.tap.adapters.superdex.readers import Readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder

RIGID, ARTICULATED = "RIGID", "ARTICULATED"
XYZ = ("x", "y", "z")
Names = tuple[str, ...]


def all_actors(scene: Any) -> list[Any]:
    """The scene's actors, in its order."""
    handles: list[Any] = []
    scene.for_each_actor(lambda actor: handles.append(actor.get_handle()))
    return [scene.get_actor(handle) for handle in handles]


@dataclass(slots=True)
class Known:
    """An actor that the recording has."""

    number: int
    actor: Any
    kind: str
    static: bool


class Actors:
    """Tells a recording the actors of a scene, and makes what reads them.

    Parameters
    ----------
    recorder
        Where they are told.
    scene
        The native scene.
    number
        Its number in the recording.
    physics
        The engine's module.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        scene: Any,
        number: int,
        physics: Any,
    ) -> None:
        self._recorder = recorder
        self._scene = scene
        self._number = number
        self._physics = physics
        self._real = np.float64 if physics.uses_double_precision() else np.float32
        self.known: dict[int, Known] = {}
        self._pushed: set[int] = set()  # handles of links that forces were set on

    def pushed(self, handle: int) -> bool:
        """Be told that forces were set on a link; whether that is new.

        Its forces are read from the next `refresh` on.
        """
        new = handle not in self._pushed
        self._pushed.add(handle)
        return new

    def refresh(self) -> Readers:
        """Tell what is new and what is gone; what reads those that are there."""
        row = self._recorder.rows
        present: dict[int, Any] = {}
        for actor in all_actors(self._scene):
            present[int(actor.get_handle().value)] = actor
        for handle in [h for h in self.known if h not in present]:
            gone = self.known.pop(handle)
            engine.quiet.discard(gone.actor)
            self._recorder.destroyed(gone.number, row)
        for handle, actor in present.items():
            if handle not in self.known:
                self.known[handle] = self._told(handle, actor, row)
        return self._readers()

    def end(self) -> None:
        """Let go of them: their scene is gone."""
        engine.quiet.difference_update(known.actor for known in self.known.values())

    def _told(self, handle: int, actor: Any, row: int) -> Known:
        kind, static = actor.get_type().name, bool(actor.is_static())
        if kind == ARTICULATED or (kind == RIGID and not is_link(actor)):
            engine.quiet.add(actor)
        else:
            engine.quiet.discard(actor)  # whoever watched it before
        info = r.ActorInfo(
            name=actor.get_name(),
            type=kind.capitalize(),
            handle=handle,
            scene=self._number,
            static=static,
            created_row=row,
            reference=_reference(actor, self._real),
        )
        return Known(self._recorder.actor(info), actor, kind, static)

    def _readers(self) -> Readers:
        readers = Readers(self._real)
        fields: list[r.Field] = []
        # Rigid bodies first, then arrays: in the order of `Readers.layout`.
        moving = {h: known for h, known in self.known.items() if not known.static}
        forced = []
        for handle, known in moving.items():
            if known.kind == RIGID:
                actor = known.actor
                readers.rigid.append(
                    (
                        actor.get_root_transform,
                        actor.get_center_of_mass_transform,
                        actor.get_linear_velocity,
                        actor.get_angular_velocity,
                    )
                )
                fields += _rigid_fields(known.number)
                if handle in self._pushed:
                    engine.quiet.add(actor)
                if actor in engine.quiet or self._loaded(actor):
                    forced.append(known)
        for known in forced:
            names = tuple(f"force {a}" for a in XYZ) + tuple(f"torque {a}" for a in XYZ)
            self._vector(
                *(readers, fields, known, "force", known.actor.get_external_forces),
                ("N", "N", "N", "N·m", "N·m", "N·m"),
                names,
            )
        for known in moving.values():
            if known.kind == ARTICULATED:
                self._articulation(readers, fields, known)
            elif known.kind != RIGID:
                self._soft(readers, known)
        if fields:
            readers.frame = self._recorder.frame(fields, self._real, scene=self._number)
        return readers

    def _loaded(self, link: Any) -> bool:
        """Whether forces are set on a link already."""
        forces = self._physics.DynamicArrayReal(link.get_num_dofs())
        try:
            link.get_external_forces(forces)
        except Exception:  # noqa: BLE001 another release of the engine
            return False
        return any(forces.tolist())

    def _articulation(
        self, readers: Readers, fields: list[r.Field], known: Known
    ) -> None:
        actor = known.actor
        names, units = dofs_of(actor)
        rates = tuple(f"{unit}/s" for unit in units)
        loads = tuple("N" if unit == "m" else "N·m" for unit in units)
        add = self._vector
        add(readers, fields, known, "pose", actor.get_articulated_pose, units, names)
        velocities = actor.get_articulated_joint_velocities
        add(readers, fields, known, "jointVelocity", velocities, rates, names)
        add(readers, fields, known, "force", actor.get_external_forces, loads, names)
        if actor.has_articulated_pose_controller():
            target = actor.get_articulated_target_pose
            add(readers, fields, known, "targetPose", target, units, names)

    def _vector(
        self,
        readers: Readers,
        fields: list[r.Field],
        known: Known,
        name: str,
        fill: Callable[[Any], None],
        units: Names,
        names: Names,
    ) -> None:
        """A vector over an actor's degrees of freedom, if the engine gives it."""
        size = known.actor.get_num_dofs()
        values = self._physics.DynamicArrayReal(size)
        try:
            fill(values)
        except Exception:  # noqa: BLE001 the engine's way to say that there is none
            return
        target = {"force": "force", "targetPose": "controller_target"}.get(name, "")
        if target:
            readers.inputs[known.number, name] = len(readers.joints)
        readers.joints.append((fill, values))
        same = size == len(names)
        low: tuple[float, ...] = ()
        high: tuple[float, ...] = ()
        if name == "targetPose":
            pairs = self._physics.DynamicArrayReal2(size)
            low, high = _limits(known.actor, pairs)
        fields.append(
            r.Field(
                name=name,
                shape=(size,),
                unit=" or ".join(dict.fromkeys(units)) if same else None,
                group="control" if target else "state",
                actor=known.number,
                target=target,
                low=low,
                high=high,
                names=names if same else (),
            )
        )

    def _soft(self, readers: Readers, known: Known) -> None:
        """A deformable body: its nodes in its own frame, and that in the world."""
        actor, number, real = known.actor, known.number, self._real
        get = actor.get_displacements
        try:
            nodes = np.asarray(get()).size // 3
            placed = bool(actor.has_root_transform())
        except Exception:  # noqa: BLE001 it has none
            return
        fields = [
            r.Field(name="displacement", shape=(nodes, 3), unit="m", actor=number)
        ]
        if placed:
            fields += _rigid_fields(number)[:2]

        def both() -> Any:
            root = actor.get_root_transform()
            place = [*root.translation.tolist(), *root.rotation.tolist()]
            return np.concatenate([np.asarray(get(), real).ravel(), place])

        frame = self._recorder.frame(fields, real, scene=self._number)
        readers.soft.append((both if placed else get, frame))


def _rigid_fields(number: int) -> list[r.Field]:
    quaternion = (*XYZ, "w")
    return [
        r.Field(name="translation", shape=(3,), unit="m", actor=number, names=XYZ),
        r.Field(name="rotation", shape=(4,), unit="", actor=number, names=quaternion),
        r.Field(name="translationCom", shape=(3,), unit="m", actor=number, names=XYZ),
        r.Field(
            name="rotationCom", shape=(4,), unit="", actor=number, names=quaternion
        ),
        r.Field(name="vcom", shape=(3,), unit="m/s", actor=number, names=XYZ),
        r.Field(name="omega", shape=(3,), unit="rad/s", actor=number, names=XYZ),
    ]


def is_link(actor: Any) -> bool:
    """Whether it is a link of an articulation."""
    try:
        return bool(actor.is_nested_link_actor())
    except Exception:  # noqa: BLE001 another release of the engine
        return False


def dofs_of(actor: Any) -> tuple[Names, Names]:
    """Names and units of the degrees of freedom; empty where they can't be told."""
    try:
        shape = actor.get_articulated_shape_info()
        names: list[str] = []
        units: list[str] = []
        for joint, dof in zip(shape.joint_names, shape.dof_info, strict=True):
            straight, turning = int(dof.trans_size), int(dof.rot_size)
            more = straight + turning > 1
            for k in range(straight + turning):
                names.append(f"{joint}[{k}]" if more else str(joint))
            both = [(int(dof.get_trans_offset()), ["m"] * straight)]
            both.append((int(dof.get_rot_offset()), ["rad"] * turning))
            for _, unit in sorted(both, key=lambda part: part[0]):
                units += unit
    except Exception:  # noqa: BLE001 another release of the engine
        return (), ()
    return tuple(names), tuple(units)


def _limits(actor: Any, pairs: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Limits of the degrees of freedom; empty where they can't be told."""
    try:
        actor.get_articulated_dof_limits(pairs)
        both = np.array([pair.tolist() for pair in pairs], np.float64).reshape(-1, 2)
    except Exception:  # noqa: BLE001 another release of the engine
        return (), ()
    return tuple(both[:, 0].tolist()), tuple(both[:, 1].tolist())


def _reference(actor: Any, real: Any) -> dict[str, Any]:
    """What an actor has once: its surface, and where it stands if it never moves."""
    found: dict[str, Any] = {}
    try:
        mesh = actor.get_surface_mesh()
        if not mesh.is_empty() and mesh.nodes_per_element == 3:
            vertices = np.array(mesh.coordinates, real).reshape(-1, 3)
            faces = np.array(mesh.connectivity, np.int32).reshape(-1, 1)
            found |= {"surfRefPositions": vertices, "surfFaceIndices": faces}
    except Exception:  # noqa: BLE001 it has none
        pass
    try:
        if actor.has_root_transform():
            root = actor.get_root_transform()
            found["translation"] = np.array(root.translation.tolist(), real)
            found["rotation"] = np.array(root.rotation.tolist(), real)
    except Exception:  # noqa: BLE001 it has none
        pass
    return found
