"""The dialect of delimited text (delimiter, quotes, header), detected from its first lines."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tercet.core.messages import Message
from tercet.datasets.readers.missing_markers import MISSING
from tercet.datasets.readers.record_scan import Grammar
from tercet.datasets.readers.table import listed
from tercet.datasets.readers.table_format import TableFormat

NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
WHOLE = re.compile(r"[+-]?\d+")
DATE = re.compile(r"\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}日?([ T]\d{1,2}:\d{2}.*)?")
YEAR = re.compile(r"(1[89]|2[01])\d\d")
LINES = 1000
SINGLE_COLUMN = Grammar("\x01")  # a delimiter that no file has


@dataclass(frozen=True)
class Dialect:
    """The grammar of the records, and where they begin.

    `names` are the header's; None: there is no header. `fields` counts those of a data row. `skip` are the
    lines before the header or the first row, among them a `title`; `units` those that follow the header and
    are no data; `trailing`: every row ends with one delimiter too many.
    """

    grammar: Grammar
    fields: int
    names: tuple[str, ...] | None
    skip: int = 0
    comments: int = 0
    trailing: bool = False
    runs: bool = False
    title: str = ""
    units: tuple[str, ...] = ()

    def notes(self) -> list[Message]:
        """What was decided."""
        said = []
        if self.comments:
            said.append(Message("comment lines skipped at the top: {n}", n=self.comments))
        if self.title:
            said.append(Message("a title above the header is skipped: {text!r}", text=self.title[:60]))
        if self.units:
            said.append(
                Message(
                    "lines below the header are no data and are skipped: {lines}", lines=listed(self.units, 3)
                )
            )
        if self.fields > 1 and self.grammar.delimiter in NAMES:
            said.append(
                Message(
                    "delimiter: {delimiter}",
                    delimiter=Message("runs of spaces" if self.runs else NAMES[self.grammar.delimiter]),
                )
            )
        if self.grammar.quote == "'":
            said.append(Message("fields are quoted by {quote}", quote="'"))
        if self.grammar.escape:
            said.append(Message("a backslash before a quote or delimiter escapes it"))
        if self.trailing:
            said.append(Message("rows end with a delimiter, which makes no column"))
        if self.names is None:
            said.append(
                Message("no header: the first row looks like the others; columns are column_1, column_2, ...")
            )
        return said


def rows_of(text: str, grammar: Grammar, most: int | None = None) -> list[list[str]]:
    """The records of a text that are not blank."""
    rows: list[list[str]] = []
    for row in reader([line + "\n" for line in text.split("\n")], grammar):
        if row and (len(row) > 1 or row[0] == "" or row[0].strip(" ")):
            rows.append(row)
            if most is not None and len(rows) >= most:
                break
    return rows


def reader(lines: Iterable[str], grammar: Grammar) -> Iterator[list[str]]:
    """Python's csv reader with this grammar."""
    return csv.reader(
        lines,
        delimiter=grammar.delimiter,
        quotechar=grammar.quote or None,
        quoting=csv.QUOTE_MINIMAL if grammar.quote else csv.QUOTE_NONE,
        escapechar=grammar.escape or None,
        skipinitialspace=grammar.spaces,
    )


def detect_dialect(text: str, complete: bool, like: TableFormat | None = None) -> Dialect:
    """The dialect of a text of which this is the beginning (or all: `complete`).

    The columns of a file that it is `like` tell whether the first row has their names.
    """
    lines = text.split("\n")
    if not complete and len(lines) > 1:
        lines.pop()  # may be cut
    lines = [line + "\n" for line in lines]
    skip, comments, asked = _preamble(lines)
    lines = lines[skip : skip + LINES]
    grammar = _grammar(lines, asked)
    runs = grammar.delimiter == " "
    if runs:
        lines = _without_tabs(lines, grammar)
    rows = rows_of("".join(lines), grammar)
    title = _title(rows)
    if title:
        skip, rows = skip + _lines_of_title(lines), rows[1:]
    if not complete and len(rows) > 2 and grammar.quote:
        rows.pop()  # a quoted field may go on beyond the sample
    if not rows:
        return Dialect(grammar, 0, None, skip, comments)
    first, body = rows[0], rows[1:]
    fields = Counter(len(row) for row in body or rows).most_common(1)[0][0]
    regular = [row for row in body if len(row) == fields]
    trailing = _ends_with_delimiter(first, regular, fields)
    if not _has_header(first, fields - trailing, regular, like):
        return Dialect(grammar, fields, None, skip, comments, trailing, runs, title)
    if len(first) not in (fields, fields - trailing):
        fields, trailing = len(first), False  # ragged: the header says how it ought to be
    names = tuple(name.strip() for name in first[: fields - trailing])
    return Dialect(grammar, fields, names, skip, comments, trailing, runs, title, _units(rows, fields))


