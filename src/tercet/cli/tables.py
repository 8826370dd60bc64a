"""From the DATA on the command line to a table: a file, or embedded data by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.core.notes import Note

if TYPE_CHECKING:
    from tercet.datasets import Table

# name -> the target's name
EMBEDDED = {
    "breast_cancer": "diagnosis",
    "iris": "species",
    "wine": "cultivar",
    "digits": "digit",
    "diabetes": "progression",
    "watermelon": "好瓜",
}
DEFAULT = "breast_cancer"


def open_table(data: str | None, *, rows: int | None = None, seed: int = 0) -> Table:
    """The table that DATA names; embedded data when it names none."""
    from tercet.datasets import read_table

    if data is None or (data in EMBEDDED and not Path(data).exists()):
        return embedded(data or DEFAULT)
    return read_table(data, rows=rows, seed=seed)


def embedded(name: str) -> Table:
    """One of the tables that come with the packages; nothing is downloaded."""
    import polars

    from tercet.datasets import Table

    frame = _watermelon() if name == "watermelon" else _sklearn(name)
    return Table(
        frame=polars.DataFrame(frame),
        sparse=None,
        sparse_names=None,
        target=EMBEDDED[name],
        kinds={},
        source=name,
        format="embedded",
        total_rows=len(frame[EMBEDDED[name]]),
        notes=(Note("embedded data: {name}", name=name),),
    )


def _sklearn(name: str) -> dict[str, Any]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    target = bunch.target
    if len(getattr(bunch, "target_names", [])) and name != "digits":
        target = [str(bunch.target_names[k]) for k in target]
    columns = [str(column) for column in bunch.feature_names]
    return {**dict(zip(columns, bunch.data.T.copy())), EMBEDDED[name]: target}


def _watermelon() -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.datasets.watermelon import ZH

    melons = load_watermelon("3.0")
    good = ["是" if label else "否" for label in melons.target]
    return {**{name: list(values) for name, values in zip(ZH, melons.data.T)}, EMBEDDED["watermelon"]: good}
