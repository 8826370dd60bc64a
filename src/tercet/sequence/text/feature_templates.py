"""Feature templates of CRF++ (特征模板): from the columns of a token and its neighbours to named features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tercet.core.catalog import method
from tercet.sequence.text.attributes import BigramAttribute

MACRO = re.compile(r"%x\[\s*(-?\d+)\s*,\s*(\d+)\s*\]")


class Template(NamedTuple):
    """One template: words, and between them cells (row, column) relative to the token.

    Attributes
    ----------
    words : tuple of str
        What stands before, between and after the cells.
    cells : tuple of (int, int)
        Row, counted from the token at hand, and column of each %x[row,column].
    """

    words: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]


class FeatureTemplates(TransformerMixin, BaseEstimator):
    """Templates that turn sentences of columns into sentences of named features, as `CRF` takes them.

    A line such as ``U05:%x[-1,0]/%x[0,1]`` gives each token the feature "U05:" + column 0 of the token before +
    "/" + column 1 of the token itself. Beyond the ends of a sentence a cell reads _B-1, _B-2 ... and _B+1,
    _B+2 ... Lines with B are about pairs of neighbouring labels: a plain ``B`` stands for a weight for each pair,
    which `CRF` has by itself; a B with cells, such as ``B0:%x[0,0]``, gives a token a feature that has a weight for
    each pair of its label and the one before it, if it is given to ``CRF(transition_attributes="B*")``. Empty lines
    and those that begin with # say nothing.

    Parameters
    ----------
    templates : str or list of str
        The text of a template file, or its lines.

    Attributes
    ----------
    unigram_ : list of Template
        The templates of lines with U.
    bigram_ : list of Template
        The templates of lines with B that have cells.
    transitions_ : bool
        Whether there is a plain B.

    Examples
    --------
    >>> templates = FeatureTemplates(["# word, and word with tag", "U0:%x[-1,0]", "U1:%x[0,0]/%x[0,1]", "B"])
    >>> templates.transform([[("the", "DT"), ("cat", "NN")]])
    [[['U0:_B-1', 'U1:the/DT'], ['U0:the', 'U1:cat/NN']]]
    """

    def __init__(self, templates: str | Sequence[str]) -> None:
        self.templates = templates

    @classmethod
    def read(cls, file: str | PathLike[str]) -> Self:
        """The templates of a file (UTF-8)."""
        return cls(Path(file).read_text(encoding="utf-8"))

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the templates; there is nothing to learn.

        Parameters
        ----------
        X : ignored
        y : ignored

        Returns
        -------
        self
        """
        self.unigram_, self.bigram_, self.transitions_ = parse_templates(self.templates)
        return self

    def transform(self, X: Iterable[Any]) -> list[list[list[str]]]:
        """The features of every token.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of tokens or a table with a row for each; a token is a list of its columns, or a
            string where there is only one column.

        Returns
        -------
        features : list of sentences, each a list of tokens, each a list of strings
        """
        unigram, bigram, _ = parse_templates(self.templates)
        return [_features(unigram, bigram, sentence, number) for number, sentence in enumerate(X)]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


@method(
    zh="特征模板",
    task="sequence labelling",
    model="f(y_i, x, i) = [the template's text at i is v, and y_i = l]",
    texts=["Li ch. 11, 11.2.2"],
    peers=["CRF++ template file"],
)
def apply_templates(templates: str | Sequence[str], X: Iterable[Any]) -> list[list[list[str]]]:
    """Named features of all tokens by the templates of CRF++.

    Parameters
    ----------
    templates : str or list of str
        The text of a template file, or its lines; see `FeatureTemplates`.
    X : list of sentences
        A sentence is a list of tokens, a token a list of its columns, or a string where there is only one.

    Returns
    -------
    features : list of sentences, each a list of tokens, each a list of strings

    Examples
    --------
    >>> apply_templates("U:%x[0,0]\\nU:%x[1,0]", [["he", "sleeps"]])
    [[['U:he', 'U:sleeps'], ['U:sleeps', 'U:_B+1']]]
    """
    return FeatureTemplates(templates).fit_transform(X)


