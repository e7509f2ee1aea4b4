"""Matching what somebody types against what there is: letters in order, best first.

No Qt. A query matches a text if its characters occur in it in this order; the score
says how well, so that ``"st"`` finds *step* before *list*. Words of a query, parted by
blanks, are matched one by one, in any order.
"""

from __future__ import annotations

_BREAKS = " /._-:·"
# What a character is worth in a run, and what the place of a run adds.
_LETTER, _FIRST, _WORD, _HUMP, _WHOLE = 6.0, 12.0, 9.0, 5.0, 4.0
_LATE = 0.15  # a match further on counts less
_SCATTERED = 0.4  # of what the same letters were worth together


def score(query: str, text: str) -> float | None:
    """How well the query matches, higher is better; None if it doesn't.

    A found run of characters counts more than scattered ones, the beginning of the
    text and of a word more than its inside, and a shorter text more than a longer one.
    """
    total = 0.0
    low = text.lower()
    for word in query.lower().split():
        found = _word_score(word, low, text)
        if found is None:
            return None
        total += found
    return total - 0.01 * len(text)


def _word_score(word: str, low: str, text: str) -> float | None:
    at, together = low.find(word), None
    while at >= 0:
        found = _LETTER * len(word) + _place(text, at) - _LATE * at
        end = at + len(word)
        if _place(text, at) and (end == len(text) or text[end] in _BREAKS):
            found += _WHOLE
        together = found if together is None else max(together, found)
        at = low.find(word, at + 1)
    return together if together is not None else _scattered(word, low, text)


def _scattered(word: str, low: str, text: str) -> float | None:
    total, at, last = 0.0, -1, -2
    for letter in word:
        at = low.find(letter, at + 1)
        if at < 0:
            return None
        total += _LETTER if at == last + 1 else 0.5 * _place(text, at)
        total -= _LATE * (at - last - 1)
        last = at
    return _SCATTERED * total - _LETTER


def _place(text: str, at: int) -> float:
    """What it is worth to begin here: at the front, at a word, at a hump of one."""
    if at == 0:
        return _FIRST
    before, here = text[at - 1], text[at]
    if before in _BREAKS:
        return _WORD
    return _HUMP if here.isupper() and before.islower() else 0.0


def best(
    query: str, texts: list[str], limit: int, names: list[str] | None = None
) -> list[int]:
    """Indices of the texts that match, best first, at most `limit`.

    What is called just so comes first; `names` says how each text's is called, where
    it says more than its name.

    An empty query matches all, in their order; so do equal scores keep it.
    """
    if not query.strip():
        return list(range(min(limit, len(texts))))
    asked = " ".join(query.lower().split())
    other = [" ".join(name.lower().split()) != asked for name in names or texts]
    scored = [
        (other[at], -found, at)
        for at, text in enumerate(texts)
        if (found := score(query, text)) is not None
    ]
    scored.sort()
    return [at for *_, at in scored[:limit]]
