"""Embedded datasets, which come with the packages: nothing is downloaded.

scikit-learn ships the classical ones as text files, which are read here without importing scikit-learn: that alone
takes longer than everything else before the first fit.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.core.messages import Message

if TYPE_CHECKING:
    import polars

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

CELLS = [
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points"),
    *("symmetry", "fractal dimension"),
]
FEATURES = {
    "breast_cancer": [f"{which} {what}" for which in ("mean", "error of", "worst") for what in CELLS],
    "iris": ["sepal length", "sepal width", "petal length", "petal width"],
    "wine": [
        *("alcohol", "malic acid", "ash", "alkalinity of ash", "magnesium", "total phenols", "flavanoids"),
        *("nonflavanoid phenols", "proanthocyanins", "colour intensity", "hue", "OD280/OD315", "proline"),
    ],
    "digits": [f"pixel {row}, {column}" for row in range(1, 9) for column in range(1, 9)],
    "diabetes": [
        *("age", "sex", "body mass index", "blood pressure", "cholesterol", "LDL", "HDL"),
        *("cholesterol / HDL", "log triglycerides", "blood sugar"),
    ],
}
FILES = {"breast_cancer": "breast_cancer.csv", "iris": "iris.csv", "wine": "wine_data.csv"}


def is_embedded(data: str | None) -> bool:
    """Whether DATA is embedded data: by name, or because there is none."""
    return data is None or (data in EMBEDDED and not Path(data).exists())


def embedded(name: str) -> Table:
    """One of the tables."""
    import polars

    from tercet.datasets import Table

    frame = polars.DataFrame(_watermelon()) if name == "watermelon" else _shipped(name)
    return Table(
        frame=frame,
        sparse=None,
        sparse_names=None,
        target=EMBEDDED[name],
        kinds={},
        source=name,
        format="embedded",
        total_rows=frame.height,
        notes=(Message("embedded data: {name}", name=name),),
    )


def _shipped(name: str) -> polars.DataFrame:
    """A table of scikit-learn's."""
    import polars

    spec = importlib.util.find_spec("sklearn")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0], "datasets", "data")
    columns = [*FEATURES[name], EMBEDDED[name]]
    if name == "diabetes":
        raw: dict[str, Any] = {"has_header": False, "separator": " ", "infer_schema_length": None}
        parts = [
            polars.read_csv(folder / f"diabetes_{part}.csv.gz", **raw) for part in ("data_raw", "target")
        ]
        series = [column for part in parts for column in part.get_columns()]
        return polars.DataFrame([column.alias(name) for column, name in zip(series, columns)])
    if name == "digits":
        return polars.read_csv(folder / "digits.csv.gz", has_header=False, new_columns=columns)
    file = folder / FILES[name]
    with file.open(encoding="ascii") as lines:
        labels = next(lines).strip().split(",")[2:]  # rows, columns, and the names of the classes
    frame = polars.read_csv(
        file, has_header=False, skip_rows=1, new_columns=columns, infer_schema_length=None
    )
    return frame.with_columns(polars.col(EMBEDDED[name]).replace_strict(dict(enumerate(labels))))


def _watermelon() -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.datasets.watermelon import ZH

    melons = load_watermelon("3.0")
    good = ["是" if label else "否" for label in melons.target]
    return {**{name: list(values) for name, values in zip(ZH, melons.data.T)}, EMBEDDED["watermelon"]: good}
