"""CSV, TSV and their kin.

The first lines tell the dialect; one pass over the file checks every record; polars parses, with the types that
a sample suggests. What polars would read differently (escapes, odd quotes) Python's csv module parses instead.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers.damage import quiet_panics
from tercet.datasets.readers.dialect import (
    SINGLE_COLUMN,
    Dialect,
    blanks_for_tabs,
    detect_dialect,
    reader,
    rows_of,
)
from tercet.datasets.readers.encoding import encoding_note, to_utf8
from tercet.datasets.readers.number_parsing import GROUPED, number_pattern
from tercet.datasets.readers.record_scan import Grammar, RecordScan, read_records, scan_records
from tercet.datasets.readers.source_file import ReadRequest, SourceFile
from tercet.datasets.readers.table import Table, listed
from tercet.datasets.readers.table_format import TableFormat
from tercet.datasets.readers.type_inference import TypeInference

if TYPE_CHECKING:
    import polars as pl

SAMPLE = 1 << 18
WHOLE = re.compile(r"[+-]?\d{1,18}")
LONG = re.compile(r"[+-]?\d{19,}")  # a name, not a number
COMMA, POINTS = re.compile(number_pattern(",")), re.compile(GROUPED)
REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_text(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read delimited text."""
    path, begin, encoding = to_utf8(source)
    with path.open("rb") as file:
        file.seek(begin)
        head = file.read(SAMPLE)
        complete = len(head) < SAMPLE
    dialect = detect_dialect(head.decode("utf-8", errors="ignore"), complete, request.like)
    if dialect.fields == 0:
        raise source.error("there is nothing in the file but white space")
    notes = [encoding_note(encoding), *dialect.notes()]
    if dialect.runs:
        path, begin, dialect = _spaces_to_tabs(source, path, begin, dialect)
    begin, line, plain = _after_header(path, begin, dialect)
    grammar = dialect.grammar
    if request.ragged != "error" and scan_records(path, begin, grammar, dialect.fields, line).bad_line:
        path, note = _regular_records(source, path, begin, dialect, request.ragged)
        begin, line, plain, grammar = 0, 1, False, Grammar()
        notes.append(note)
    body = RecordBody(source, path, begin, grammar, dialect.fields, line, plain)
    if dialect.fields == 1 and body.scan.blank:
        body = RecordBody(
            source, _blank_lines_as_missing(source, body), 0, Grammar(SINGLE_COLUMN.delimiter), 1
        )
    names = dialect.names
    if names is None:
        names = tuple(f"column_{k + 1}" for k in range(dialect.fields - dialect.trailing))
    if body.scan.records == 0:
        raise source.error("there is a header but no row")
    names = _column_names(names, notes)
    if body.scan.blank:
        notes.append(Message("blank lines skipped: {n}", n=body.scan.blank))
    body.types = _types(body.types, names, body.sample, request.like)

    for wanted in request.parts(body.scan.records, body.row_bytes(), notes):
        frame = body.frame(wanted)
        frame = frame[:, : len(names)].rename(dict(zip(frame.columns, names)))
        types = TypeInference(dialect.grammar.delimiter, dialect.grammar.spaces, request.like)
        frame = types.infer(frame)
        yield Table(
            frame=frame,
            source=source.name,
            format="TSV" if dialect.grammar.delimiter == "\t" and not dialect.runs else "CSV",
            total_rows=body.scan.records,
            notes=tuple(notes + types.notes.messages()),
            reading=types.format(frame, dialect.names is not None).to_dict(),
        )


def _column_names(names: tuple[str, ...], notes: list[Message]) -> tuple[str, ...]:
    """The names; those that are empty get one, and those that are there already a number."""
    empty = [k for k, name in enumerate(names) if not name]
    if empty:
        named = [f"column_{k + 1}" for k in empty]
        notes.append(Message("columns without a name are called {columns}", columns=listed(named)))
    given = [name or f"column_{k + 1}" for k, name in enumerate(names)]
    found: list[str] = []
    for name in given:
        number, other = 2, name
        while other in found or (other != name and other in given):
            other, number = f"{name}_{number}", number + 1
        found.append(other)
    if renamed := [new for old, new in zip(given, found) if new != old]:
        notes.append(
            Message("columns of a name that is there already are called {columns}", columns=listed(renamed))
        )
    return tuple(found)


