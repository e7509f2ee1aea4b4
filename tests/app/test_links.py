from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.app.links import ViewLink, format_link, is_link, parse_link
from isoscope.core.errors import UsageError
from isoscope.widgets.session import FieldRef

# Lone surrogates can't be written as UTF-8, in no link and in no path of ours.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
numbers = st.integers(0, 10**6)
fields = st.builds(FieldRef, st.none() | numbers, texts, st.none() | numbers)
links = st.builds(
    ViewLink,
    st.lists(texts, min_size=1, max_size=3).map(tuple),
    st.just("") | texts,
    st.just("") | texts,
    st.just("") | texts,
    st.none() | numbers,
    st.lists(numbers, max_size=4).map(tuple),
    st.lists(fields, max_size=4).map(tuple),
    st.none() | numbers,
)


@given(links)
def test_a_link_says_again_what_was_put_into_it(link: ViewLink):
    text = format_link(link)
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert is_link(text)
    assert parse_link(text) == link


def test_a_link_can_be_read_by_people():
    link = ViewLink(("/runs/a b.h5",), "native:12", "inspect", "dark")
    assert format_link(link) == (
        "isoscope:?file=/runs/a%20b.h5&at=native:12&layout=inspect&theme=dark"
    )


def test_unknown_keys_are_passed_over():
    assert parse_link("isoscope:?file=a.h5&later=1") == ViewLink(("a.h5",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://example.org", "not a link"),
        ("", "not a link"),
        ("isoscope:", "names no file"),
        ("isoscope:?at=native:1", "names no file"),
        ("isoscope:?file=a&actor=x", "actor=x is no number"),
        ("isoscope:?file=a&hide=-1", "hide=-1 is no number"),
        ("isoscope:?file=a&env=all", "env=all is no number"),
        ("isoscope:?file=a&hide=99999999999999999999", "is no number"),
        ("isoscope:?file=a&plot=vcom", "plot=vcom is not"),
        ("isoscope:?file=a&plot=1:2:", "is not ACTOR:COMPONENT:FIELD"),
        ("isoscope:?" + "file=a&" * 3000, "more than 2000 parts"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str):
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        parse_link(text)


@given(st.text(max_size=200))
def test_no_text_gives_anything_but_a_link_or_a_usage_error(text: str):
    try:
        parse_link("isoscope:?" + text)
    except UsageError:
        pass
