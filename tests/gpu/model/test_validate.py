from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.spec import (
    Actor,
    Contact,
    Drive,
    Joint,
    Link,
    Model,
    Shape,
)

BODY = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)}
HINGE = Joint(name="hinge", type="revolute")


def model(**changes: Any) -> Model:
    """A cart with a pole, one of whose parts is another."""
    cart = Link(name="cart", joint=Joint(name="slide", type="prismatic"), **BODY)
    pole = Link(name="pole", parent="cart", joint=HINGE, **BODY)
    drives = changes.pop("drives", ())
    links = changes.pop("links", None)
    if links is None:
        links = (cart, msgspec.structs.replace(pole, **changes.pop("pole", {})))
    actor = Actor(name="robot", links=links, drives=drives)
    return Model(name="test", **{"actors": (actor,), **changes})


def joint(**changes: Any) -> dict[str, Any]:
    return {
        "pole": {"joint": Joint(**{"name": "hinge", "type": "revolute", **changes})}
    }


def shape(**changes: Any) -> dict[str, Any]:
    return {"pole": {"shapes": (Shape(**{"name": "s", "type": "sphere", **changes}),)}}


def drive(**changes: Any) -> dict[str, Any]:
    return {"drives": (Drive(**{"name": "d", "joint": "hinge", **changes}),)}


def alone(**changes: Any) -> dict[str, Any]:
    return {"links": (Link(**{"name": "body", **BODY, **changes}),)}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"actors": ()}, "no actors"),
    ({"links": ()}, "no links"),
    ({"gravity": (0.0, math.nan, 0.0)}, "gravity is nan"),
    ({"gravity": (0.0, 1e16, 0.0)}, r"gravity is 1e\+16"),
    ({"contact": Contact(stiffness=-1.0)}, "the contact law: stiffness is -1"),
    ({"contact": Contact(slip_speed_m_s=0.0)}, "slip_speed_m_s is 0; give more"),
    ({"pole": {"name": "cart"}}, 'two links have the name "cart"'),
    ({"pole": {"name": "a/b"}}, "'a/b'"),
    ({"pole": {"name": ""}}, "''"),
    ({"pole": {"parent": "wheel"}}, '"wheel" is not a link'),
    ({"pole": {"parent": "pole"}}, '"pole" comes after it'),
    ({"pole": {"parent": None}}, "has a root already"),
    (alone(parent="x"), "the actor's first link has the parent"),
    ({"pole": {"rotation": (0.0, 0.0, 0.0, 2.0)}}, "rotation has length 2"),
    ({"pole": {"mass": -1.0}}, "mass is -1; give 0 or more"),
    ({"pole": {"mass": 0.0}}, "inertia and no mass"),
    ({"pole": {"inertia": (1, 1, -1, 0, 0, 0)}}, "not positive definite"),
    ({"pole": {"inertia": (1, 1, 1, 2, 0, 0)}}, "not positive definite"),
    ({"pole": {"inertia": (1, 1, 3, 0, 0, 0)}}, "two must be at least"),
    (joint(axis=(0.0, 1.0, 1.0)), "axis has length 1.41421356"),
    (joint(limits=(1.0, -1.0)), "limits are upside down: 1 to -1"),
    (joint(damping=-0.1), "damping is -0.1"),
    (joint(limit_stiffness=-1.0), "limit_stiffness is -1"),
    (joint(type="spherical", limits=(0.0, 1.0)), "can't have limits"),
    (joint(type="spherical", stiffness=1.0), "can't have stiffness"),
    (joint(type="fixed", damping=1.0), "no damping"),
    (joint(start=(1.0, 2.0)), "start has 2 numbers"),
    (joint(type="spherical", start=(0.0, 0.0, 0.0, 3.0)), "start has length 3"),
    (joint(type="free"), "free joint and hangs on"),
    (joint(name="slide"), 'two joints have the name "slide"'),
    (alone(joint=Joint(type="free", start=(0.0,) * 7)), "no start of its own"),
    (shape(), "a sphere has one size, its radius; it was given 0"),
    (shape(size=(0.0,)), "greater than 0"),
    (shape(type="capsule", size=(1.0,)), "its radius and its half length"),
    (shape(type="plane", size=(1.0,)), "a plane has no size"),
    (shape(size=(1.0,), friction=-1.0), "friction is -1"),
    (shape(size=(1.0,), group=-1), "group is -1"),
    (shape(size=(1.0,), mask=1 << 31), "mask is 2147483648"),
    (drive(joint="wheel"), '"wheel", which is not a joint .* "slide", "hinge"'),
    (drive(gear=0.0), "gear is 0"),
    (drive(force_limits=(1.0, 0.0)), "force_limits are upside down"),
    (drive(stiffness=1.0), "a force drive has no stiffness"),
    (drive(type="position"), "needs a stiffness"),
    (drive(type="velocity", stiffness=1.0, damping=1.0), "has no stiffness"),
    (drive(type="velocity"), "needs a damping"),
    (
        {**joint(type="spherical"), **drive()},
        'drives the spherical joint "hinge"',
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[w[1] for w in WRONG])
def test_what_is_wrong_is_named_with_its_place(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        build_tree(model(**changes))
    text = str(caught.value)
    assert text.startswith('building the model "test": ')
    assert "\n" not in text


def test_the_model_that_these_change_is_right() -> None:
    build_tree(model())


def test_the_place_goes_down_to_the_part() -> None:
    with pytest.raises(ModelError) as caught:
        build_tree(model(**shape(size=(-1.0,))))
    assert 'shape "s" of link "pole" of actor "robot": ' in str(caught.value)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (
            (Link(name="a", joint=HINGE),),
            r'link "robot/a": its revolute joint moves no',
        ),
        # a point on the axis turns without moving
        ((Link(name="a", joint=HINGE, mass=1.0),), "moves no mass"),
        (
            (
                Link(name="a", joint=HINGE),
                Link(
                    name="b",
                    parent="a",
                    joint=Joint(name="again", type="revolute"),
                    **BODY,
                ),
            ),
            'without moving any mass: "robot/a", "robot/b"',
        ),
    ],
)
def test_joints_that_move_nothing_are_refused(
    links: tuple[Link, ...], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        build_tree(model(links=links))


def test_armature_stands_for_mass() -> None:
    moved = Joint(name="hinge", type="revolute", armature=0.1)
    build_tree(model(links=(Link(name="a", joint=moved),)))


def test_a_point_off_the_axis_is_a_pendulum() -> None:
    bob = Link(name="bob", joint=HINGE, mass=1.0, center=(0.0, 1.0, 0.0))
    build_tree(model(links=(bob,)))
