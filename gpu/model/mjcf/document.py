"""An XML file as nodes that know their line; includes resolved, nothing fetched.

A document type is refused, so there are no entities: neither files nor addresses are
opened, and nothing expands. Includes stay inside the model's folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.jsonform import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 200
ROOTS = ("mujoco", "mujocoinclude")


@dataclass(slots=True)
class Node:
    """One element."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Node] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        name = self.attributes.get("name")
        named = f' "{name}"' if name else ""
        return f"line {self.line}, <{self.tag}>{named}"

    def of(self, *tags: str) -> Iterator[Node]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def refuse(self, problem: str, remedy: str = "") -> NoReturn:
        """Raise what is wrong with it."""
        raise ModelError(
            f"reading the model {self.file}", problem, where=self.place, remedy=remedy
        )


def read_document(path: str | Path) -> Node:
    """The root element of a model's file, with what it includes put in place.

    Raises
    ------
    ModelError
        If a file can't be read, is not XML, or includes what it must not.
    """
    main = Path(path)
    root = parse(read_file(main, "the model"), str(main))
    if root.tag != "mujoco":
        root.refuse("its root element is not <mujoco>", "is it an MJCF file?")
    _include(root, main.parent, {_resolved(main)})
    return root


def parse(data: bytes, file: str) -> Node:
    """The root element of XML text; includes are left as they are.

    Raises
    ------
    ModelError
        If it is not well formed, or declares a document type.
    """
    doing = f"reading the model {file}"
    # an element of no name above the root, so that the root has a parent too
    open_nodes = [Node("", {}, file, 0)]
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes, file, parser.CurrentLineNumber)
        if len(open_nodes) > DEEPEST:
            node.refuse(f"elements are nested more than {DEEPEST} deep")
        open_nodes[-1].children.append(node)
        open_nodes.append(node)

    def end(_tag: str) -> None:
        open_nodes.pop()

    def doctype(*_: object) -> None:
        raise ModelError(
            doing,
            "it declares a document type",
            where=f"line {parser.CurrentLineNumber}",
            remedy="remove the <!DOCTYPE ...>; entities are not read",
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        text = (
            expat.ErrorString(error.code)
            if isinstance(error, expat.ExpatError)
            else str(error)
        )
        raise ModelError(
            doing,
            f"it is not well-formed XML: {text}",
            where=f"line {parser.CurrentLineNumber}",
            remedy="correct it",
        ) from None
    return open_nodes[0].children[0]


def _include(node: Node, folder: Path, seen: set[Path]) -> None:
    """Put what is included in place, as MuJoCo does: each file once."""
    children: list[Node] = []
    for child in node.children:
        if child.tag != "include":
            _include(child, folder, seen)
            children.append(child)
            continue
        name = child.attributes.get("file")
        if not name:
            child.refuse("it names no file", "give the attribute file")
        target = _resolved(folder / name)
        if not target.is_relative_to(_resolved(folder)):
            child.refuse(
                f'"{name}" is outside the model\'s folder', "copy it into that folder"
            )
        if target in seen:
            child.refuse(f'"{name}" was read already', "include each file once")
        seen.add(target)
        root = parse(read_file(target, "an included file"), str(folder / name))
        if root.tag not in ROOTS:
            root.refuse("the root of an included file must be <mujocoinclude>")
        _include(root, folder, seen)
        children.extend(root.children)
    node.children = children


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"reading the model {path}", str(error), remedy="check the path"
        ) from None
