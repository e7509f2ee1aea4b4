"""Matching what somebody types against what there is: letters in order, best first.

No Qt. A query matches a text if its characters occur in it in this order; the score
says how well, so that ``"st"`` finds *step* before *list*. Words of a query, parted by
blanks, are matched one by one, in any order.
"""

from __future__ import annotations

_START, _WORD, _RUN, _GAP, _PLAIN = 12.0, 8.0, 6.0, -0.15, 1.0
_BREAKS = " /._-:·"


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
    whole = low.find(word)
    if whole >= 0:
        # The best place for it as a whole is where a word begins.
        at = whole
        while at >= 0 and not _begins_word(text, at):
            at = low.find(word, at + 1)
        at = whole if at < 0 else at
        bonus = _START if at == 0 else _WORD if _begins_word(text, at) else 0.0
        return bonus + _RUN * len(word) + _GAP * at
    total, at, last = 0.0, -1, -1
    for letter in word:
        at = low.find(letter, at + 1)
        if at < 0:
            return None
        if last >= 0 and at == last + 1:
            total += 0.5 * _RUN
        elif _begins_word(text, at):
            total += 0.5 * _WORD
        else:
            total += _PLAIN + _GAP * (at - last - 1)
        last = at
    return total - _RUN  # scattered is always worse than the same letters together


def _begins_word(text: str, at: int) -> bool:
    if at == 0:
        return True
    before, here = text[at - 1], text[at]
    return before in _BREAKS or (here.isupper() and before.islower())


def best(query: str, texts: list[str], limit: int) -> list[int]:
    """Indices of the texts that match, best first, at most `limit`.

    An empty query matches all, in their order; so do equal scores keep it.
    """
    if not query.strip():
        return list(range(min(limit, len(texts))))
    scored = [
        (-found, at)
        for at, text in enumerate(texts)
        if (found := score(query, text)) is not None
    ]
    scored.sort()
    return [at for _, at in scored[:limit]]