def _types(
    types: list[type], names: tuple[str, ...], sample: list[list[str]], like: TableFormat
) -> list[type]:
    """The types to parse by: text wherever a point may not be what polars takes it for."""
    columns = [[cell for row in sample if (cell := row[k].strip())] for k in range(len(types))]
    commas = any(
        kind is str and any("," in cell for cell in cells) and all(map(COMMA.fullmatch, cells))
        for kind, cells in zip(types, columns)
    )
    for k, name in enumerate(names):
        fmt = like.columns.get(name)
        if fmt is not None and fmt.kind == "string":
            types[k] = str
        elif types[k] is float:
            decimal = like.decimal_of(name) if fmt is not None else ""
            if decimal == "," or (not decimal and commas and all(map(POINTS.fullmatch, columns[k]))):
                types[k] = str
    return types


def _regular_records(
    source: SourceFile, path: Path, begin: int, dialect: Dialect, how: str
) -> tuple[Path, Message]:
    """The records from `begin` on; those of another number of fields are left out, or filled up and cut."""
    target, changed = source.folder / "regular", 0
    with (
        path.open(encoding="utf-8", newline="\n") as file,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        file.seek(begin)
        writer = csv.writer(out, lineterminator="\n")
        for row in reader(file, dialect.grammar):
            if not row or (len(row) == 1 and not row[0].strip(" \r")):
                continue
            if len(row) != dialect.fields:
                changed += 1
                if how == "skip":
                    continue
                row = [*row, *([""] * dialect.fields)][: dialect.fields]
            writer.writerow(row)
    if how == "skip":
        return target, Message("lines of another number of fields are left out: {n}", n=changed)
    return target, Message("lines of another number of fields are filled up or cut: {n}", n=changed)


def _blank_lines_as_missing(source: SourceFile, body: RecordBody) -> Path:
    """One column: a blank line among the others is a value that is missing."""
    target = source.folder / "filled"
    with (
        body.path.open(encoding="utf-8", newline="\n") as file,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        file.seek(body.begin)
        blank = 0
        for row in reader(file, body.grammar):
            if not row or not (row[0].strip(" \r") or row[0] == ""):
                blank += 1
                continue
            out.write('""\n' * blank + '"' + row[0].replace('"', '""') + '"\n')
            blank = 0
    return target


def _spaces_to_tabs(
    source: SourceFile, path: Path, begin: int, dialect: Dialect
) -> tuple[Path, int, Dialect]:
    """The file with one tab for every run of blanks (outside quotes)."""
    target = source.folder / "tabbed"
    quote = dialect.grammar.quote
    with (
        path.open(encoding="utf-8", newline="\n") as file,
        target.open("w", encoding="utf-8", newline="") as out,
    ):
        file.seek(begin)
        for line in file:
            line = line.strip(" \t\r\n")
            if quote in line:
                cells = next(iter(reader([blanks_for_tabs(line, quote)], dialect.grammar)))
                out.write("\t".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n")
            else:
                out.write("\t".join(line.split()) + "\n")
    return target, 0, replace(dialect, grammar=Grammar("\t"))


class RecordBody:
    """The records of a file from offset `begin` (in `line`) on, checked.

    `plain`: just one line is before them.
    """

    def __init__(
        self,
        source: SourceFile,
        path: Path,
        begin: int,
        grammar: Grammar,
        fields: int,
        line: int = 1,
        plain: bool = False,
    ) -> None:
        self.path, self.begin, self.grammar, self.fields, self.plain = path, begin, grammar, fields, plain
        self.at = (0, begin)
        self.scan: RecordScan = scan_records(path, begin, grammar, fields, line)
        if self.scan.bad_line:
            raise source.error(
                "line {line} has {found} fields where {expected} are expected (delimiter {delimiter!r}); --ragged "
                "skip leaves such lines out, --ragged fill fills them up or cuts them",
                line=self.scan.bad_line,
                found=self.scan.bad_fields,
                expected=self.fields,
                delimiter=self.grammar.delimiter,
            )
        if self.scan.unclosed:
            raise source.error("the quote opened in line {line} is never closed", line=self.scan.unclosed)
        self.sample = self._sample()
        self.types = self._types()

    def _sample(self) -> list[list[str]]:
        """Some records from the beginning, and a few from everywhere else."""
        first = np.arange(min(self.scan.records, 500))
        pieces = [read_records(self.path, (0, self.begin), self.grammar, self.fields, first)[0]]
        with self.path.open("rb") as file:
            for a, b in self.scan.spread:
                file.seek(a)
                pieces.append(file.read(b - a))
        return rows_of(b"\n".join(pieces).decode(), self.grammar)

    def _types(self) -> list[type]:
        """int, float or str for every column, as the sample suggests."""
        found: list[type] = []
        for k in range(self.fields):
            cells = [row[k].strip() for row in self.sample if k < len(row) and row[k].strip()]
            if not cells or self.scan.zeros[k] or any(map(LONG.fullmatch, cells)):
                found.append(str)
            elif all(map(WHOLE.fullmatch, cells)):
                found.append(int)
            else:
                found.append(float if all(map(REAL.fullmatch, cells)) else str)
        return found

    def row_bytes(self) -> float:
        """About how much memory a row takes."""
        size = 0.0
        for k, kind in enumerate(self.types):
            length = sum(len(row[k].encode()) for row in self.sample) / max(len(self.sample), 1)
            size += 32 + length if kind is str else 8
        return size

    def frame(self, wanted: np.ndarray | None) -> pl.DataFrame:
        """The records with these numbers, or all; what the sample took for a number is parsed."""
        import polars as pl

        odd = self.scan.odd or (self.scan.quoted and (self.grammar.spaces or self.fields == 1))
        regular = self.plain and not self.scan.blank and wanted is None
        if regular and not odd:
            text: Any = str(self.path.absolute())
        else:
            number = np.arange(self.scan.records) if wanted is None else wanted
            at = self.at if self.at[0] <= number[0] else (0, self.begin)
            text, self.at = read_records(self.path, at, self.grammar, self.fields, number)
        expected = self.scan.records if wanted is None else len(wanted)
        if not odd:
            dtypes: dict[type, Any] = {int: pl.Int64, float: pl.Float64, str: pl.String}
            schema = {str(k): dtypes[kind] for k, kind in enumerate(self.types)}
            quote = self.grammar.quote if self.scan.quoted else None
            frame = _parse_with_polars(text, self.grammar.delimiter, quote, schema, int(regular))
            if frame is not None and frame.height == expected:
                return frame
        return _parse_with_csv(text, self.grammar, self.fields, self.begin)


def _after_header(path: Path, begin: int, dialect: Dialect) -> tuple[int, int, bool]:
    """Where the data begin, in which line, and whether that is just one line from the start of the file."""
    line = 1 + dialect.skip
    with path.open("rb") as file:
        file.seek(begin)
        for _ in range(dialect.skip):
            file.readline()
        if dialect.names is None:
            return file.tell(), line, False
        record = b""
        while next_line := file.readline():  # a name may hold a line break
            record += next_line
            line += 1
            text = record.decode("utf-8")
            if dialect.grammar.quote not in text or len(rows_of(text + "x", dialect.grammar)) == 2:
                break
        for _ in dialect.units:
            file.readline()
            line += 1
        above = dialect.skip + len(dialect.units)
        return file.tell(), line, above == 0 and record.count(b"\n") == 1


def _parse_with_polars(
    text: Any, delimiter: str, quote: str | None, schema: dict[str, Any], skip: int
) -> pl.DataFrame | None:
    """By polars; a column that is no number after all is read as text. None: polars cannot."""
    import polars as pl

    for _ in range(len(schema) + 1):
        try:
            with quiet_panics():
                return pl.read_csv(
                    text,
                    has_header=False,
                    skip_rows=skip,
                    separator=delimiter,
                    quote_char=quote,
                    schema=schema,
                    glob=False,
                )
        except pl.exceptions.PolarsError as error:
            found = re.search(r"could not parse .* at column '.*' \(column number (\d+)\)", str(error), re.S)
            column = str(int(found[1]) - 1) if found else ""
            if schema.get(column, pl.String) == pl.String:
                return None
            schema = {**schema, column: pl.String}
    return None


def _parse_with_csv(text: Any, grammar: Grammar, fields: int, begin: int) -> pl.DataFrame:
    """By Python's csv module: every column as text."""
    import polars as pl

    before = csv.field_size_limit(1 << 30)
    try:
        with io.BytesIO(text) if isinstance(text, bytes) else open(text, "rb") as raw:
            raw.seek(0 if isinstance(text, bytes) else begin)
            rows = reader(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"), grammar)
            records = (row for row in rows if row)
            schema = {str(k): pl.String for k in range(fields)}
            parts = []
            while part := list(itertools.islice(records, 1 << 14)):
                parts.append(pl.DataFrame(part, schema=schema, orient="row"))
    finally:
        csv.field_size_limit(before)
    return pl.concat(parts)
