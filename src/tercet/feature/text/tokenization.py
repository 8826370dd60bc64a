"""Tokenization: words and n-grams of texts; Chinese, which has no blanks between words, by jieba or as bigrams."""

from __future__ import annotations

import functools
import importlib.util
import re
import unicodedata
from collections.abc import Callable, Iterable

_HAN = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)?")
_IS_HAN = re.compile(f"[{_HAN}]")
_HAS_LETTER = re.compile(r"[^\W_]")
_BLANKS = re.compile(r"\s\s+")
_TAGS = re.compile(r"<([^>]+)>")

# The words of Latin texts without a regular expression: whatever is no letter, digit or underscore is a blank.
_LATIN = [chr(byte) for byte in range(256)]
_AS_IS = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in _LATIN).encode("latin-1")
_LOWER = "".join(chr(byte).lower() for byte in _AS_IS).encode("latin-1")
LETTERS = tuple(letter for letter in _LATIN if letter.isalnum() or letter == "_")
_MARKS = "’‘“”–—…•€™‚„‹›−\u200b\ufeff"  # that are in many texts, and are no letters of Latin-1


def tokenize(text: str) -> list[str]:
    """The words of a text.

    Examples
    --------
    >>> tokenize("A tercet: 三行诗")
    ['a', 'tercet', '三行', '行诗']
    """
    found = []
    for run in _RUN.findall(text.lower()):
        if len(run) > 1 and _IS_HAN.match(run):
            found += [run[k : k + 2] for k in range(len(run) - 1)]
        else:
            found.append(run)
    return found


def length_in_words(text: str) -> float:
    """About how many words a reader would count: what stands between blanks, two Chinese characters as one."""
    han = len(_IS_HAN.findall(text))
    return len(text.split()) - (han > 0) + han / 2


def latin_words(text: str, lowercase: bool) -> list[str] | None:
    """The runs of letters, digits and underscores of a text in Latin-1; None where it has other letters.

    Examples
    --------
    >>> latin_words("L’Été: a_b, 3", True)
    ['l', 'été', 'a_b', '3']
    """
    try:
        letters = text.encode("latin-1")
    except UnicodeEncodeError:
        for mark in _MARKS:
            text = text.replace(mark, " ")
        try:
            letters = text.encode("latin-1")
        except UnicodeEncodeError:
            return None
    return letters.translate(_LOWER if lowercase else _AS_IS).decode("latin-1").split()


def has_jieba() -> bool:
    """Whether jieba, which finds the words of Chinese texts, is installed."""
    return importlib.util.find_spec("jieba") is not None


def segmented_words(text: str) -> list[str]:
    """The words of a Chinese text as jieba finds them, without blanks and punctuation."""
    import jieba

    return [word for word in jieba.lcut(text) if _HAS_LETTER.search(word)]


SEGMENTERS: dict[str, Callable[[str], list[str]]] = {"jieba": segmented_words, "bigrams": tokenize}


def word_ngrams(words: list[str], low: int, high: int) -> list[str]:
    """Runs of `low` to `high` words, the shorter ones first, joined by blanks.

    Examples
    --------
    >>> word_ngrams(["to", "be", "or"], 1, 2)
    ['to', 'be', 'or', 'to be', 'be or']
    """
    if (low, high) == (1, 1):
        return words
    found = list(words) if low == 1 else []
    for n in range(max(low, 2), min(high, len(words)) + 1):
        found += map(" ".join, zip(*(words[k:] for k in range(n))))
    return found


def character_ngrams(text: str, low: int, high: int) -> list[str]:
    """Runs of `low` to `high` characters, the shorter ones first; several blanks are one.

    Examples
    --------
    >>> character_ngrams("a tercet", 6, 7)
    ['a terc', ' terce', 'tercet', 'a terce', ' tercet']
    """
    text = _BLANKS.sub(" ", text)
    found = list(text) if low == 1 else []
    for n in range(max(low, 2), min(high, len(text)) + 1):
        found += [text[k : k + n] for k in range(len(text) - n + 1)]
    return found


def bounded_ngrams(text: str, low: int, high: int) -> list[str]:
    """Runs of `low` to `high` characters within words, which get a blank at each end.

    A word with its blanks that is shorter than n is counted once.

    Examples
    --------
    >>> bounded_ngrams("a tercet", 3, 3)
    [' a ', ' te', 'ter', 'erc', 'rce', 'cet', 'et ']
    """
    found: list[str] = []
    for word in text.split():
        found += _word_ngrams(word, low, high)
    return found


@functools.lru_cache(maxsize=1 << 14)  # the words of a language come again and again
def _word_ngrams(word: str, low: int, high: int) -> tuple[str, ...]:
    padded = f" {word} "
    longest = min(high, max(len(padded), low))
    return tuple(
        padded[k : k + n] for n in range(low, longest + 1) for k in range(max(len(padded) - n, 0) + 1)
    )


def strip_accents_unicode(s: str) -> str:
    """A text without its accents and other combining marks.

    Parameters
    ----------
    s : str
        The text.

    Returns
    -------
    s : str
        The text with base letters in the place of letters with accents; slower than `strip_accents_ascii`, but
        for all scripts.

    Examples
    --------
    >>> strip_accents_unicode("très bon")
    'tres bon'
    """
    if s.isascii():
        return s
    return "".join(letter for letter in unicodedata.normalize("NFKD", s) if not unicodedata.combining(letter))


def strip_accents_ascii(s: str) -> str:
    """A text in ASCII: letters without their accents, and nothing of other scripts.

    Parameters
    ----------
    s : str
        The text.

    Returns
    -------
    s : str
        The text; characters without a near relative in ASCII are left out.

    Examples
    --------
    >>> strip_accents_ascii("déjà vu 诗")
    'deja vu '
    """
    return unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode("ascii")


def strip_tags(s: str) -> str:
    """A text without HTML or XML tags, each replaced by a blank.

    Parameters
    ----------
    s : str
        The text. For serious HTML, use a parser.

    Returns
    -------
    s : str

    Examples
    --------
    >>> strip_tags("a <b>tercet</b>")
    'a  tercet '
    """
    return _TAGS.sub(" ", s)


def stop_word_set(stop_words: str | Iterable[str] | None) -> frozenset[str] | None:
    """Words to leave out, by the name of a list or as they are given; None where there are none."""
    if stop_words is None:
        return None
    if not isinstance(stop_words, str):
        return frozenset(stop_words)
    if stop_words != "english":
        raise ValueError(f"not a built-in stop list: {stop_words!r}; stop_words may be 'english' or a list.")
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return ENGLISH_STOP_WORDS
