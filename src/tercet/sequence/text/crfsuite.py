"""Models of CRFsuite, as the text that `crfsuite dump` (or `pycrfsuite.Tagger.dump`) writes: read and written."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tercet.core.catalog import method

SECTIONS = ("FILEHEADER", "LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES")
ENTRY = re.compile(r"^\s*\d+: (.*)$")
FEATURE = re.compile(r"^  \([01]\) (.*): (\S+)$")
ARROW = " --> "


class CRFsuiteDump(NamedTuple):
    """The contents of a dump: names, and the weights of pairs of names."""

    labels: list[str]
    attributes: list[str]
    transitions: dict[tuple[str, str], float]
    states: dict[tuple[str, str], float]


def parse_dump(source: Any, encoding: str = "utf-8") -> CRFsuiteDump:
    """Read a dump from a path, an open text file or lines.

    Examples
    --------
    >>> lines = [
    ...     "LABELS = {",
    ...     "      0: A",
    ...     "}",
    ...     "ATTRIBUTES = {",
    ...     "      0: w=a",
    ...     "}",
    ...     "TRANSITIONS = {",
    ...     "}",
    ...     "STATE_FEATURES = {",
    ...     "  (0) w=a --> A: 1.5",
    ...     "}",
    ... ]
    >>> parse_dump(lines).states
    {('w=a', 'A'): 1.5}
    """
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else "The dump"
    if isinstance(source, str | os.PathLike):
        source = Path(source).read_text(encoding=encoding).split("\n")
    sections: dict[str, list[tuple[int, str]]] = {}
    where = None
    for number, line in enumerate(source, 1):
        line = line.rstrip("\n")
        head = line.partition(" = {")[0]
        if where is None and head in SECTIONS:
            where = sections.setdefault(head, [])
        elif line == "}":
            where = None
        elif where is not None:
            where.append((number, line))
        elif line.strip():
            raise ValueError(f"{name}, line {number}: not the dump of a CRFsuite model: {line[:60]!r}.")
    missing = [section for section in SECTIONS[1:] if section not in sections]
    if missing:
        raise ValueError(f"{name} is not the whole dump of a CRFsuite model: it has no {', '.join(missing)}.")
    labels = [_match(ENTRY, line, name, number)[1] for number, line in sections["LABELS"]]
    attributes = [_match(ENTRY, line, name, number)[1] for number, line in sections["ATTRIBUTES"]]
    transitions = _features(sections["TRANSITIONS"], {*labels}, {*labels}, name)
    states = _features(sections["STATE_FEATURES"], {*attributes}, {*labels}, name)
    return CRFsuiteDump(labels, attributes, dict(transitions), dict(states))


def _match(pattern: re.Pattern, line: str, name: str, number: int) -> re.Match:
    found = pattern.match(line)
    if found is None:
        raise ValueError(f"{name}, line {number}: cannot be read: {line[:60]!r}.")
    return found


def _features(
    lines: Iterable[tuple[int, str]], left: set[str], right: set[str], name: str
) -> Iterator[tuple[tuple[str, str], float]]:
    for number, line in lines:
        names, weight = _match(FEATURE, line, name, number).groups()
        # Names may hold an arrow themselves: what stands on both sides of the right one is known.
        pieces = names.split(ARROW)
        pairs = [(ARROW.join(pieces[:k]), ARROW.join(pieces[k:])) for k in range(1, len(pieces))]
        known = [pair for pair in pairs if pair[0] in left and pair[1] in right]
        if len(known) != 1:
            raise ValueError(f"{name}, line {number}: not a pair of known names: {line[:60]!r}.")
        try:
            value = float(weight)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{name}, line {number}: the weight {weight!r} is not a finite number.")
        yield known[0], value


@method(
    zh="读取 CRFsuite 模型",
    task="sequence labelling",
    model="the text dump of a CRFsuite model → a fitted CRF",
    texts=["Li ch. 11"],
    peers=["pycrfsuite.Tagger.dump"],
)
def read_crfsuite(source: Any, *, encoding: str = "utf-8") -> Any:
    """A fitted `CRF` from the text dump of a CRFsuite model.

    The dump has six decimals, so scores agree with CRFsuite's to about that.

    Parameters
    ----------
    source : path, open text file or lines
        What `crfsuite dump model` or `pycrfsuite.Tagger.dump(file)` has written.
    encoding : str, default="utf-8"
        Of a file that is given by its path.

    Returns
    -------
    CRF

    Examples
    --------
    >>> lines = [
    ...     "LABELS = {",
    ...     "      0: A",
    ...     "      1: B",
    ...     "}",
    ...     "ATTRIBUTES = {",
    ...     "      0: w=a",
    ...     "}",
    ...     "TRANSITIONS = {",
    ...     "  (1) A --> B: 2.5",
    ...     "}",
    ...     "STATE_FEATURES = {",
    ...     "  (0) w=a --> A: 1.5",
    ...     "}",
    ... ]
    >>> read_crfsuite(lines).predict([[["w=a"], []]])
    [['A', 'B']]
    """
    from tercet.sequence.crf.crf import CRF

    return CRF.of_weights(*parse_dump(source, encoding))


def write_crfsuite(model: Any, target: Any, *, encoding: str = "utf-8") -> None:
    """Write a fitted `CRF` as such a dump, to a path or an open text file.

    Examples
    --------
    >>> import io
    >>> from tercet.sequence import CRF
    >>> model = CRF().fit([[["w=a"], ["w=b"]]], [["A", "B"]])
    >>> dump = io.StringIO()
    >>> write_crfsuite(model, dump)
    >>> dump.getvalue().splitlines()[:4]
    ['FILEHEADER = {', '  num_labels: 2', '  num_attrs: 2', '}']
    >>> read_crfsuite(dump.getvalue().splitlines()).predict([[["w=b"]]])
    [['B']]
    """
    if len(model.bigram_weights_):
        attribute, before, label = next(iter(model.bigram_features_))
        raise ValueError(
            "CRFsuite has no weights of (attribute, label, label), which transition_attributes have; the first of "
            f"{len(model.bigram_weights_)} is for {attribute!r} from {before!r} to {label!r}."
        )
    names = {"LABELS": model.classes_, "ATTRIBUTES": model.attributes_}
    weights = {"TRANSITIONS": model.transition_features_, "STATE_FEATURES": model.state_features_}
    lines = [
        "FILEHEADER = {",
        f"  num_labels: {len(names['LABELS'])}",
        f"  num_attrs: {len(names['ATTRIBUTES'])}",
        "}",
        "",
    ]
    for section, values in names.items():
        for value in values:
            if "\n" in str(value):
                raise ValueError(f"{value!r} has a line break: a dump has a line for each name.")
        lines += [f"{section} = {{", *(f"{k:7d}: {value}" for k, value in enumerate(values)), "}", ""]
    for section, table in weights.items():
        mark = 1 if section == "TRANSITIONS" else 0
        lines += [
            f"{section} = {{",
            *(f"  ({mark}) {a}{ARROW}{b}: {w:f}" for (a, b), w in table.items()),
            "}",
            "",
        ]
    text = "\n".join(lines) + "\n"
    if hasattr(target, "write"):
        target.write(text)
    else:
        Path(target).write_text(text, encoding=encoding, newline="\n")
