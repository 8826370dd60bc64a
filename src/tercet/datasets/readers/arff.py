"""ARFF: attributes declared one by one, then rows, dense or sparse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers.encoding import encoding_note, to_utf8
from tercet.datasets.readers.record_scan import Grammar, read_records, scan_records
from tercet.datasets.readers.source_file import ReadRequest, SourceFile, read_blocks
from tercet.datasets.readers.table import Table, listed
from tercet.datasets.readers.table_format import typed_format
from tercet.datasets.readers.text import RecordBody

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import csr_array

WORD = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({WORD}|[^\s{{]+)\s*(.+)", re.I | re.S)
VALUE = re.compile(rf"\s*({WORD}|[^,]*?)\s*(?:,|$)")
CELL = re.compile(rf"\s*(\d+)\s+({WORD}|[^,}}\s]+)\s*(?:,|$)")
WEIGHT = re.compile(rb"[,\t ]\s*\{\s*[0-9.eE+-]+\s*\}[ \t\r]*$", re.M)
LINE = Grammar(delimiter="\x01", quote="", comment="%")
JAVA = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%3f"}
MANY = 200  # sparse rows with more attributes than this stay sparse


@dataclass(frozen=True)
class Attribute:
    """A declared column: `kind` is "numeric", "categorical", "text" or "date"."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    format: str = ""

    @property
    def counts(self) -> bool:
        """Whether what a sparse row leaves out is the number 0."""
        return self.kind == "numeric" or (self.values[:1] == ("0",) and all(map(_numeric, self.values)))


@dataclass(frozen=True)
class Rows:
    """Where the rows are: from offset `begin` in `line` on, beginning with the row `first`."""

    source: SourceFile
    path: Path
    begin: int
    line: int
    first: str


