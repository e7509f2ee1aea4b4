"""MJCF files to models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.mjcf.actuators import read_actuators
from isoscope.gpu.model.mjcf.bodies import clean, read_world
from isoscope.gpu.model.mjcf.document import read_document
from isoscope.gpu.model.mjcf.reading import Reading, read_defaults
from isoscope.gpu.model.mjcf.settings import (
    read_compiler,
    read_option,
    read_sections,
)
from isoscope.gpu.model.spec import Model
from isoscope.gpu.model.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class MjcfModel:
    """What was read.

    Attributes
    ----------
    timestep_s
        The file's time step; a scene has its own.
    skipped
        What was left out, each once with the line where it was met first. Nothing in it
        changes the dynamics of bodies that don't touch, unless it says so.
    """

    model: Model
    timestep_s: float
    skipped: tuple[str, ...]


def load_mjcf(path: str | Path, *, ignore: Iterable[str] = ()) -> MjcfModel:
    """Read an MJCF file.

    A body becomes a link, a tree of bodies an actor. Joints of one body become a chain
    of links without mass. Contacts follow Isoscope's own law; of a geom's friction the
    first number counts.

    Parameters
    ----------
    ignore
        Elements and attributes that are not supported, to leave out although that
        changes the dynamics: ``("equality", "frictionloss", "fluid")``.

    Raises
    ------
    ModelError
        If the file can't be read, is wrong, or has what is not supported: the message
        names file, line, element, and the word for `ignore`.
    """
    root = read_document(path)
    reading = Reading(frozenset(ignore))
    name = clean(root.attributes.get("model", "").strip() or Path(path).stem)
    read_sections(reading, root)
    read_compiler(reading, root)
    read_defaults(reading, root)
    gravity, step = read_option(reading, root)
    actors, shapes = read_world(reading, root, name)
    actors = read_actuators(reading, root, actors)
    model = Model(
        name=name, actors=tuple(actors), gravity=gravity, shapes=tuple(shapes)
    )
    try:
        validate(model)
    except ModelError as error:
        raise ModelError(
            f"reading the model {path}",
            error.problem,
            where=error.where,
            remedy=error.remedy,
        ) from None
    skipped = tuple(f"{what} ({line})" for what, line in reading.skipped.items())
    return MjcfModel(model, step, skipped)