def parse_templates(templates: str | Sequence[str]) -> tuple[list[Template], list[Template], bool]:
    """The templates of lines with U, those of lines with B and cells, and whether there is a plain B; an error
    names the line that is wrong.

    Examples
    --------
    >>> parse_templates(["U7:%x[-2,1]", "B"])
    ([Template(words=('U7:', ''), cells=((-2, 1),))], [], True)
    """
    if not isinstance(templates, str | list | tuple) or not all(isinstance(line, str) for line in templates):
        raise ValueError(f"templates must be the text of a file, or a list of its lines; got {templates!r}.")
    lines = templates.splitlines() if isinstance(templates, str) else templates
    unigram, bigram, transitions = [], [], False
    for number, given in enumerate(lines, 1):
        line = given.strip()
        if not line or line.startswith("#"):
            continue
        template = _parsed(line, number)
        if line[0] == "U":
            unigram.append(template)
        elif template.cells:
            bigram.append(template)
        else:
            transitions = True
    if not unigram and not bigram:
        raise ValueError(
            "The templates have no line with U, and none with B and cells: tokens would have no features."
        )
    return unigram, bigram, transitions


def _parsed(line: str, number: int) -> Template:
    if line[0] not in "UB":
        raise ValueError(f"Line {number} of the templates must begin with U, B or #; got {line!r}.")
    parts = MACRO.split(line)
    words, cells = tuple(parts[::3]), tuple(zip(map(int, parts[1::3]), map(int, parts[2::3])))
    if any("%" in word for word in words):
        raise ValueError(f"Line {number} of the templates, {line!r}: cells are written %x[row,column].")
    return Template(words, cells)


def _features(unigram: list[Template], bigram: list[Template], sentence: Any, number: int) -> list[list[str]]:
    """The features of each token of a sentence."""
    columns = _columns(sentence, number)
    n = len(sentence)
    cells, made = {}, []
    for k, template in enumerate([*unigram, *bigram]):
        texts = [template.words[0]] * n
        for (row, column), word in zip(template.cells, template.words[1:]):
            if column >= len(columns):
                raise ValueError(
                    f"The template {_written(template)!r} asks for column {column}; the tokens of sentence "
                    f"{number} have {len(columns)}, counted from 0."
                )
            if (row, column) not in cells:
                cells[row, column] = _shifted(columns[column], row, n)
            texts = [text + cell + word for text, cell in zip(texts, cells[row, column])]
        made.append(texts if k < len(unigram) else list(map(BigramAttribute, texts)))
    return [list(token) for token in zip(*made)]


def _written(template: Template) -> str:
    cells = [f"%x[{row},{column}]" for row, column in template.cells]
    return "".join(text for pair in zip(template.words, [*cells, ""]) for text in pair)


def _columns(sentence: Any, number: int) -> list[list[str]]:
    """The columns of a sentence as lists of strings."""
    if hasattr(sentence, "to_numpy"):
        sentence = sentence.to_numpy()
    tokens: list[Any] = [
        [token] if isinstance(token, str) or not np.iterable(token) else token for token in sentence
    ]
    widths = {len(token) for token in tokens}
    if not tokens:
        raise ValueError(f"Sentence {number} is empty; every sentence needs a token.")
    if len(widths) > 1:
        raise ValueError(f"All tokens of sentence {number} must have as many columns; got {sorted(widths)}.")
    return [list(map(str, column)) for column in zip(*tokens)]


def _shifted(column: list[str], row: int, n: int) -> list[str]:
    """What stands `row` tokens further on; beyond the ends _B-1, _B-2 ... or _B+1, _B+2 ..."""
    if row < 0:
        return [f"_B{i}" for i in range(row, 0)[:n]] + column[: max(n + row, 0)]
    return column[row:] + [f"_B+{k}" for k in range(max(row - n, 0) + 1, row + 1)]


__all__ = ["FeatureTemplates", "Template", "apply_templates", "parse_templates"]