def _preamble(lines: list[str]) -> tuple[int, int, str]:
    """Lines before the table, how many of them are comments, and the delimiter that a line `sep=` asks for."""
    skip, comments = 0, 0
    while skip < len(lines) and (lines[skip].startswith("#") or not lines[skip].strip()):
        comments += lines[skip].startswith("#")
        skip += 1
    if skip < len(lines) and (found := re.fullmatch(r'"?sep=(.)"?\s*', lines[skip])):  # Excel writes it
        return skip + 1, comments, found[1]
    return skip, comments, ""


def _lines_of_title(lines: list[str]) -> int:
    """How many lines there are up to the header below a title."""
    gone = next(k for k, line in enumerate(lines) if line.strip()) + 1
    return gone + next(k for k, line in enumerate(lines[gone:]) if line.strip())


def _ends_with_delimiter(first: list[str], regular: list[list[str]], fields: int) -> bool:
    """Whether all rows end with a delimiter: a last column without a name or a value is no column."""
    if not regular or fields <= 2 or not all(row[-1].strip() == "" for row in regular):
        return False
    return len(first) == fields - 1 or (len(first) == fields and not first[-1].strip())


def _has_header(first: list[str], width: int, regular: list[list[str]], like: TableFormat | None) -> bool:
    """Whether the first row is a header; one with columns of a file that this one is `like` is."""
    named = _is_header(first[:width], regular)
    if like is None or like.header is None:
        return named
    return any(name.strip() in like.columns for name in first) or (named and like.header)


def _grammar(lines: list[str], asked: str) -> Grammar:
    text = "".join(lines)
    best, best_score = SINGLE_COLUMN, _score(lines, SINGLE_COLUMN)
    for delimiter in [asked] if asked in NAMES else NAMES:
        if delimiter not in text:
            continue
        # Blanks after nearly every delimiter are for the eye.
        spaced = text.count(delimiter + " ") > 0.9 * text.count(delimiter)
        for quote in '"', "'":
            if quote == "'" and "'" not in text:
                continue
            escapes = ["", "\\"] if "\\" + quote in text else [""]
            if re.search(rf"\\{quote}[^{quote}{re.escape(delimiter)}\r\n]", text):  # not "C:\folder\",
                escapes.reverse()
            for escape in escapes:
                grammar = Grammar(delimiter, quote, escape, spaces=spaced or delimiter == " ")
                score = _score(lines, grammar)
                # The likely comes first: another must be better; a delimiter wins over none.
                equal = score == best_score and (best == SINGLE_COLUMN or _is_finer(lines, grammar, best))
                if score > best_score or equal:
                    best, best_score = grammar, score
    return best


def _is_finer(lines: list[str], grammar: Grammar, other: Grammar) -> bool:
    """Whether blanks part what tabs alone leave together, as where both align the columns.

    Then all cells are values, or in nearly every line a cell between tabs has several values or runs of blanks.
    """
    if grammar.delimiter != " " or other.delimiter != "\t":
        return False
    body = rows_of("".join(_without_tabs(lines, grammar)), grammar, most=300)[1:]
    if not body or all(_is_value(cell) for row in body for cell in row):
        return bool(body)
    coarse = rows_of("".join(lines), other, most=300)[1:]
    return sum(any(map(_has_columns, row)) for row in coarse) > 0.9 * len(coarse)


def _has_columns(cell: str) -> bool:
    """Whether a cell between tabs looks like several columns.

    Examples
    --------
    >>> [_has_columns(cell) for cell in ("0.5 1.5 yes", "0.5  yes", "5 kg", "New York", "2024-01-02 12:30")]
    [True, True, False, False, False]
    """
    cell = cell.strip()
    if _is_value(cell):
        return False
    return bool(re.search(r"\S  +\S", cell)) or sum(map(_is_value, cell.split())) > 1


def blanks_for_tabs(line: str, quote: str) -> str:
    """A line with a blank for every tab outside quotes: columns may be aligned by both.

    Examples
    --------
    >>> blanks_for_tabs('1\\t2 "a\\tb"', '"')
    '1 2 "a\\tb"'
    """
    if "\t" not in line:
        return line
    parts = line.split(quote) if quote else [line]
    # Every other part is inside quotes.
    return (quote or "").join(part if k % 2 else part.replace("\t", " ") for k, part in enumerate(parts))


def _without_tabs(lines: list[str], grammar: Grammar) -> list[str]:
    return [blanks_for_tabs(line.strip(" \t\r\n"), grammar.quote) + "\n" for line in lines]


