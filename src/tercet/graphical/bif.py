"""Bayesian networks in the interchange format BIF (贝叶斯网交换格式), read and written."""

from __future__ import annotations

import gzip
import itertools
import math
import re
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import numpy as np

from tercet.core.catalog import method
from tercet.graphical.bayesian_network import BayesianNetwork

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+', re.DOTALL)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
INTEGER = re.compile(r"[0-9]+")
KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "default", "table"}
COMPARISONS = (
    (r"\(\s*(\S+),\s*(\S+)\]", r"gt_\1_le_\2"),
    ("<=", "le_"),
    (">=", "ge_"),
    ("<", "lt_"),
    (">", "gt_"),
)
EMPTY = "%"  # an empty name in a property; no other name is escaped so
GZIP = b"\x1f\x8b"  # the first bytes of a gzip file


@method(
    zh="读取 BIF 文件",
    task="graphical model",
    model="P(x) = Π P(x_i | parents of x_i)",
    texts=["watermelon notes ch. 5, eq. 5.9"],
    peers=["pgmpy.readwrite.BIFReader", "pyagrum.loadBN"],
)
def read_bif(source: str | PathLike) -> BayesianNetwork:
    """Read a Bayesian network from BIF text or a file.

    Parameters
    ----------
    source : str or path
        The text (anything with a brace in it), or the path of a file, which may be compressed
        with gzip.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    ValueError
        With the number of the line, what was found, and what was expected there; or with the name of a file that is
        not text.

    Examples
    --------
    >>> text = '''network n { }
    ... variable a { type discrete [ 2 ] { yes, no }; }
    ... variable b { type discrete [ 2 ] { yes, no }; }
    ... probability ( a ) { table 0.2, 0.8; }
    ... probability ( b | a ) { (yes) 0.9, 0.1; (no) 0.3, 0.7; }'''
    >>> read_bif(text).query("a", {"b": "yes"}).table.round(4)
    array([0.4286, 0.5714])
    """
    text, where = str(source), "BIF"
    if not isinstance(source, str) or "{" not in source:
        where, text = str(source), _file_text(Path(source))
    reader = Reader(text, where)
    reader.read()
    return reader.network()


@method(
    zh="写出 BIF 文件",
    task="graphical model",
    model="P(x) = Π P(x_i | parents of x_i)",
    texts=["watermelon notes ch. 5, eq. 5.9"],
    peers=["pgmpy.readwrite.BIFWriter", "pyagrum.saveBN"],
)
def write_bif(network: Any, path: str | PathLike | None = None) -> str:
    """A Bayesian network as BIF text; probabilities are written so that they are read back to the bit.

    BIF names are identifiers: a letter or underscore, then letters, digits, underscores, points and hyphens. Other
    names of variables and states, such as those of intervals, are written as similar identifiers
    (`<= 0.5` as `le_0.5`, `(0.5, 2]` as `gt_0.5_le_2`), so that other programs can read the file; `read_bif`
    restores the names from the properties `original_name` and `original_states`.

    Parameters
    ----------
    network : fitted BayesianNetwork
        The network.
    path : str or path, optional
        A file to write to; it is compressed with gzip if its name ends in .gz.

    Returns
    -------
    str

    Examples
    --------
    >>> print(write_bif(BayesianNetwork.from_tables({"a": [0.25, 0.75]})))
    network unknown {
    }
    variable a {
      type discrete [ 2 ] { 0, 1 };
    }
    probability ( a ) {
      table 0.25, 0.75;
    }
    <BLANKLINE>
    """
    model = network.factor_model()
    names = _identifiers(model.names, "x")
    states = [_identifiers(known, "s", INTEGER) for known in model.states]
    lines = ["network unknown {", "}"]
    for name, own, known, original in zip(names, states, model.states, model.names):
        lines += [f"variable {name} {{", f"  type discrete [ {len(own)} ] {{ {', '.join(own)} }};"]
        if name != str(original):
            lines.append(f"  property original_name = {_escaped(original)};")
        if own != [str(state) for state in known]:
            lines.append(f"  property original_states = {', '.join(map(_escaped, known))};")
        lines.append("}")
    for k, (scope, table) in enumerate(model.factors):
        parents = scope[:-1]
        condition = f" | {', '.join(names[p] for p in parents)}" if parents else ""
        lines.append(f"probability ( {names[k]}{condition} ) {{")
        for at in np.ndindex(table.shape[:-1]):
            label = f"({', '.join(states[p][c] for p, c in zip(parents, at))})" if parents else "table"
            lines.append(f"  {label} {', '.join(repr(float(v)) for v in table[at])};")
        lines.append("}")
    text = "\n".join(lines) + "\n"
    if path is not None:
        compressed = Path(path).suffix.lower() == ".gz"
        Path(path).write_bytes(gzip.compress(text.encode(), mtime=0) if compressed else text.encode())
    return text


