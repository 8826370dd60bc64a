"""Tokens of Prolog text, each with its line and column."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

SYMBOLS = set("+-*/\\^<>=~:.?@#&$")
PUNCTUATION = set("()[]{},|")
ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "a": "\a",
    "b": "\b",
    "0": "\0",
}


class PrologSyntaxError(ValueError):
    """Prolog text that cannot be read, with the place where reading ended.

    Attributes
    ----------
    line, column : int
        Where, counted from 1.

    Examples
    --------
    >>> from tercet.rules.logic import Program
    >>> try:
    ...     Program("parent(ann, bob). parent(ann, ).")
    ... except PrologSyntaxError as error:
    ...     print(error.line, error.column)
    1 31
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message, line, column)
        self.message, self.line, self.column = message, line, column

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class Token(NamedTuple):
    """One token; `called` says that an opening bracket follows at once, as in p( but not in p (."""

    kind: str  # "atom", "quoted", "variable", "number", "mark", "end" (the full stop) or "eof"
    value: Any
    line: int
    column: int
    called: bool = False

    def __str__(self) -> str:
        if self.kind == "eof":
            return "the end of the text"
        return "'.'" if self.kind == "end" else repr(str(self.value))


class Scanner:
    """Splits a text into tokens."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.line, self.begin = text, 0, 1, 0

    def tokens(self) -> Iterator[Token]:
        """All tokens; the last one is "eof"."""
        while True:
            self._skip_layout()
            line, column = self._here()
            if self.place >= len(self.text):
                yield Token("eof", "", line, column)
                return
            kind, value = self._token()
            yield Token(kind, value, line, column, self._peek() == "(")

    def _peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.text[place] if place < len(self.text) else ""

    def _here(self) -> tuple[int, int]:
        return self.line, self.place - self.begin + 1

    def _advance(self, count: int = 1) -> str:
        taken = self.text[self.place : self.place + count]
        for k, letter in enumerate(taken):
            if letter == "\n":
                self.line, self.begin = self.line + 1, self.place + k + 1
        self.place += count
        return taken

    def _skip_layout(self) -> None:
        while letter := self._peek():
            if letter.isspace() or letter == "\ufeff":
                self._advance()
            elif letter == "%":
                while self._peek() not in ("", "\n"):
                    self._advance()
            elif letter == "/" and self._peek(1) == "*":
                line, column = self._here()
                end = self.text.find("*/", self.place + 2)
                if end < 0:
                    raise PrologSyntaxError("a comment that begins with /* has no end", line, column)
                self._advance(end + 2 - self.place)
            else:
                return

    def _token(self) -> tuple[str, Any]:
        letter = self._peek()
        if letter.isdigit() and letter.isascii():
            return "number", self._number()
        if letter == "_" or unicodedata.category(letter) in ("Lu", "Lt"):
            return "variable", self._word()
        if letter.isalpha() or letter.isnumeric():
            return "atom", self._word()
        if letter in "'\"":
            return "quoted", self._quoted(letter)
        if letter in PUNCTUATION:
            return "mark", self._advance()
        if letter in "!;":
            return "atom", self._advance()
        if letter == "." and (self._peek(1) == "" or self._peek(1).isspace() or self._peek(1) == "%"):
            return "end", self._advance()
        if letter in SYMBOLS:
            length = 1
            while self._peek(length) in SYMBOLS and self._peek(length):
                length += 1
            return "atom", self._advance(length)
        raise PrologSyntaxError(f"{letter!r} has no meaning here", *self._here())

    def _word(self) -> str:
        length = 1
        while (letter := self._peek(length)) and (letter.isalnum() or letter == "_"):
            length += 1
        return self._advance(length)

    def _number(self) -> int | float:
        line, column = self._here()
        length, real = self._digits(0), False
        if self._peek(length) == "." and self._peek(length + 1).isdigit():
            length, real = self._digits(length + 1), True
        if self._peek(length) in ("e", "E"):
            sign = 1 if self._peek(length + 1) in ("+", "-") and self._peek(length + 1) else 0
            if self._peek(length + 1 + sign).isdigit():
                length, real = self._digits(length + 1 + sign), True
        text = self._advance(length)
        if (after := self._peek()) and (after.isalpha() or after == "_"):
            raise PrologSyntaxError(f"{text + after!r} is neither a number nor a name", line, column)
        return float(text) if real else int(text)

    def _digits(self, start: int) -> int:
        while self._peek(start).isdigit() and self._peek(start).isascii():
            start += 1
        return start

    def _quoted(self, quote: str) -> str:
        line, column = self._here()
        self._advance()
        found: list[str] = []
        while True:
            letter = self._peek()
            if letter in ("", "\n"):
                raise PrologSyntaxError(f"a name that begins with {quote} has no end", line, column)
            if letter == quote and self._peek(1) != quote:
                self._advance()
                return "".join(found)
            if letter == "\\":
                at = self._here()
                code = self._peek(1)
                if code not in ESCAPES or not code:
                    raise PrologSyntaxError(f"'\\{code}' is no escape sequence", *at)
                found.append(ESCAPES[code])
                self._advance(2)
            else:
                found.append(letter)
                self._advance(2 if letter == quote else 1)
