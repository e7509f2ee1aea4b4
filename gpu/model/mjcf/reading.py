"""What reading an MJCF file goes by: settings, default classes, what was left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.gpu.model.validate import LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.model.mjcf.document import Node

MAIN = "main"
# their defaults set the same things, whichever of them is written
ACTUATORS = ("general", "motor", "position", "velocity")


@dataclass(slots=True)
class Settings:
    """The compiler's and the flags' settings that change what is read."""

    radians: bool = False
    auto_limits: bool = True
    euler: str = "xyz"
    inertia_from_geoms: str = "auto"
    inertia_groups: tuple[int, int] = (0, 5)
    least_mass: float = 0.0
    least_inertia: float = 0.0
    total_mass: float = -1.0
    contacts: bool = True
    limits: bool = True


@dataclass(slots=True)
class Reading:
    """One file being read.

    Attributes
    ----------
    ignore
        Elements and attributes to leave out although they change the dynamics.
    skipped
        What was left out, once each, with the line where it was first met.
    defaults
        For each class and element its attributes, the parents' classes included.
    """

    ignore: frozenset[str]
    settings: Settings = field(default_factory=Settings)
    skipped: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, dict[str, dict[str, str]]] = field(
        default_factory=lambda: {MAIN: {}}
    )

    def skip(self, what: str, node: Node) -> None:
        """Note that something was left out."""
        self.skipped.setdefault(what, f"line {node.line}")

    def unsupported(self, name: str, node: Node, problem: str = "") -> None:
        """Leave out what changes the dynamics if that was asked for, else refuse it."""
        if name in self.ignore:
            self.skip(f"{name} (changes the dynamics)", node)
            return
        node.refuse(
            problem or "is not supported, and it changes the dynamics",
            f'remove it, or read the model with ignore=("{name}",) to leave it out',
        )

    def angle(self, value: float) -> float:
        """An angle of the file in radians."""
        return value if self.settings.radians else value * math.pi / 180.0


class Attributes:
    """An element's attributes, defaults filled in; each is asked for by its type.

    `finish` refuses what nobody asked for, so that nothing is overlooked.
    """

    def __init__(self, reading: Reading, node: Node, childclass: str = MAIN) -> None:
        self.reading = reading
        self.node = node
        name = node.attributes.get("class", childclass)
        if name not in reading.defaults:
            node.refuse(
                f'there is no default class "{name}"', "declare it in <default>"
            )
        tags = ACTUATORS if node.tag in ACTUATORS else (node.tag,)
        defaults = reading.defaults[name]
        self.values: dict[str, str] = {}
        for tag in tags:
            self.values.update(defaults.get(tag, {}))
        self.values.update(defaults.get(node.tag, {}))
        self.values.update(node.attributes)
        self.asked: set[str] = {"name", "class"}

    def has(self, name: str) -> bool:
        """Whether an attribute is given, here or by default."""
        self.asked.add(name)
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        """An attribute as it is written."""
        self.asked.add(name)
        return self.values.get(name, default).strip()

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """One of some words."""
        value = self.text(name, default)
        if value not in choices:
            self.node.refuse(
                f'{name} is "{value}"', "it may be " + ", ".join(sorted(choices))
            )
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """A yes or no."""
        return self.choice(name, str(default).lower(), ("true", "false")) == "true"

    def limited(self, name: str, range_name: str) -> bool:
        """Whether a range counts: true, false, or auto with the compiler's setting."""
        value = self.choice(name, "auto", ("true", "false", "auto"))
        if value != "auto":
            return value == "true"
        given = self.has(range_name)
        if given and not self.reading.settings.auto_limits:
            self.node.refuse(
                f"it has {range_name}, no {name}, and autolimits is false",
                f'say {name}="true" or "false"',
            )
        return given

    def floats(
        self, name: str, default: Sequence[float], *, least: int | None = None
    ) -> tuple[float, ...]:
        """As many numbers as the default has; at least `least`, the rest by default."""
        text = self.text(name)
        if not text:
            return tuple(default)
        values = self.numbers(name)
        few = len(default) if least is None else least
        if not few <= len(values) <= len(default):
            wanted = str(few) if few == len(default) else f"{few} to {len(default)}"
            self.node.refuse(
                f"{name} has {len(values)} numbers", f"it should have {wanted}"
            )
        return (*values, *tuple(default)[len(values) :])

    def numbers(self, name: str) -> tuple[float, ...]:
        """Any number of numbers."""
        values: list[float] = []
        for word in self.text(name).split():
            try:
                value = float(word)
            except ValueError:
                self.node.refuse(
                    f'{name} has "{word}", which is no number', "correct it"
                )
            if not math.isfinite(value) or abs(value) > LARGEST:
                self.node.refuse(
                    f"{name} has {word}", f"give a number up to {LARGEST:g}"
                )
            values.append(value)
        return tuple(values)

    def number(self, name: str, default: float) -> float:
        """One number."""
        return self.floats(name, (default,))[0]

    def integer(self, name: str, default: int) -> int:
        """One whole number."""
        value = self.number(name, float(default))
        if value != int(value):
            self.node.refuse(f"{name} is {value:g}", "give a whole number")
        return int(value)

    def refuse_unless(self, name: str, neutral: str) -> None:
        """Refuse an attribute that changes the dynamics and is not supported.

        `neutral` is the value, or the number that all its numbers have, with which it
        changes nothing.
        """
        text = self.text(name)
        if not text or text == neutral:
            return
        try:
            if all(float(word) == float(neutral) for word in text.split()):
                return
        except ValueError:
            pass
        self.reading.unsupported(
            name,
            self.node,
            f'{name}="{text}" is not supported and changes the dynamics',
        )

    def skip(self, *names: str) -> None:
        """Leave out attributes that matter to MuJoCo only, and note those given."""
        for name in names:
            if self.has(name):
                self.reading.skip(f"{self.node.tag}.{name}", self.node)

    def drop(self, *names: str) -> None:
        """Leave out attributes that are about looks and names."""
        self.asked.update(names)

    def finish(self) -> None:
        """Refuse attributes that nobody asked for."""
        for name in self.values:
            if name not in self.asked:
                self.reading.unsupported(
                    name, self.node, f'the attribute "{name}" is not known here'
                )


def read_defaults(reading: Reading, root: Node) -> None:
    """Fill the default classes from all <default> sections."""
    for section in root.of("default"):
        _read_class(reading, section, MAIN, None)


def _read_class(reading: Reading, node: Node, name: str, parent: str | None) -> None:
    table = reading.defaults.setdefault(name, {})
    if parent is not None:
        for tag, attributes in reading.defaults[parent].items():
            table.setdefault(tag, {}).update(attributes)
    for child in node.children:
        if child.tag != "default":
            table.setdefault(child.tag, {}).update(child.attributes)
    for child in node.of("default"):
        inner = child.attributes.get("class")
        if not inner:
            child.refuse("a default class inside another has no name", "give it class")
        if inner == name or (inner in reading.defaults and inner == MAIN):
            child.refuse(f'the default class "{inner}" is inside itself', "rename it")
        _read_class(reading, child, inner, name)
