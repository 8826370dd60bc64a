"""Files of tagged sentences: a word a line with its columns, an empty line between sentences (CoNLL)."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tercet.core.catalog import method

DOCUMENT = "-DOCSTART-"


@method(
    zh="CoNLL 格式读取",
    task="sequence labelling",
    model="lines of columns → sentences",
    texts=["Li ch. 1, 1.9.2"],
    peers=["nltk.corpus.reader.ConllCorpusReader"],
)
def read_conll(
    source: Any,
    *,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    form: Literal["conll", "conllu"] | None = None,
    encoding: str = "utf-8-sig",
) -> Any:
    """Read sentences from a file with a word in each line and an empty line after each sentence.

    Parameters
    ----------
    source : path, open text file or lines
        What to read.
    columns : tuple of int, optional
        The columns to give, counted from 0 or, with negative numbers, from the end.
    separator : str, optional
        What stands between columns; by default blanks or, where there is one, tabs. ("conllu": tabs.)
    form : {"conll", "conllu"}, optional
        "conllu" has comments that begin with #, and words with numbers such as 1-2 (several words written as one)
        or 1.1 (not written at all), which are left out. By default the file's name tells.
    encoding : str, default="utf-8-sig"
        Of a file that is given by its path.

    Returns
    -------
    list of sentences, or with `columns` a list of those for each column
        A sentence is a list of tuples, one for each word; with `columns`, for each column a list of its values.

    Examples
    --------
    >>> lines = ["Tercet NNP B-ORG", "reads VBZ O", "", "-DOCSTART- -X- O", "", "So RB O"]
    >>> words, tags = read_conll(lines, columns=(0, -1))
    >>> words, tags
    ([['Tercet', 'reads'], ['So']], [['B-ORG', 'O'], ['O']])
    """
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", "")
    if form is None:
        form = "conllu" if str(name).endswith(".conllu") else "conll"
    with _lines(source, encoding) as lines:
        sentences = list(_sentences(lines, str(name), separator, form))
    if columns is None:
        return sentences
    width = len(sentences[0][0]) if sentences else 0
    strange = [c for c in columns if sentences and not -width <= c < width]
    if strange:
        raise ValueError(f"columns: there is no column {strange[0]}; {name or 'the source'} has {width}.")
    return tuple([[row[c] for row in sentence] for sentence in sentences] for c in columns)


@method(
    zh="CoNLL 格式写出",
    task="sequence labelling",
    model="sentences → lines of columns",
    texts=["Li ch. 1, 1.9.2"],
)
def write_conll(
    target: Any, *columns: Sequence[Sequence[Any]], separator: str = " ", encoding: str = "utf-8"
) -> None:
    """Write sentences with a word in each line and an empty line after each sentence.

    Parameters
    ----------
    target : path or open text file
        Where to.
    *columns : lists of sequences
        The values of each column: for each sentence, one for each word. One list of sentences of tuples, as
        `read_conll` gives, is understood as well.
    separator : str, default=" "
        What to put between columns.
    encoding : str, default="utf-8"
        Of a file that is given by its path.

    Examples
    --------
    >>> import sys
    >>> write_conll(sys.stdout, [["Tercet", "reads"]], [["B-ORG", "O"]])
    Tercet B-ORG
    reads O
    <BLANKLINE>
    """
    text = "".join(_written(columns, separator))
    if hasattr(target, "write"):
        target.write(text)
    else:
        Path(target).write_text(text, encoding=encoding, newline="\n")


@contextlib.contextmanager
def _lines(source: Any, encoding: str) -> Iterator[Iterable[str]]:
    if isinstance(source, str | os.PathLike):
        with open(source, encoding=encoding) as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{os.fspath(source)} is not in the encoding {encoding}: {error}; give another."
                ) from error
    else:
        yield source


def _sentences(lines: Iterable[str], name: str, separator: str | None, form: str) -> Iterator[list[tuple]]:
    width = 0
    sentence: list[tuple] = []
    for number, line in enumerate(itertools.chain(lines, [""]), 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            if sentence:
                yield sentence
            sentence = []
            continue
        if form == "conllu" and line.startswith("#"):
            continue
        by = separator or ("\t" if form == "conllu" or "\t" in line else None)
        # Blanks alone: other kinds of space are part of words ("10\u00a0000").
        values = tuple(line.split(by) if by else re.split(" +", line.strip(" ")))
        if values[0] == DOCUMENT or (form == "conllu" and not values[0].isdigit()):
            continue
        width = width or len(values)
        if len(values) != width:
            raise ValueError(
                f"{name or 'The source'}, line {number}: {len(values)} columns where {width} are expected: "
                f"{line!r}."
            )
        sentence.append(values)


def _written(columns: Sequence[Sequence[Sequence[Any]]], separator: str) -> Iterator[str]:
    if not columns:
        raise ValueError("write_conll needs at least one column.")
    if len({len(column) for column in columns}) > 1:
        raise ValueError(
            f"The columns have {[len(column) for column in columns]} sentences; expected is one number."
        )
    for k, parts in enumerate(zip(*columns)):
        if len({len(part) for part in parts}) > 1:
            raise ValueError(f"Sentence {k} has {[len(part) for part in parts]} words in its columns.")
        for row in zip(*parts):
            if len(row) == 1 and isinstance(row[0], tuple):
                row = row[0]
            values = [str(value) for value in row]
            clashes = {"\n", "\r", separator}
            if separator.isspace():  # a reader who is not told tries tabs, then blanks
                clashes |= {"\t"} if "\t" in separator and len(values) > 1 else {"\t", " "}
            for value in values:
                if not value or any(clash in value for clash in clashes):
                    raise ValueError(
                        f"Sentence {k}: {value!r} cannot be a column between {separator!r}; "
                        f"choose another separator."
                    )
            yield separator.join(values) + "\n"
        yield "\n"
