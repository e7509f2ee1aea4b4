"""What MJCF files may not have, and what reading does about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.mjcf.document import parse
from isoscope.gpu.model.mjcf.reader import MjcfModel, load_mjcf

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """<mujoco model="test">
  <compiler autolimits="true"/>
  <option timestep="0.01"/>
  <worldbody>
    <body name="pole">
      <joint name="hinge" axis="0 1 0"/>
      <geom name="rod" type="capsule" size="0.05 0.5"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="hinge"/>
  </actuator>
</mujoco>
"""


def read(tmp_path: Path, text: str, *ignore: str) -> MjcfModel:
    path = tmp_path / "model.xml"
    path.write_text(text)
    return load_mjcf(path, ignore=ignore)


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def more(section: str) -> str:
    return changed("  <actuator>", f"  {section}\n  <actuator>")


def joint(attributes: str) -> str:
    return changed('axis="0 1 0"', attributes)


def geom(attributes: str) -> str:
    return changed('size="0.05 0.5"', f'size="0.05 0.5" {attributes}')


def motor(element: str) -> str:
    return changed('<motor name="push" joint="hinge"/>', element)


# the text, the word for `ignore`, and what the message says
DYNAMIC = [
    (
        more('<equality><weld body1="pole"/></equality>'),
        "equality",
        "line 10, <weld>: <equality> is not supported",
    ),
    (more('<tendon><fixed name="t"/></tendon>'), "tendon", '<fixed> "t": <tendon>'),
    (more('<contact><exclude body1="a"/></contact>'), "contact", "<contact> is not"),
    (more("<newsection/>"), "newsection", "not a section that is known"),
    (changed('timestep="0.01"', 'density="1.2"'), "fluid", "line 3, <option>: density"),
    (joint('frictionloss="0.1"'), "frictionloss", 'line 6, <joint> "hinge": friction'),
    (joint('springdamper="1 2"'), "springdamper", "springdamper"),
    (joint('damping="1 0.5"'), "damping", "only one is supported"),
    (joint('type="ball" stiffness="1"'), "stiffness", "spring on a ball joint"),
    (joint('type="ball" range="0 90"'), "range", "limited ball joint"),
    (joint('actuatorfrcrange="-1 1"'), "actuatorfrcrange", "not supported"),
    (joint('colour="red"'), "colour", 'the attribute "colour" is not known'),
    (geom('fluidshape="ellipsoid"'), "fluidshape", "fluidshape"),
    (geom('shellinertia="true"'), "shellinertia", "shellinertia"),
    (changed('type="capsule"', 'type="cylinder"'), "cylinder", "a cylinder that touch"),
    (changed("<geom", '<plugin name="p"/><geom'), "plugin", "not supported"),
    (changed('name="pole"', 'name="pole" gravcomp="1"'), "gravcomp", "gravcomp"),
    (motor('<muscle joint="hinge"/>'), "muscle", "type muscle are not supported"),
    (motor('<motor tendon="t"/>'), "tendon", "actuator on a tendon"),
    (
        motor('<general joint="hinge" dyntype="integrator"/>'),
        "dyntype",
        "dyntype",
    ),
    (motor('<position joint="hinge" dampratio="1"/>'), "dampratio", "dampratio"),
]


@pytest.mark.parametrize(
    ("text", "word", "message"),
    DYNAMIC,
    ids=[f"{d[1]}-{i}" for i, d in enumerate(DYNAMIC)],
)
def test_what_changes_the_dynamics_is_refused_or_left_out_when_asked(
    tmp_path: Path, text: str, word: str, message: str
) -> None:
    if 'type="ball"' in text:
        text = text.replace('<motor name="push" joint="hinge"/>', "")
    with pytest.raises(ModelError, match=message) as caught:
        read(tmp_path, text)
    assert f'ignore=("{word}",)' in str(caught.value)
    assert str(tmp_path / "model.xml") in str(caught.value)
    found = read(tmp_path, text, word)
    assert any(word in line and "dynamics" in line for line in found.skipped)
    build_tree(found.model)


WRONG = [
    ("", "not well-formed XML: no element found"),
    ("<mujoco><worldbody></mujoco>", "line 1: it is not well-formed XML: mismatched"),
    ("<robot/>", "root element is not <mujoco>"),
    ("<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco/>", "declares a document type"),
    ("<a>" * 300 + "</a>" * 300, "nested more than 200 deep"),
    ("<mujoco/>", "it has no actors"),
    (joint('axis="0 0 0"'), "axis has length 0"),
    (joint('axis="0 1"'), "axis has 2 numbers; it should have 3"),
    (joint('axis="0 1 x"'), 'axis has "x", which is no number'),
    (joint('axis="0 1 nan"'), "axis has nan"),
    (joint('axis="0 1 1e30"'), "axis has 1e30"),
    (joint('type="screw"'), 'type is "screw"; it may be ball, free, hinge, slide'),
    (joint('range="10 -10"'), "range is .* give the lower limit first"),
    (joint('limited="yes"'), 'limited is "yes"; it may be auto, false, true'),
    (joint('class="soft"'), 'no default class "soft"'),
    (joint('damping="-1"'), "damping is -1"),
    (joint('type="free"'), "it drives the free joint"),
    (
        changed("<joint", '<joint type="free"/><joint'),
        "a free joint must be the only one",
    ),
    (changed('"true"', '"false"').replace("axis=", 'range="0 1" axis='), "autolimits"),
    (changed('size="0.05 0.5"', 'size="0.05"'), "needs 2 numbers greater than 0"),
    (changed('size="0.05 0.5"', 'size="0.05 0"'), "needs 2 numbers greater than 0"),
    (geom('fromto="0 0 1 0 0 1"'), "are at the same place"),
    (geom('quat="1 0 0 0" euler="0 0 0"'), "more than one orientation: quat, euler"),
    (geom('mass="-1"'), "mass or density is negative"),
    (geom('contype="0.5"'), "contype is 0.5; give a whole number"),
    (changed('type="capsule"', 'type="ball"'), 'type is "ball"'),
    (changed('timestep="0.01"', 'timestep="0"'), "timestep is 0"),
    (changed('autolimits="true"', 'coordinate="global"'), "global coordinates"),
    (changed('autolimits="true"', 'eulerseq="xy"'), 'eulerseq is "xy"'),
    (motor('<motor joint="knee"/>'), 'there is no joint "knee"'),
    (motor('<motor joint="hinge" ctrlrange="1 0"/>'), "ctrlrange is 1 to 0"),
    (
        motor('<general joint="hinge" biastype="affine" biasprm="1 0 0"/>'),
        "neither a motor's nor",
    ),
    (
        changed("<geom", '<inertial mass="1" pos="0 0 0" diaginertia="1 1 3"/><geom'),
        "no body has principal moments",
    ),
    (changed("<geom", '<inertial mass="1"/><geom'), "it has no pos"),
    (changed("<worldbody>", '<worldbody><include file="../x.xml"/>'), "outside the"),
    (changed("<worldbody>", '<worldbody><include file="model.xml"/>'), "read already"),
    (changed("<worldbody>", '<worldbody><include file="no.xml"/>'), "No such file"),
    (changed("<worldbody>", "<worldbody><include/>"), "it names no file"),
    (more('<default><default class=""/></default>'), "has no name"),
    (
        more('<default><default class="a"><default class="a"/></default></default>'),
        "is inside itself",
    ),
]


@pytest.mark.parametrize(
    ("text", "message"), WRONG, ids=[f"{i}-{w[1][:24]}" for i, w in enumerate(WRONG)]
)
def test_what_is_wrong_is_one_clear_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_what_only_looks_is_left_out_and_listed(tmp_path: Path) -> None:
    text = more('<visual><map/></visual><sensor><gyro site="s"/></sensor>')
    text = text.replace("<geom", '<site name="s"/><camera/><geom solref="0.01 1"')
    found = read(tmp_path, text)
    assert found.skipped == (
        "visual (line 10)",
        "sensor (line 10)",
        "site (line 7)",
        "camera (line 7)",
        "geom.solref (line 7)",
    )
    assert found.model == read(tmp_path, GOOD).model
    assert found.timestep_s == 0.01


def test_a_file_of_the_folder_is_included(tmp_path: Path) -> None:
    head, rest = GOOD.split("    <body", 1)
    body, tail = rest.split("</body>", 1)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "body.xml").write_text(
        f"<mujocoinclude><body{body}</body></mujocoinclude>"
    )
    found = read(tmp_path, head + '<include file="parts/body.xml"/>' + tail)
    assert found.model == read(tmp_path, GOOD).model
    broken = body.replace("0 1 0", "0 1")
    (tmp_path / "parts" / "body.xml").write_text(
        f"<mujocoinclude>\n<body{broken}</body></mujocoinclude>"
    )
    with pytest.raises(ModelError, match=r'parts.body.xml: line 3, <joint> "hinge"'):
        read(tmp_path, head + '<include file="parts/body.xml"/>' + tail)


def test_a_link_of_the_folder_to_outside_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "secret.xml"
    outside.write_text("<mujocoinclude/>")
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "link.xml").symlink_to(outside)
    with pytest.raises(ModelError, match="outside the model's folder"):
        read(inside, changed("<worldbody>", '<worldbody><include file="link.xml"/>'))


def test_names_are_made_up_and_slashes_replaced(tmp_path: Path) -> None:
    text = GOOD.replace('name="pole"', 'name="robot/pole"').replace(' name="rod"', "")
    text = text.replace("<worldbody>", '<worldbody><geom name="geom1" size="1"/>')
    model = read(tmp_path, text).model
    (link,) = model.actors[0].links
    assert link.name == "robot:pole"
    assert link.shapes[0].name == "geom2"


def test_contacts_limits_and_gravity_can_be_off(tmp_path: Path) -> None:
    text = GOOD.replace('axis="0 1 0"', 'range="0 90"').replace(
        '<option timestep="0.01"/>',
        '<option><flag contact="disable" limit="disable" gravity="disable"/></option>',
    )
    model = read(tmp_path, text).model
    link = model.actors[0].links[0]
    assert model.gravity == (0.0, 0.0, 0.0)
    assert link.joint.limits is None
    assert (link.shapes[0].group, link.shapes[0].mask) == (0, 0)


def test_all_masses_scale_to_the_total_asked_for(tmp_path: Path) -> None:
    plain = read(tmp_path, GOOD).model.actors[0].links[0]
    scaled = read(tmp_path, changed("autolimits", 'settotalmass="7" autolimits'))
    link = scaled.model.actors[0].links[0]
    assert link.mass == pytest.approx(7.0)
    assert link.inertia[0] == pytest.approx(plain.inertia[0] * 7.0 / plain.mass)


@given(st.binary(max_size=4), st.integers(0, len(GOOD)))
def test_damage_is_an_error_or_another_document(junk: bytes, place: int) -> None:
    data = GOOD.encode()
    try:
        root = parse(data[:place] + junk + data[place + len(junk) :], "model.xml")
    except ModelError:
        return
    assert root.tag