def _score(lines: list[str], grammar: Grammar) -> float:
    """How regular the rows are under this grammar, times how clean their cells."""
    alone = grammar == SINGLE_COLUMN
    if grammar.delimiter == " ":
        lines = _without_tabs(lines, grammar)
    try:
        rows = rows_of("".join(lines), grammar, most=300)
    except csv.Error:
        return 0.0
    fields, times = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if not rows or (fields == 1 and not alone):
        return 0.0
    if grammar.delimiter == " " and times < len(rows):  # words of a text are no columns
        return 0.0
    others = [d for d in ",;\t|" if d != grammar.delimiter]
    # 1,5 is a number where the comma is no delimiter: not so under the header a,b.
    decimal = not alone or "," not in lines[0]
    cells = [cell.strip() for row in rows for cell in row]
    clean = 0
    for cell in cells:
        if decimal and (NUMBER.fullmatch(cell) or DATE.fullmatch(cell)):
            clean += 1
        elif cell[:1] not in ("'", '"') or cell[-1:] != cell[:1]:
            clean += not any(d in cell for d in others)
        else:
            clean -= 1  # quotes are left: not the right ones
    return times / len(rows) * clean / len(cells)


def _title(rows: list[list[str]]) -> str:
    """The first row, if it is none: shorter than the others or all but one cell empty, above a header."""
    if len(rows) < 3:
        return ""
    first, header = rows[0], rows[1]
    fields = len(header)
    body = [row for row in rows[2:] if len(row) == fields]
    filled = [cell for cell in first if cell.strip()]
    short = len(first) < fields or (len(filled) == 1 and fields > 2)
    words = all(cell.strip() and not _is_value(cell.strip()) for cell in header)
    if not (short and words and filled and len(body) > 0.9 * len(rows[2:])):
        return ""
    return " ".join(filled) if _is_header(header, body) else ""


def _units(rows: list[list[str]], fields: int) -> tuple[str, ...]:
    """Lines below the header with words over several columns of numbers, and nowhere a number: units, say."""
    top, body = rows[1:4], [row for row in rows[4:] if len(row) == fields]
    if len(body) < 5:
        return ()
    numeric = []
    for k in range(fields):
        cells = [cell for row in body if (cell := row[k].strip()) and cell.lower() not in MISSING]
        if cells and all(map(_is_value, cells)):
            numeric.append(k)
    found: list[str] = []
    for row in top:
        cells = [cell.strip() for cell in row]
        words = sum(map(_is_word, cells))
        over = [cells[k] for k in numeric if k < len(cells) and cells[k]]
        if len(row) != fields or len(over) < 2 or words < sum(map(bool, cells)):
            break
        found.append(" ".join(filter(None, cells)))
    return tuple(found)


def _is_word(cell: str) -> bool:
    """Neither empty, nor a mark for missing values, nor anything like a number."""
    return bool(cell) and cell.lower() not in MISSING and (cell[0].isalpha() or not re.search(r"\d", cell))


def _is_header(first: list[str], body: list[list[str]]) -> bool:
    """Whether the first row differs from the others as names differ from values."""
    cells = [cell.strip() for cell in first]
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    if not body:
        return not numbers
    words = repeated = 0
    for k, cell in enumerate(cells):
        values = [row[k].strip() for row in body if row[k].strip()]
        if not values or cell.lower() in MISSING:
            continue
        typed = sum(map(_is_value, values)) / len(values)
        if not _is_value(cell) and typed > (0.999 if numbers else 0.8):
            return True  # a word over numbers
        if not _is_value(cell) and typed < 0.5:
            words += 1
            repeated += cell in values
    if numbers and _distinct_years(numbers) and not repeated and words:
        places = [k for k, cell in enumerate(cells) if cell in numbers]
        under = [row[k].strip() for row in body for k in places]
        return sum(map(_is_year, under)) < 0.5 * len(under)
    if numbers:
        return _consecutive(numbers) and not _consecutive([v for v in body[0] if NUMBER.fullmatch(v.strip())])
    return not (words and repeated >= 0.5 * words)


def _is_value(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or DATE.fullmatch(cell))


def _is_year(cell: str) -> bool:
    return bool(YEAR.fullmatch(cell))


def _distinct_years(numbers: list[str]) -> bool:
    return len(set(numbers)) == len(numbers) and all(map(_is_year, numbers))


def _consecutive(numbers: list[str]) -> bool:
    """Names such as 0, 1, 2 ... or 1990, 1991 ..."""
    if len(numbers) < 3 or not all(WHOLE.fullmatch(n.strip()) for n in numbers):
        return False
    values = [int(n) for n in numbers]
    return all(b - a == 1 for a, b in itertools.pairwise(values))
