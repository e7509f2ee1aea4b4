from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.fuzzy import best, score


def first(query: str, *texts: str) -> str:
    return texts[best(query, list(texts), 1)[0]]


def test_the_beginning_of_a_word_beats_its_inside():
    assert first("st", "list", "step", "fast") == "step"


def test_a_whole_word_beats_a_part_of_one():
    assert first("pole omega", "CartPole · omega", "CartPole/Pole · omega") == (
        "CartPole/Pole · omega"
    )


def test_what_is_called_just_so_comes_first():
    names = ["Late · vcom", "Late · translationCom", "Late", "Latest"]
    texts = ["Late · vcom plot", "Late · translationCom plot", "Late actor rigid", ""]
    texts[3] = "Latest actor rigid"
    assert best("late", texts, 9, names)[0] == 2
    assert best(" LATE ", texts, 1, names) == [2]
    assert best("late vcom", texts, 1, names) == [0]


def test_letters_together_beat_letters_apart():
    assert first("loop", "long or open plan", "Loop") == "Loop"


def test_words_match_in_any_order():
    assert score("omega pole", "CartPole/Pole · omega") is not None


def test_what_is_not_in_it_does_not_match():
    assert score("xyz", "step") is None
    assert best("xyz", ["step", "list"], 5) == []


def test_an_empty_query_keeps_everything_in_order():
    assert best("", ["b", "a"], 5) == [0, 1]


@given(st.text(max_size=12), st.text(max_size=40))
def test_a_match_holds_every_letter_in_order(query: str, text: str):
    if score(query, text) is None:
        return
    for word in query.lower().split():
        at = -1
        for letter in word:
            at = text.lower().find(letter, at + 1)
            assert at >= 0


@given(st.text(min_size=1, max_size=30))
def test_a_text_matches_itself(text: str):
    assert score(text, text) is not None


@given(st.text(max_size=6), st.lists(st.text(max_size=12), max_size=12))
def test_best_gives_each_match_once(query: str, texts: list[str]):
    found = best(query, texts, 100)
    assert len(set(found)) == len(found)
    matching = {i for i, text in enumerate(texts) if score(query, text) is not None}
    assert set(found) == matching or not query.strip()
