"""Tagging schemes: how the tags of single words mark phrases (spans, chunks).

    iob2  (bio)    B begins a phrase, I goes on, O is outside
    iob1  (iob)    I begins and goes on; B only where a phrase follows another of its type at once
    ioe2, ioe1     the same from the other end, with E
    iobes (bioes, bilou, bmes)   B, I, E for the beginning, the inside and the end; S for a phrase of one word
    be             B and E for the ends, BE for a phrase of one word, O for all else, also inside (Li ch. 1)

A tag is a letter, or a letter, a hyphen and the type of the phrase: B-PER. A phrase is (type, first, last), with
both ends included, and the type "" where tags have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method

SCHEMES = ("iob1", "iob2", "ioe1", "ioe2", "iobes", "be")
# Other names, with the letters that they use for I, E and S.
ALIASES: dict[str, tuple[str, str]] = {
    "iob": ("iob1", "IES"),
    "bio": ("iob2", "IES"),
    "ioe": ("ioe1", "IES"),
    "bioes": ("iobes", "IES"),
    "bilou": ("iobes", "ILU"),
    "bmes": ("iobes", "MES"),
    "bmewo": ("iobes", "MEW"),
}
LETTERS = {"M": "I", "L": "E", "U": "S", "W": "S"}


class Span(NamedTuple):
    """A phrase: its type, its first and its last word."""

    type: str
    first: int
    last: int


@method(
    zh="由标记序列得到短语",
    task="sequence labelling",
    model="tags B, I, E, S, O of single words → phrases (type, first, last)",
    texts=["Li ch. 1, 1.9.2"],
    peers=["seqeval.scheme"],
)
def tags_to_spans(tags: Sequence[Any], scheme: str | None = None, *, strict: bool = False) -> list[Span]:
    """The phrases that the tags of one sequence mark.

    Parameters
    ----------
    tags : sequence of str
        The tags of one sequence.
    scheme : str, optional
        One of "iob1", "iob2", "ioe1", "ioe2", "iobes", "be" or another name of these ("bio", "bilou" ...). Without
        one, the letters decide; then only "be", whose tags mean something else, is told apart.
    strict : bool, default=False
        Take only phrases that are marked as the scheme says. Otherwise a phrase that begins or ends with a wrong
        letter counts too, by the rules of the CoNLL evaluation script.

    Returns
    -------
    list of Span, in order

    Examples
    --------
    >>> tags_to_spans("O B E O BE".split(), "be")
    [Span(type='', first=1, last=2), Span(type='', first=4, last=4)]
    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(type='PER', first=0, last=1), Span(type='LOC', first=3, last=3)]
    >>> tags_to_spans(["B-PER", "I-PER", "O", "I-LOC"], "iob2", strict=True)
    [Span(type='PER', first=0, last=1)]
    """
    parts = [_split(tag) for tag in tags]
    if scheme is None and strict:
        scheme = guess_scheme([tags])
    chosen = _resolve_scheme(scheme)[0] if scheme is not None else None
    if chosen == "be" or (chosen is None and any(letter == "BE" for letter, _ in parts)):
        return _spans_between_brackets(parts, strict)
    found = []
    first = -1
    for k in range(len(parts) + 1):
        before = parts[k - 1] if k else ("O", "")
        here = parts[k] if k < len(parts) else ("O", "")
        if first >= 0 and _ends(before, here):
            found.append(Span(before[1], first, k - 1))
            first = -1
        if _begins(before, here):
            first = k
    if not strict or chosen is None:
        return found
    return [span for span in found if _well_formed(span, parts, chosen)]


def _begins(before: tuple[str, str], here: tuple[str, str]) -> bool:
    letter, kind = here
    if letter == "O":
        return False
    return letter in "BS" or before[0] in "OES" or before[1] != kind


def _ends(before: tuple[str, str], here: tuple[str, str]) -> bool:
    return before[0] in "ES" or here[0] in "OBS" or before[1] != here[1]


def _well_formed(span: Span, parts: list[tuple[str, str]], scheme: str) -> bool:
    """Whether a phrase has exactly the letters of its scheme."""
    kind, first, last = span
    letters = [letter for letter, _ in parts[first : last + 1]]
    follows_same_type = first > 0 and parts[first - 1][0] != "O" and parts[first - 1][1] == kind
    precedes_same_type = last + 1 < len(parts) and parts[last + 1][0] != "O" and parts[last + 1][1] == kind
    return letters == _span_letters(last - first + 1, scheme, follows_same_type, precedes_same_type)


def _span_letters(length: int, scheme: str, follows_same_type: bool, precedes_same_type: bool) -> list[str]:
    """The letters of a phrase that follows, or precedes, a phrase of its own type without a gap."""
    inside = ["I"] * length
    if scheme == "iobes":
        return ["S"] if length == 1 else ["B", *inside[2:], "E"]
    if scheme == "be":
        return ["BE"] if length == 1 else ["B", *["O"] * (length - 2), "E"]
    if scheme == "iob2" or (scheme == "iob1" and follows_same_type):
        return ["B", *inside[1:]]
    if scheme == "ioe2" or (scheme == "ioe1" and precedes_same_type):
        return [*inside[1:], "E"]
    return inside


def _spans_between_brackets(parts: list[tuple[str, str]], strict: bool) -> list[Span]:
    """Phrases between B and E. One end without the other is a phrase of one word, or with `strict` none."""
    found: list[Span] = []
    opened = -1
    for k, (letter, kind) in enumerate(parts):
        if letter == "O":
            continue
        if opened >= 0 and (letter != "E" or kind != parts[opened][1]):  # a B that nothing closes
            found += [] if strict else [Span(parts[opened][1], opened, opened)]
            opened = -1
        if letter == "B":
            opened = k
        elif letter == "E" and opened >= 0:
            found.append(Span(kind, opened, k))
            opened = -1
        elif letter in ("BE", "S") or not strict:
            found.append(Span(kind, k, k))
    if opened >= 0 and not strict:
        found.append(Span(parts[opened][1], opened, opened))
    return found


@method(
    zh="由短语得到标记序列",
    task="sequence labelling",
    model="phrases (type, first, last) → tags B, I, E, S, O of single words",
    texts=["Li ch. 1, 1.9.2"],
)
def spans_to_tags(phrases: Iterable[tuple[str, int, int]], n: int, scheme: str = "iob2") -> list[str]:
    """The tags of a sequence of n words that mark given phrases: the inverse of `tags_to_spans`.

    Examples
    --------
    >>> spans_to_tags([("PER", 0, 1), ("PER", 2, 2)], 4, "iob1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    >>> spans_to_tags([("", 0, 2)], 4, "bilou")
    ['B', 'I', 'L', 'O']
    """
    chosen, letters = _resolve_scheme(scheme)
    ordered = sorted((Span(*phrase) for phrase in phrases), key=lambda span: span.first)
    tags = ["O"] * n
    end = -1
    for k, span in enumerate(ordered):
        if not 0 <= span.first <= span.last < n:
            raise ValueError(f"The phrase {tuple(span)} is not inside a sequence of {n} words.")
        if span.first <= end:
            raise ValueError(f"The phrase {tuple(span)} overlaps the one before it, which ends at {end}.")
        follows_same_type = k > 0 and end == span.first - 1 and ordered[k - 1].type == span.type
        end = span.last
        precedes_same_type = (
            k + 1 < len(ordered) and ordered[k + 1].first == end + 1 and ordered[k + 1].type == span.type
        )
        for at, letter in enumerate(
            _span_letters(end - span.first + 1, chosen, follows_same_type, precedes_same_type), span.first
        ):
            if letter != "O":
                written = letters["IES".index(letter)] if letter in "IES" and chosen == "iobes" else letter
                tags[at] = f"{written}-{span.type}" if span.type else written
    return tags


def convert_scheme(tags: Sequence[Any], to: str, scheme: str | None = None) -> list[str]:
    """Tags of one sequence in another scheme.

    Examples
    --------
    >>> convert_scheme(["B-PER", "I-PER", "O"], "iobes")
    ['B-PER', 'E-PER', 'O']
    """
    return spans_to_tags(tags_to_spans(tags, scheme), len(tags), to)


@method(
    zh="合法标记转移",
    task="sequence labelling",
    model="which tags a sequence may begin and end with, and which may follow which",
    texts=["Li ch. 1, 1.9.2"],
)
def allowed_transitions(labels: Sequence[Any], scheme: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transitions between tags that a scheme allows, for decoding that gives only well-formed phrases.

    Parameters
    ----------
    labels : sequence of str
        The tags there are.
    scheme : str
        The scheme, as for `tags_to_spans`.

    Returns
    -------
    start, follow, end : boolean arrays of shapes (n,), (n, n) and (n,)
        Whether a sequence may begin with a tag, whether the second may follow the first, whether it may end.

    Examples
    --------
    >>> start, follow, end = allowed_transitions(["B-X", "I-X", "O"], "iob2")
    >>> start.tolist(), follow[2].tolist()
    ([True, False, True], [True, False, True])
    """
    chosen = _resolve_scheme(scheme)[0]
    parts = [_split(label) for label in labels]
    outside = ("O", "")
    start = np.array([_may_follow(outside, part, chosen) for part in parts], dtype=bool)
    end = np.array([_may_follow(part, outside, chosen, last=True) for part in parts], dtype=bool)
    follow = np.array([[_may_follow(a, b, chosen) for b in parts] for a in parts], dtype=bool)
    if chosen == "be":  # what an O is inside of does not show in pairs of tags; at the ends it does
        start &= np.array([letter != "E" for letter, _ in parts], dtype=bool)
    return start, follow.reshape(len(parts), len(parts)), end


def _may_follow(a: tuple[str, str], b: tuple[str, str], scheme: str, last: bool = False) -> bool:
    same = a[1] == b[1]
    if scheme == "iob2":
        return b[0] != "I" or (a[0] in "BI" and same)
    if scheme == "iob1":
        return b[0] != "B" or (a[0] in "BI" and same)
    if scheme == "ioe2":
        return a[0] != "I" or (b[0] in "IE" and same)
    if scheme == "ioe1":
        return a[0] != "E" or (b[0] in "IE" and same)
    if scheme == "iobes":
        return (b[0] in "IE" and same) if a[0] in "BI" else b[0] in "OBS"
    if a[0] == "B":
        return not last and (b[0] == "O" or (b[0] == "E" and same))
    return b[0] != "E" or a[0] == "O"


def guess_scheme(sequences: Iterable[Sequence[Any]]) -> str:
    """The scheme of tagged sequences, by the letters they use and where.

    Where both would do ("iob1" and "iob2" of phrases that never show the difference), the one that begins every
    phrase with a B, or ends it with an E, is said.

    Examples
    --------
    >>> guess_scheme([["B-PER", "I-PER", "O"], ["S-LOC"]])
    'iobes'
    """
    parts = [[_split(tag) for tag in tags] for tags in sequences]
    letters = {letter for tags in parts for letter, _ in tags}
    if "BE" in letters or (letters == {"B", "E", "O"}):
        return "be"
    if "S" in letters or {"B", "E"} <= letters:
        return "iobes"
    if "E" in letters:
        return "ioe2" if _all_allowed(parts, "ioe2") else "ioe1"
    if "B" in letters:
        return "iob2" if _all_allowed(parts, "iob2") else "iob1"
    if "I" in letters:
        return "iob1"
    raise ValueError(
        f"Tags of {sorted(letters)} alone do not tell a scheme; give one of {', '.join(SCHEMES)}."
    )


def _all_allowed(parts: list[list[tuple[str, str]]], scheme: str) -> bool:
    outside = ("O", "")
    return all(
        _may_follow(a, b, scheme)
        for tags in parts
        for a, b in zip([outside, *tags], [*tags, outside])
        if scheme != "ioe2" or a[0] != "O"
    )


def _split(tag: Any) -> tuple[str, str]:
    letter, _, kind = str(tag).partition("-")
    letter = LETTERS.get(letter, letter)
    if letter not in ("B", "I", "E", "S", "O", "BE"):
        raise ValueError(
            f"The tag {tag!r} is of no scheme; tags are O, or B, I, E, S (L, U, M, W) or BE, with a type after "
            f"a hyphen or without: B-PER, I."
        )
    return letter, kind if letter != "O" else ""


def _resolve_scheme(scheme: str) -> tuple[str, str]:
    name = scheme.lower()
    if name in SCHEMES:
        return name, "IES"
    if name in ALIASES:
        return ALIASES[name]
    raise ValueError(f"scheme must be one of {', '.join([*SCHEMES, *ALIASES])}; got {scheme!r}.")
