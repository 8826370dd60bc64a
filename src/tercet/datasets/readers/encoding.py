"""Text in any of the usual encodings, as UTF-8."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from tercet.core.messages import Message
from tercet.datasets.readers.source_file import SourceFile, first_bytes, read_blocks

MARKS = [
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 BE"),
]
BEYOND = re.compile(rb"([A-Za-z]?)([\x80-\xff]+)(?=([A-Za-z]?))")
RARE = 0xD8  # the first byte of all characters but the 3755 most common
ENOUGH = 1000  # so many places tell
ALWAYS_MISSING = 8  # so many characters beyond ASCII decode as UTF-8 by chance in no other encoding


def to_utf8(source: SourceFile) -> tuple[Path, int, str]:
    """A file with the same text in UTF-8 and with line feeds, where it begins, and the encoding it was in.

    The file itself, when it is like that already.
    """
    head = first_bytes(source.path, 1 << 16)
    for mark, codec, name in MARKS:
        if head.startswith(mark):
            return _rewritten(source, codec, len(mark)), 0, name
    begin = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    if b"\0" in head:
        wide = _wide(head[: len(head) // 2 * 2])
        if wide is None or source.path.stat().st_size % 2:
            raise source.error(
                "binary data, not a table (NUL byte at offset {offset})", offset=head.index(b"\0")
            )
        return _rewritten(source, wide, 0), 0, f"UTF-16 {wide[-2:].upper()}"
    broken, beyond = _first_broken(source, "utf-8")
    if broken is None:
        name = "UTF-8 with BOM" if begin else "UTF-8"
        if b"\r" in head and b"\n" not in head:  # the line ends of old Macs
            return _rewritten(source, "utf-8", begin), 0, name
        return source.path, begin, name
    if beyond < ALWAYS_MISSING and not begin:
        codec, name = ("cp1252", "Windows-1252") if _western(source) else ("gb18030", "GB18030")
        other, _ = _first_broken(source, codec)
        if other is None:
            return _rewritten(source, codec, 0), 0, name
        broken = max(broken, other)
    raise _undecodable(source, broken)


def _western(source: SourceFile) -> bool:
    """Whether bytes beyond ASCII are letters of Western words rather than pairs that make Chinese characters.

    Those stand alone, these come in pairs: taken for Chinese, an accent would swallow the letter, or the
    delimiter, that follows it. Two accents between letters ("Größe") would make a rare character.
    """
    western, runs = 0, 0
    with source.path.open("rb") as file:
        for block in read_blocks(file):
            for before, run, after in BEYOND.findall(block):
                western += len(run) == 1 or bool(before and after and len(run) < 4 and run[0] >= RARE)
                runs += 1
            if runs >= ENOUGH:
                break
    return western > runs / 2


def _wide(head: bytes) -> str | None:
    """Which UTF-16 this is, if any: wrong byte order or other data give control characters or no ASCII."""
    best, most = None, 0
    for codec in ("utf-16-le", "utf-16-be"):
        try:
            text = codecs.getincrementaldecoder(codec)().decode(head)
        except UnicodeDecodeError:
            continue
        if any(c < " " and c not in "\t\r\n" for c in text) or not any(c in text for c in ",;\t| "):
            continue
        plain = sum(c < "\x7f" for c in text)
        if plain > most:
            best, most = codec, plain
    return best


def _first_broken(source: SourceFile, codec: str) -> tuple[int | None, int]:
    """Offset of the first byte that does not decode, and the characters beyond ASCII up to there (or enough)."""
    decoder = codecs.getincrementaldecoder(codec)()
    offset, beyond = 0, 0
    with source.path.open("rb") as file:
        for block in read_blocks(file):
            if b"\0" in block:
                raise source.error(
                    "binary data, not a table (NUL byte at offset {offset})",
                    offset=offset + block.index(b"\0"),
                )
            pending = len(decoder.getstate()[0])
            if not pending and block.isascii():
                offset += len(block)
                continue
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                good = error.object[: error.start].decode(codec)
                return offset - pending + error.start, beyond + sum(c > "\x7f" for c in good)
            if beyond < ALWAYS_MISSING:
                beyond += sum(c > "\x7f" for c in text)
            offset += len(block)
    pending = len(decoder.getstate()[0])
    return (offset - pending if pending else None), beyond


def _rewritten(source: SourceFile, codec: str, skip: int) -> Path:
    target = source.folder / "utf8"
    decoder = codecs.getincrementaldecoder(codec)()
    offset = skip
    head = first_bytes(source.path, 1 << 16)[skip:].decode(codec, errors="ignore")
    old_mac = "\r" in head and "\n" not in head
    with source.path.open("rb") as file, target.open("w", encoding="utf-8", newline="") as out:
        file.seek(skip)
        for block in read_blocks(file):
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                raise _undecodable(source, offset - pending + error.start) from None
            if "\0" in text:
                raise source.error("binary data, not a table (NUL byte near offset {offset})", offset=offset)
            out.write(text.replace("\r", "\n") if old_mac else text)
            offset += len(block)
    if pending := len(decoder.getstate()[0]):
        raise _undecodable(source, offset - pending)
    return target


def _undecodable(source: SourceFile, offset: int) -> Exception:
    with source.path.open("rb") as file:
        line, left = 1, offset
        while left and (block := file.read(min(left, 1 << 22))):
            line += block.count(b"\n")
            left -= len(block)
        byte = file.read(1)
    return source.error(
        "neither UTF-8, UTF-16, GB18030 nor Windows-1252: byte 0x{byte} at offset {offset} (line {line})",
        byte=byte.hex(),
        offset=offset,
        line=line,
    )


def encoding_note(name: str) -> Message:
    """What to say about the encoding."""
    return Message("encoding: {encoding}", encoding=name)
