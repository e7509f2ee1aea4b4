from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.errors import WriteError
from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.jsonform import (
    LARGEST_FILE,
    decode_model,
    encode_model,
    load_model,
    save_model,
)
from isoscope.gpu.model.named import model_names, named_model
from isoscope.gpu.model.spec import (
    Actor,
    Contact,
    Drive,
    Joint,
    Link,
    Model,
    Shape,
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "model-schema.md"
GOOD = encode_model(named_model("cartpole"))

numbers = st.floats(-1e6, 1e6)
positive = st.floats(1e-3, 1e3)
names = st.text("abcé ü_-.", min_size=1, max_size=8)
vectors = st.tuples(numbers, numbers, numbers)
shapes = st.lists(
    st.builds(
        Shape, name=names, type=st.just("box"), size=st.tuples(*[positive] * 3),
        position=vectors, friction=positive, group=st.integers(0, 2**31 - 1),
    ),
    max_size=2, unique_by=lambda shape: shape.name,
)  # fmt: skip
joints = st.builds(
    Joint,
    name=st.just("joint"),
    type=st.sampled_from(["prismatic", "revolute"]),
    limits=st.none() | st.just((-1.0, 2.5)),
    damping=positive,
    start=st.none() | st.tuples(numbers),
)
models = st.builds(
    lambda name, link, joint, mass, shapes, gravity, drive, world: Model(
        name=name,
        gravity=gravity,
        contact=Contact(stiffness=mass),
        shapes=tuple(world),
        actors=(
            Actor(
                name="actor",
                links=(
                    Link(
                        name=link,
                        joint=joint,
                        mass=mass,
                        inertia=(mass, mass, mass, 0.0, 0.0, 0.0),
                        shapes=tuple(shapes),
                    ),
                ),
                drives=(Drive(name="drive", joint="joint"),) if drive else (),
            ),
        ),
    ),
    names, names, joints, positive, shapes, vectors, st.booleans(), shapes,
)  # fmt: skip


@given(models)
def test_what_is_written_is_read_again(model: Model) -> None:
    assert decode_model(encode_model(model)) == model


@pytest.mark.parametrize("name", model_names())
def test_shipped_models_are_valid_and_written_as_we_write(name: str) -> None:
    model = named_model(name)
    build_tree(model)
    assert decode_model(encode_model(model)) == model
    # so that a change by hand keeps the form, and a difference shows what changed
    folder = Path(__file__).parents[3] / "resources" / "models"
    assert encode_model(model) == (folder / f"{name}.json").read_text("utf-8")


def test_files_go_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save_model(named_model("arm7"), path)
    save_model(named_model("pusher"), path)
    assert load_model(path) == named_model("pusher")
    assert os.listdir(tmp_path) == ["model.json"]


def test_the_example_in_the_documents_is_a_model() -> None:
    text = DOCUMENT.read_text("utf-8")
    example = text.split("```json\n", 1)[1].split("```", 1)[0]
    tree = build_tree(decode_model(example))
    assert tree.nv > 0


def test_the_document_names_every_field() -> None:
    text = DOCUMENT.read_text("utf-8")
    for part in (Model, Actor, Link, Joint, Shape, Drive, Contact):
        for field in msgspec.structs.fields(part):
            assert f"`{field.name}`" in text, f"{part.__name__}.{field.name}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"mass"', '"mas"', r"\$.actors\[0\].links\[0\]: .* unknown field `mas`"),
        ("16.0", "1e400", r"\$.actors\[0\].links\[0\].mass: Number out of range"),
        ("16.0", "NaN", "malformed"),
        ("16.0", "1e30", r"mass is 1e\+30; give a number up to"),
        ("16.0", '"16"', "Expected `float`, got `str`"),
        ("[0.0, 0.5, 0.0]", "[0.0, 0.5]", "`array` of length 3"),
        ('"prismatic"', '"sliding"', r"joint.type: Invalid enum value 'sliding'"),
        ("model/1", "model/2", 'it is "isoscope.model/2"; models here are'),
        ('"schema"', '"scheme"', "doesn't say its schema"),
        ("16.0", "-16.0", 'link "Cart" of actor "CartPole": mass is -16'),
        ("}", "", "malformed"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "bad.json"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"reading the model {path}: ")


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, GOOD[:99]],
    ids=["empty", "array", "null", "bytes", "arrays", "objects", "cut"],
)
def test_what_is_no_model_is_an_error_and_not_a_crash(data: bytes) -> None:
    with pytest.raises(ModelError):
        decode_model(data)


@given(st.binary(max_size=3), st.integers(0, len(GOOD)))
def test_damage_is_an_error_or_another_model(junk: bytes, place: int) -> None:
    data = GOOD.encode()
    with contextlib.suppress(ModelError):
        build_tree(decode_model(data[:place] + junk + data[place + len(junk) :]))


def test_files_that_can_not_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        load_model(tmp_path / "absent.json")
    with pytest.raises(ModelError, match="Is a directory"):
        load_model(tmp_path)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(ModelError, match="larger than 16 MiB"):
        load_model(large)
    with pytest.raises(WriteError, match="choose a folder"):
        save_model(named_model("cartpole"), tmp_path / "absent" / "model.json")


def test_a_wrong_model_is_not_written(tmp_path: Path) -> None:
    model = msgspec.structs.replace(named_model("cartpole"), gravity=(0.0, 1e99, 0.0))
    with pytest.raises(ModelError, match="gravity"):
        save_model(model, tmp_path / "model.json")
    assert not os.listdir(tmp_path)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r'"cart".* choose one of arm7, cartpole'):
        named_model("cart")


def test_numbers_stand_on_one_line() -> None:
    assert '"gravity": [0.0, -9.8, 0.0]' in GOOD
    assert json.loads(GOOD)["schema"] == "isoscope.model/1"