def read_arff(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read ARFF."""
    path, begin, encoding = to_utf8(source)
    attributes, rows = _header(source, path, begin)
    source.distinct(attribute.name for attribute in attributes)
    notes = [encoding_note(encoding)]
    if not rows.first:
        raise source.error("there is a header but no row")
    read = _sparse if rows.first.startswith("{") else _dense
    for frame, block, total in read(rows, attributes, request, notes):
        yield Table(
            frame=frame,
            sparse=None if block is None else block[0],
            sparse_names=None if block is None else block[1],
            target=next((name for name in frame.columns if name.lower() == "class"), None),
            kinds={a.name: a.kind for a in attributes if a.name in frame.columns},
            source=source.name,
            format="ARFF",
            total_rows=total,
            notes=tuple(notes),
            reading=typed_format(frame).to_dict(),
        )


def _header(source: SourceFile, path: Path, begin: int) -> tuple[list[Attribute], Rows]:
    """The attributes, and where the data begin."""
    attributes: list[Attribute] = []
    with path.open("rb") as file:
        file.seek(begin)
        number = 0
        while raw := file.readline():
            number += 1
            line = raw.decode("utf-8").strip()
            word = line.split(None, 1)[0].lower() if line else ""
            if not line or line.startswith("%") or word == "@relation":
                continue
            if word == "@data":
                place = file.tell()
                for row in file:
                    if row.strip() and not row.lstrip().startswith(b"%"):
                        break
                else:
                    row = b""
                if not attributes:
                    raise source.error("no @attribute before @data (line {line})", line=number)
                return attributes, Rows(source, path, place, number + 1, row.decode("utf-8").strip())
            if word != "@attribute":
                raise source.error("line {line}: {text!r} is not ARFF", line=number, text=line[:60])
            attributes.append(_attribute(source, line, number))
    raise source.error("no @data: not an ARFF file, or cut off")


def _attribute(source: SourceFile, line: str, number: int) -> Attribute:
    found = ATTRIBUTE.fullmatch(line)
    if not found:
        raise source.error("line {line}: {text!r} is not ARFF", line=number, text=line[:60])
    name, kind = _bare(found[1]), found[2].strip()
    word = kind.split()[0].lower()
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(_bare(v[1]) for v in VALUE.finditer(kind[1:-1]) if v[1])
        return Attribute(name, "categorical", values)
    if word in ("numeric", "real", "integer"):
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "text")
    if word == "date":
        return Attribute(name, "date", format=_bare(kind[4:].strip()) or "yyyy-MM-dd'T'HH:mm:ss")
    raise source.error(
        "line {line}: attribute {name!r} is of type {kind!r}; numeric, nominal, string and date are read",
        line=number,
        name=name,
        kind=kind[:30],
    )


Read = Iterator[tuple["pl.DataFrame", "tuple[csr_array, tuple[str, ...]] | None", int]]


def _dense(rows: Rows, attributes: list[Attribute], request: ReadRequest, notes: list[Message]) -> Read:
    source, path, begin = rows.source, rows.path, rows.begin
    with path.open("rb") as file:
        file.seek(begin)
        seen = {mark for block in read_blocks(file) for mark in (b"'", b'"', b"{", b"\\") if mark in block}
    if b"{" in seen:
        path, begin = _without_weights(source, path, begin), 0
        notes.append(Message("weights of rows (in braces) are not used"))
    delimiter = "\t" if "\t" in rows.first and "," not in rows.first else ","
    grammar = Grammar(
        delimiter=delimiter,
        quote='"' if b'"' in seen and b"'" not in seen else "'",
        escape="\\" if b"\\" in seen else "",
        spaces=", " in rows.first,
        comment="%",
    )
    if b'"' in seen and b"'" in seen:
        path, begin, grammar = _requoted(source, path, begin), 0, Grammar(comment="%")
    body = RecordBody(source, path, begin, grammar, len(attributes), rows.line)
    body.types = [k if a.kind == "numeric" else str for k, a in zip(body.types, attributes)]
    for wanted in request.parts(body.scan.records, body.row_bytes(), notes):
        frame = body.frame(wanted)
        columns = [_typed(source, a, column) for a, column in zip(attributes, frame.get_columns())]
        yield type(frame)(columns), None, body.scan.records


def _without_weights(source: SourceFile, path: Path, begin: int) -> Path:
    target = source.folder / "unweighted"
    with path.open("rb") as file, target.open("wb") as out:
        file.seek(begin)
        while text := b"".join(file.readlines(1 << 22)):
            out.write(WEIGHT.sub(b"", text))
    return target


def _requoted(source: SourceFile, path: Path, begin: int) -> Path:
    """The rows with double quotes only."""
    target = source.folder / "requoted"
    with path.open("rb") as file, target.open("w", encoding="utf-8", newline="") as out:
        file.seek(begin)
        for raw in file:
            row = raw.decode("utf-8").strip()
            if not row or row.startswith("%"):
                out.write("\n")
                continue
            cells = [_bare(cell[1]) for cell in VALUE.finditer(row)]
            if not row.endswith(","):
                cells.pop()  # the end of the row matches once more, as nothing
            out.write(",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n")
    return target


def _sparse(rows: Rows, attributes: list[Attribute], request: ReadRequest, notes: list[Message]) -> Read:
    total = scan_records(rows.path, rows.begin, LINE, 1).records
    at = (0, rows.begin)
    for part in request.parts(total, 2.0 * rows.path.stat().st_size / total, notes):
        wanted = np.arange(total) if part is None else part
        text, at = read_records(rows.path, at, LINE, 1, wanted)
        yield *_from_cells(rows.source, text.decode("utf-8"), attributes, wanted), total


def _from_cells(
    source: SourceFile, text: str, attributes: list[Attribute], wanted: np.ndarray
) -> tuple[pl.DataFrame, tuple[csr_array, tuple[str, ...]] | None]:
    """The rows with these numbers, of which this is the text; the numbers of a wide table stay sparse."""
    import polars as pl
    from scipy.sparse import csr_array

    cells = _cells(source, text, len(attributes), wanted)
    many = len(attributes) > MANY
    target = next((k for k, a in enumerate(attributes) if a.name.lower() == "class"), -1)
    apart = [k for k, a in enumerate(attributes) if not many or not a.counts or k == target]
    place = dict(zip(apart, range(len(apart))))
    columns = [[_omitted(attributes[k])] * len(wanted) for k in apart]
    others = [k for k in range(len(attributes)) if k not in place]
    position = dict(zip(others, range(len(others))))
    row, column, value = [], [], []
    for r, k, word in cells:
        if k in place:
            columns[place[k]][r] = None if word == "?" else word
        else:
            row.append(r)
            column.append(position[k])
            value.append(np.nan if word == "?" else _float(source, attributes[k], r, word))
    series = [pl.Series(attributes[k].name, c, dtype=pl.String) for k, c in zip(apart, columns)]
    frame = pl.DataFrame([_typed(source, attributes[k], s) for k, s in zip(apart, series)])
    if not others:
        return frame, None
    matrix = csr_array((np.array(value), (row, column)), shape=(len(wanted), len(others)))
    return frame, (matrix, tuple(attributes[k].name for k in others))


def _cells(source: SourceFile, text: str, n: int, numbers: np.ndarray) -> Iterator[tuple[int, int, str]]:
    """Row, attribute and word of everything that the sparse rows hold; `numbers` are those of the rows."""
    rows = (line.strip() for line in text.split("\n"))
    for r, row in enumerate(row for row in rows if row):
        inside, end, seen = row[1:-1].rstrip(), 0, set()
        if row[-1] == "}" and row.count("{") == 2 and (weight := WEIGHT.search(row.encode())):
            inside = row.encode()[1 : weight.start()].decode().rstrip(" }")
        broken = not (row.startswith("{") and row.endswith("}"))
        while end < len(inside) and not broken:
            cell = CELL.match(inside, end)
            if cell is None or (k := int(cell[1])) >= n or k in seen:
                broken = True
            else:
                seen.add(k)
                yield r, k, _bare(cell[2])
                end = cell.end()
        if broken:
            raise source.error(
                "row {row}: {text!r} is not a sparse row of {n} attributes",
                row=int(numbers[r]) + 1,
                text=(inside[end:] or row)[:60],
                n=n,
            )


def _typed(source: SourceFile, attribute: Attribute, column: pl.Series) -> pl.Series:
    """A column as it was declared."""
    import polars as pl

    column = column.alias("")  # the methods of a series named "^a$" look for a pattern
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column.is_in(["?", ""]), None)
    if attribute.kind == "numeric":
        typed = column.cast(pl.Float64, strict=False)
        whole = column.cast(pl.Int64, strict=False)
        parsed = whole if whole.null_count() == column.null_count() and column.dtype != pl.Float64 else typed
        parsed = parsed.fill_nan(None) if parsed.dtype == pl.Float64 else parsed
    elif attribute.kind == "date":
        pattern = re.sub(r"'([^']*)'|y+|M+|d+|H+|m+|s+|S+", _directive, attribute.format)
        dtype = pl.Datetime("us") if "%H" in pattern else pl.Date()
        parsed = column.str.strptime(dtype, pattern, strict=False)
    else:
        column = column.cast(pl.String)
        parsed = column
        if attribute.kind == "categorical":
            parsed = column.set(~column.is_in(list(attribute.values)), None)
    if parsed.null_count() > column.null_count():
        bad = int((parsed.is_null() & column.is_not_null()).arg_true()[0])
        raise source.error(
            "attribute {name!r}: {value!r} in row {row} is not what is declared ({kind})",
            name=attribute.name,
            value=str(column[bad]),
            row=bad + 1,
            kind=attribute.format or listed(list(attribute.values)) or attribute.kind,
        )
    return parsed.rename(attribute.name)


def _omitted(attribute: Attribute) -> str | None:
    """What a sparse row means by leaving a value out: the number 0, or the first of the nominal values."""
    return None if attribute.kind in ("text", "date") else (attribute.values or ("0",))[0]


def _directive(java: re.Match[str]) -> str:
    """A piece of Java's date format in the way of strftime."""
    return java[1] or JAVA.get(java[0], java[0])


def _float(source: SourceFile, attribute: Attribute, row: int, word: str) -> float:
    if not _numeric(word):
        raise source.error(
            "attribute {name!r}: {value!r} in row {row} is not what is declared ({kind})",
            name=attribute.name,
            value=word,
            row=row + 1,
            kind="numeric",
        )
    return float(word)


def _numeric(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _bare(word: str) -> str:
    """A word without its quotes."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word