def _file_text(path: Path) -> str:
    """The text of a file, which may be compressed with gzip; an error that names the file if it is not text."""
    data = path.read_bytes()
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: gzip cannot decompress the file: {error}.") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not BIF: the file is not text in UTF-8; byte {error.start} is 0x{data[error.start]:02x}. Of "
            "compressed files only those of gzip are read."
        ) from None


class Reader:
    """Recursive-descent parser of BIF; every error has the number of its line."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens: list[tuple[str, int]] = []
        line, end = 1, 0
        for found in TOKEN.finditer(text):
            line += text.count("\n", end, found.start())
            end = found.start()
            if found[0].strip() and not found[0].startswith(("//", "/*")):
                self.tokens.append((found[0], line))
            gap = text[found.start() : found.end()].count("\n")
            line, end = line + gap, found.end()
        stray = re.search(r'"[^"\n]*$', text, re.MULTILINE)
        if stray and text[: stray.start()].rpartition("\n")[2].count('"') % 2 == 0:
            raise ValueError(
                f"{where}, line {text.count(chr(10), 0, stray.start()) + 1}: a quote is not closed."
            )
        self.at = 0
        self.states: dict[str, list[str]] = {}
        self.original_names: dict[str, str] = {}
        self.original_states: dict[str, list[str]] = {}
        self.tables: dict[str, tuple[list[str], np.ndarray]] = {}
        self.lines: dict[str, int] = {}

    def read(self) -> None:
        """All blocks of the text."""
        blocks = {"network": self._network, "variable": self._variable, "probability": self._probability}
        while self.at < len(self.tokens):
            word = self._next()
            if word not in blocks:
                self._fail("'network', 'variable' or 'probability'", word)
            blocks[word]()

    def network(self) -> BayesianNetwork:
        """The network of what was read."""
        if not self.states:
            raise ValueError(f"{self.where}: there is no variable in it.")
        for name in self.states:
            if name not in self.tables:
                raise ValueError(
                    f"{self.where}, line {self.lines[name]}: variable {name!r} has no probabilities."
                )
        shown = {name: self.original_names.get(name, name) for name in self.states}
        if len(set(shown.values())) < len(shown):
            raise ValueError(
                f"{self.where}: two variables have one original_name among {list(shown.values())}."
            )
        states: Any = {shown[name]: self.original_states.get(name, own) for name, own in self.states.items()}
        tables: Any = {}
        for name in self.states:
            parents, table = self.tables[name]
            tables[shown[name]] = [shown[parent] for parent in parents], table
        try:
            return BayesianNetwork.from_tables(tables, states)
        except ValueError as error:
            line = ""
            for name, original in shown.items():
                if f"table of {original!r} " in str(error):
                    line = f", line {self.lines['of ' + name]}"
            raise ValueError(f"{self.where}{line}: {error}") from None

    def _network(self) -> None:
        while self._next("the block of the network") != "{":
            pass
        self._skip_block()

    def _variable(self) -> None:
        name, line = self._name("the name of a variable"), self._line()
        if name in self.states:
            self._error(f"variable {name!r} is declared twice")
        self._expect("{")
        while (word := self._next("'type', 'property' or '}'")) != "}":
            if word == "property":
                self._property(name)
            elif word == "type":
                self._type(name)
            else:
                self._fail("'type', 'property' or '}'", word)
        if name not in self.states:
            self._error(f"variable {name!r} has no type")
        if len(self.original_states.get(name, self.states[name])) != len(self.states[name]):
            n, own = len(self.original_states[name]), len(self.states[name])
            self._error(f"variable {name!r} has {own} states, but {n} original_states")
        self.lines[name] = line

    def _property(self, name: str) -> None:
        """Names as they were before `write_bif` made identifiers of them; other properties are skipped."""
        words = []
        while (word := self._next("';'")) != ";":
            if word != ",":
                words.append(word)
        if words[:2] == ["original_name", "="] and len(words) == 3:
            self.original_names[name] = _unescaped(words[2])
        elif words[:2] == ["original_states", "="]:
            self.original_states[name] = [_unescaped(word) for word in words[2:]]

    def _type(self, name: str) -> None:
        self._expect("discrete")
        self._expect("[")
        count = self._next("a number of states")
        if not count.isdigit():
            self._fail("a number of states", count)
        self._expect("]")
        self._expect("{")
        found = self._list("}", "a state")
        self._expect(";")
        if len(found) != int(count):
            self._error(f"variable {name!r} has {len(found)} states; {count} are announced")
        if len(set(found)) < len(found):
            self._error(f"variable {name!r} has a state twice among {found}")
        self.states[name] = found

    def _probability(self) -> None:
        self._expect("(")
        line = self._line()
        name = self._name("the name of a variable")
        parents: list[str] = []
        word = self._next("'|', ',' or ')'")
        if word in ("|", ","):
            parents = self._list(")", "the name of a parent")
        elif word != ")":
            self._fail("'|' or ')'", word)
        for other in (name, *parents):
            if other not in self.states:
                self._error(f"{other!r} is not declared as a variable")
        if name in self.tables:
            self._error(f"the probabilities of {name!r} are given twice")
        shape = [len(self.states[p]) for p in parents]
        size = len(self.states[name])
        if math.prod(shape) * size > 1 << 28:
            self._error(f"the table of {name!r} would have {math.prod(shape) * size} entries")
        table = np.full((*shape, size), np.nan)
        self._expect("{")
        while (word := self._next("'table', 'default', '(' or '}'")) != "}":
            self._entry(word, name, parents, table)
        missing = np.argwhere(np.isnan(table).any(axis=-1))
        if len(missing):
            at = {p: self.states[p][int(c)] for p, c in zip(parents, missing[0])}
            self._error(
                f"the probabilities of {name!r} for {at} are missing" if at else f"{name!r} has no table"
            )
        self.tables[name], self.lines[f"of {name}"] = (parents, table), line

    def _entry(self, word: str, name: str, parents: list[str], table: np.ndarray) -> None:
        """One line of a table."""
        size = table.shape[-1]
        if word == "property":
            self._skip_to(";")
        elif word == "table":
            values = self._numbers(table.size)
            whole = np.reshape(values, (size, *table.shape[:-1]))  # the variable's own states change slowest
            table[...] = np.moveaxis(whole, 0, -1)
        elif word == "default":
            values = self._numbers(size)
            table[np.isnan(table).any(axis=-1)] = values
        elif word == "(":
            states = self._list(")", "a state")
            if len(states) != len(parents):
                self._error(f"{len(states)} states are given for the {len(parents)} parents of {name!r}")
            for parent, state in zip(parents, states):
                if state not in self.states[parent]:
                    self._error(f"{parent!r} has no state {state!r}; its states are {self.states[parent]}")
            table[tuple(self.states[p].index(s) for p, s in zip(parents, states))] = self._numbers(size)
        else:
            self._fail("'table', 'default', '(' or '}'", word)

    def _numbers(self, count: int) -> list[float]:
        words = self._list(";", "a probability")
        values = []
        for word in words:
            try:
                values.append(float(word))
            except ValueError:
                self._fail("a probability", word)
            if not 0 <= values[-1] <= 1 + 1e-6:
                self._fail("a probability from 0 to 1", word)
        if len(values) != count:
            self._error(f"{len(values)} probabilities are given where {count} are expected")
        return values

    def _list(self, end: str, what: str) -> list[str]:
        """Items up to a closing token, with or without commas."""
        found: list[str] = []
        while (word := self._next(f"{what} or {end!r}")) != end:
            if word == ",":
                continue
            if word in "{}()[];|":
                self._fail(f"{what} or {end!r}", word)
            found.append(word.strip('"'))
        return found

    def _name(self, what: str) -> str:
        word = self._next(what)
        if word in "{}()[];,|":
            self._fail(what, word)
        return word.strip('"')

    def _skip_block(self) -> None:
        for depth in itertools.count(1):
            while (word := self._next("'}'")) not in "{}":
                pass
            if word == "}":
                return
            assert depth
            self._skip_block()

    def _skip_to(self, end: str) -> None:
        while self._next(repr(end)) != end:
            pass

    def _expect(self, token: str) -> None:
        word = self._next(repr(token))
        if word != token:
            self._fail(repr(token), word)

    def _next(self, what: str = "a block") -> str:
        if self.at >= len(self.tokens):
            raise ValueError(f"{self.where}, line {self._line()}: the text ends where {what} is expected.")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def _line(self) -> int:
        return self.tokens[min(max(self.at - 1, 0), len(self.tokens) - 1)][1] if self.tokens else 1

    def _fail(self, expected: str, found: str) -> NoReturn:
        raise ValueError(f"{self.where}, line {self._line()}: expected {expected}; found {found!r}.")

    def _error(self, what: str) -> NoReturn:
        raise ValueError(f"{self.where}, line {self._line()}: {what}.")


def _identifiers(names: Sequence, prefix: str, also: re.Pattern | None = None) -> list[str]:
    """Names as identifiers that all programs read, distinct from each other; those that are identifiers stay."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise ValueError(f"Two names are the same in BIF, which has text only: {list(names)}.")
    legal = {
        text
        for text in texts
        if text not in KEYWORDS and (IDENTIFIER.fullmatch(text) or (also and also.fullmatch(text)))
    }
    found: list[str] = []
    for k, text in enumerate(texts):
        name = text if text in legal else _identifier(text, f"{prefix}_{k}", prefix)
        while text not in legal and (name in legal or name in found):
            name += "_"
        found.append(name)
    return found


def _identifier(text: str, default: str, prefix: str) -> str:
    """An identifier that is like a text.

    Examples
    --------
    >>> [
    ...     _identifier(text, "s_0", "s")
    ...     for text in ("<= -0.5", "(-0.5, 1.2]", "> 1.2", "x y", "-3", "table", "中")
    ... ]
    ['le_-0.5', 'gt_-0.5_le_1.2', 'gt_1.2', 'x_y', 's_-3', 's_table', 's_0']
    """
    for pattern, word in COMPARISONS:
        text = re.sub(pattern, word, text)
    text = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_")
    text = re.sub(r"__+", "_", text)
    if not re.search(r"[A-Za-z0-9]", text):
        return default
    return text if IDENTIFIER.fullmatch(text) and text not in KEYWORDS else f"{prefix}_{text}"


def _escaped(name: Any) -> str:
    """A name for a property, without anything that ends or divides one."""
    return quote(str(name), safe="") or EMPTY


def _unescaped(word: str) -> str:
    return "" if word == EMPTY else unquote(word)
