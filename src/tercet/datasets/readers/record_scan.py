"""One pass over delimited text: where its records are, and whether all have the same number of fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tercet.core.kernel import JIT, inner, kernel

BLOCK = 1 << 22
# Entries of the state that is carried from block to block.
STATE, FIELDS, RECORDS, LINE, RECORD_LINE, RECORD_START, ODD, BLANK, BAD, QUOTED, SIZE = range(11)
# States of the automaton: at the start of a record or of a field, inside a plain or a quoted field ...
START, FIELD, PLAIN, INSIDE, CLOSED, ESCAPED, ESCAPED_PLAIN, COMMENT = range(8)


@dataclass(frozen=True)
class Grammar:
    """How records are written.

    `quote`, `escape` and `comment` may be empty; `spaces`: blanks after a delimiter mean nothing.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    spaces: bool = False
    comment: str = ""

    def codes(self) -> np.ndarray:
        marks = [self.delimiter, self.quote, self.escape, self.comment]
        return np.array([ord(m) if m else -1 for m in marks] + [int(self.spaces)], np.int64)


@dataclass
class RecordScan:
    """Result of the pass over a file."""

    records: int
    blank: int  # lines skipped: blank or a comment
    quoted: bool  # some field is quoted
    odd: bool  # quotes in odd places, or escapes: engines may differ on these
    unclosed: int  # the line of a quote that is never closed, or 0
    bad_line: int  # the first record with another number of fields, or 0
    bad_fields: int
    zeros: np.ndarray  # per column: does a value begin with 0 and a digit?
    spread: list[tuple[int, int]] = field(default_factory=list)  # offsets of some records from everywhere


def scan_records(path: Path, begin: int, grammar: Grammar, fields: int, first_line: int = 1) -> RecordScan:
    """Check every record from offset `begin` on; stop at the first with another number of fields."""
    state = _initial_state(begin, first_line)
    zeros = np.zeros(fields, np.bool_)
    spread: list[tuple[int, int]] = []
    for offset, block in _blocks(path, begin):
        wanted = state[RECORDS] + 1 + np.arange(16)
        bounds = np.full((16, 2), -1, np.int64)
        _scan_block(block, offset, grammar, fields, state, zeros, wanted, bounds)
        if state[BAD]:
            break
        if len(spread) < 4096:
            spread += [(int(a), int(b)) for a, b in bounds if b >= 0]
    bad = bool(state[BAD])
    return RecordScan(
        records=int(state[RECORDS]),
        blank=int(state[BLANK]),
        quoted=bool(state[QUOTED]),
        odd=bool(state[ODD]),
        unclosed=int(state[RECORD_LINE]) if not bad and state[STATE] in (INSIDE, ESCAPED) else 0,
        bad_line=int(state[RECORD_LINE]) if bad else 0,
        bad_fields=int(state[FIELDS]) if bad else 0,
        zeros=zeros,
        spread=spread,
    )


Position = tuple[int, int]  # a record's number, and the offset where it begins


def read_records(
    path: Path, at: Position, grammar: Grammar, fields: int, wanted: np.ndarray
) -> tuple[bytes, Position]:
    """The bytes of the records with these numbers (in order) of a file that `scan_records` found sound.

    `at` is a position before them, to start from; the position after them is returned, too.
    """
    if len(wanted) == 0:
        return b"", at
    before, begin = at
    wanted = wanted - before
    state = _initial_state(begin, 1)
    end = begin
    zeros = np.zeros(fields, np.bool_)
    pieces, tail, k = [], b"", 0
    for offset, block in _blocks(path, begin):
        text, base = tail + block, offset - len(tail)
        bounds = np.full((min(len(wanted) - k, len(block)), 2), -1, np.int64)
        _scan_block(block, offset, grammar, fields, state, zeros, wanted[k : k + len(bounds)], bounds)
        bounds = bounds[bounds[:, 1] >= 0] - base
        if len(bounds):  # neighbours are copied in one piece
            apart = np.flatnonzero(bounds[1:, 0] != bounds[:-1, 1]) + 1
            begins = bounds[np.concatenate([[0], apart]), 0]
            ends = bounds[np.concatenate([apart - 1, [len(bounds) - 1]]), 1]
            pieces += [text[a:b] for a, b in zip(begins, ends)]
            end = base + int(ends[-1])
        k += len(bounds)
        if k == len(wanted):
            break
        tail = text[state[RECORD_START] - base :] if state[STATE] != START else b""
    return b"".join(pieces), (before + int(wanted[-1]) + 1, end)


def _initial_state(begin: int, line: int) -> np.ndarray:
    state = np.zeros(SIZE, np.int64)
    state[LINE] = state[RECORD_LINE] = line
    state[RECORD_START] = begin
    return state


def _blocks(path: Path, begin: int) -> Iterator[tuple[int, bytes]]:
    """Offsets and blocks of whole lines; a line feed is put after the last if it has none."""
    offset = begin
    with path.open("rb") as file:
        file.seek(begin)
        while block := file.read(BLOCK):
            if block[-1:] != b"\n":
                block += file.readline(BLOCK)
            size = len(block)
            if block[-1:] != b"\n" and not file.peek(1):
                block += b"\n"
            yield offset, block
            offset += size


