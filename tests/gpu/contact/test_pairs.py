"""Which shapes can touch."""

from __future__ import annotations

from isoscope.gpu.contact.pairs import touching_pairs
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.spec import Actor, Joint, Link, Model, Shape
from tests.gpu.contact.scenes import GROUND, body, box, capsule, scene, sphere


def pairs_of(model: Model) -> set[tuple[int, int]]:
    found = touching_pairs(build_tree(model))
    return {pair for pairs in found.values() for pair in pairs}


def arm(*links: Link) -> Model:
    return Model(name="arm", actors=(Actor(name="arm", links=links),))


def link(
    name: str,
    parent: str | None,
    *,
    joint: Joint | None = None,
    mass: float = 1.0,
    shapes: tuple[Shape, ...] = (),
) -> Link:
    return Link(
        name=name,
        parent=parent,
        joint=Joint(name=name, type="revolute") if joint is None else joint,
        mass=mass,
        inertia=(mass, mass, mass, 0.0, 0.0, 0.0),
        shapes=shapes,
    )


def test_kinds_come_in_one_order_whatever_the_shapes() -> None:
    model = scene(
        body("b", box()), body("c", capsule()), body("s", sphere()), world=(GROUND,)
    )
    found = touching_pairs(build_tree(model))
    assert found == {
        ("sphere", "capsule"): [(2, 1)],
        ("sphere", "box"): [(2, 0)],
        ("sphere", "plane"): [(2, 3)],
        ("capsule", "box"): [(1, 0)],
        ("capsule", "plane"): [(1, 3)],
        ("box", "plane"): [(0, 3)],
    }


def test_bits_decide_as_with_mujoco() -> None:
    one = body("one", sphere(group=2, mask=0))
    for group, mask, touch in (
        (1, 1, False),
        (1, 2, True),
        (0, 3, True),
        (2, 0, False),
    ):
        model = scene(one, body("two", sphere(group=group, mask=mask)))
        assert (pairs_of(model) == {(0, 1)}) == touch


def test_nothing_touches_within_a_body_or_the_world() -> None:
    ball = sphere()
    fixed = Joint(name="fixed", type="fixed")
    post = link("post", None, joint=fixed, shapes=(ball,))
    model = Model(
        name="m",
        actors=(
            Actor(
                name="a",
                links=(
                    link("root", None, shapes=(ball, box())),
                    link("welded", "root", joint=fixed, shapes=(capsule(),)),
                ),
            ),
            Actor(name="post", links=(post,)),
        ),
        shapes=(GROUND, sphere()),
    )
    # 0, 1, 2: the body; 3: the post, which belongs to the world; 4, 5: the world
    assert pairs_of(model) == {(0, 3), (3, 1), (3, 2), (0, 4), (1, 4), (2, 4)} | {
        (0, 5),
        (5, 1),
        (5, 2),
    }


def test_parent_and_child_do_not_touch_but_grandchildren_do() -> None:
    ball = sphere()
    model = arm(
        link("one", None, shapes=(ball,)),
        link("two", "one", shapes=(ball,)),
        link("three", "two", shapes=(ball,)),
    )
    assert pairs_of(model) == {(0, 2)}


def test_links_that_only_join_joints_are_passed_over() -> None:
    across = Joint(name="across", type="revolute", axis=(1.0, 0.0, 0.0))
    ball = sphere()
    model = arm(
        link("one", None, shapes=(ball,)),
        link("between", "one", joint=across, mass=0.0),
        link("two", "between", shapes=(ball,)),
        link("three", "two", shapes=(ball,)),
    )
    assert pairs_of(model) == {(0, 2)}


def test_the_world_touches_what_hangs_on_it() -> None:
    model = Model(
        name="m",
        actors=(Actor(name="a", links=(link("one", None, shapes=(sphere(),)),)),),
        shapes=(GROUND,),
    )
    assert pairs_of(model) == {(0, 1)}
