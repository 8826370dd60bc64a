"""Bayesian networks in the interchange format BIF (贝叶斯网交换格式), read and written."""

from __future__ import annotations

import itertools
import math
import re
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tercet.core.catalog import method
from tercet.graphical.bayesian_network import BayesianNetwork

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+', re.DOTALL)
PLAIN = re.compile(r"[A-Za-z0-9_.+-]+")


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
        The text (anything with a brace in it), or the path of a file.

    Returns
    -------
    BayesianNetwork

    Raises
    ------
    ValueError
        With the number of the line, what was found, and what was expected there.

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
        where, text = str(source), Path(source).read_text(encoding="utf-8-sig")
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

    Parameters
    ----------
    network : fitted BayesianNetwork
        The network.
    path : str or path, optional
        A file to write to.

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
    names = [_quoted(name) for name in model.names]
    states = [[_quoted(state) for state in known] for known in model.states]
    lines = ["network unknown {", "}"]
    for name, known in zip(names, states):
        lines += [
            f"variable {name} {{",
            f"  type discrete [ {len(known)} ] {{ {', '.join(known)} }};",
            "}",
        ]
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
        Path(path).write_text(text, encoding="utf-8")
    return text


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
        states: Any = self.states
        try:
            return BayesianNetwork.from_tables({name: self.tables[name] for name in self.states}, states)
        except ValueError as error:
            found = re.search(r"table of '(.*?)' ", str(error))
            line = (
                f", line {self.lines['of ' + found[1]]}" if found and f"of {found[1]}" in self.lines else ""
            )
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
                self._skip_to(";")
            elif word == "type":
                self._type(name)
            else:
                self._fail("'type', 'property' or '}'", word)
        if name not in self.states:
            self._error(f"variable {name!r} has no type")
        self.lines[name] = line

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


def _quoted(name: Any) -> str:
    text = str(name)
    if '"' in text or "\n" in text:
        raise ValueError(f"BIF has no way to write the name {text!r}.")
    return text if PLAIN.fullmatch(text) else f'"{text}"'