def _scan_block(
    block: bytes,
    offset: int,
    grammar: Grammar,
    fields: int,
    state: np.ndarray,
    zeros: np.ndarray,
    wanted: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Scan one block: vectorised if it has no quotes and equal records, byte by byte if not."""
    data = np.frombuffer(block, np.uint8)
    marks = (grammar.quote + grammar.escape + grammar.comment).encode()
    plain = state[STATE] in (START, FIELD, PLAIN) and not any(mark in block for mark in marks)
    if JIT and plain and 1 < fields < 256:
        ends = np.flatnonzero(data == 10)
        before = state[FIELDS] - 1 if state[STATE] != START else 0
        delimiter = np.uint8(ord(grammar.delimiter))
        equal = len(ends) > 0 and equal_field_counts(data, ends, delimiter, fields, before)
        if equal and not any_leading_zero(data, delimiter):
            first = state[RECORD_START] if state[STATE] != START else offset
            begins = np.concatenate([[first], offset + ends + 1])
            here = wanted[wanted < state[RECORDS] + len(ends)] - state[RECORDS]
            bounds[: len(here), 0] = begins[here]
            bounds[: len(here), 1] = offset + ends[here] + 1
            rest = data[ends[-1] + 1 :]
            state[RECORDS] += len(ends)
            state[LINE] += len(ends)
            state[RECORD_LINE], state[RECORD_START] = state[LINE], begins[-1]
            state[FIELDS] = 1 + np.count_nonzero(rest == delimiter)
            state[STATE] = START if not rest.size else FIELD if rest[-1] == delimiter else PLAIN
            return
    scan_bytes(data, offset, grammar.codes(), fields, state, zeros, wanted, bounds)


@kernel
def scan_bytes(block, offset, codes, fields, state, zeros, wanted, bounds):
    """Run the automaton over a block, byte by byte; note the bounds of the wanted records."""
    delimiter, quote, escape, comment, spaces = codes[0], codes[1], codes[2], codes[3], codes[4]
    now, count, w = state[STATE], state[FIELDS], 0
    i, n = 0, block.size
    while i < n:
        if now == PLAIN:
            i = end_of_plain(block, i, delimiter, quote, escape)
            if i == n:
                break
        c = block[i]
        if now == START:
            state[RECORD_START] = offset + i
            state[RECORD_LINE] = state[LINE]
            if c == comment or is_blank_line(block, i):
                state[BLANK] += 1
                now = COMMENT
            else:
                count, now = 1, FIELD
        if now == INSIDE or now >= ESCAPED:
            now = after_literal(now, c, quote, escape, state)
        elif c == 10:
            state[LINE] += 1
            if count != fields:
                state[BAD] = 1
                break
            if w < wanted.size and wanted[w] == state[RECORDS]:
                bounds[w, 0] = state[RECORD_START]
                bounds[w, 1] = offset + i + 1
                w += 1
            state[RECORDS] += 1
            now = START
        elif c == delimiter:
            count += 1
            now = FIELD
        else:
            if now == FIELD and has_leading_zero(block, i + 1 if c == quote else i):
                zeros[min(count, fields) - 1] = True
            now = after_byte_of_field(now, c, quote, escape, spaces, state)
        i += 1
    state[STATE], state[FIELDS] = now, count


@inner
def end_of_plain(block, i, delimiter, quote, escape):
    """The next byte from i on that ends a plain field or is special in it."""
    c = block[i]
    while c != delimiter and c != 10 and c != quote and c != escape:
        i += 1
        if i == block.size:
            break
        c = block[i]
    return i


@inner
def is_blank_line(block, i):
    """Whether only spaces and carriage returns are left of the line."""
    while i < block.size and (block[i] == 32 or block[i] == 13):
        i += 1
    return i < block.size and block[i] == 10


@inner
def has_leading_zero(block, i):
    """Whether 0 and another digit are at i: 007 may be a code."""
    return i + 1 < block.size and block[i] == 48 and 48 <= block[i + 1] <= 57


@inner
def after_literal(now, c, quote, escape, state):
    """The state after a byte of a comment, of a quoted field, or after an escape: delimiters mean nothing here."""
    if c == 10:
        state[LINE] += 1
    if now == COMMENT:
        return START if c == 10 else COMMENT
    if now == ESCAPED:
        return INSIDE
    if now == ESCAPED_PLAIN:
        return PLAIN
    if c == quote:
        return CLOSED
    if c == escape:
        state[ODD] = 1
        return ESCAPED
    return INSIDE


@inner
def after_byte_of_field(now, c, quote, escape, spaces, state):
    """The state after a byte of a field outside quotes that is neither a delimiter nor a line feed."""
    if now == CLOSED:
        if c == quote:  # doubled: a quote in the field
            return INSIDE
        if c == 13:
            return CLOSED
        state[ODD] = 1
        return PLAIN
    if c == escape:
        state[ODD] = 1
        return ESCAPED_PLAIN
    if c == quote:
        if now == FIELD:
            state[QUOTED] = 1
            return INSIDE
        state[ODD] = 1
        return now
    if now == FIELD and not (spaces and c == 32):
        return PLAIN
    return now


@kernel
def equal_field_counts(data, ends, delimiter, fields, before):
    """Whether all lines have the same number of fields (modulo 256: a byte is what makes it fast)."""
    begin, count = 0, np.uint8(before)
    for k in range(ends.size):
        for byte in data[begin : ends[k]]:
            count = np.uint8(count + np.uint8(byte == delimiter))
        if count != np.uint8(fields - 1):
            return False
        begin, count = ends[k] + 1, np.uint8(0)
    return True


@kernel
def any_leading_zero(data, delimiter):
    """Whether some field may begin with 0 and a digit."""
    zero, nine, line = np.uint8(48), np.uint8(9), np.uint8(10)
    found = np.uint8(data[0] == zero) & np.uint8(data[1] != 46)
    for i in range(1, data.size - 1):
        fresh = (data[i - 1] == delimiter) | (data[i - 1] == line)
        found |= np.uint8(fresh & (data[i] == zero) & (np.uint8(data[i + 1] - zero) <= nine))
    return found > 0
