"""A fitted model of trees as one Python file that needs NumPy alone."""

from __future__ import annotations

import json
import os
from importlib import resources
from typing import Any

from tercet.export.document import model_document, written

ENDING = '''

MODEL = json.loads(r"""{document}""")


if __name__ == "__main__":
    import sys

    print(json.dumps(predict(MODEL, json.load(sys.stdin)).tolist()))
'''


def export_python(model: Any, path: str | os.PathLike[str] | None = None) -> str | None:
    """Write a fitted model of trees as a Python module that needs NumPy, and nothing of this library.

    The module has `MODEL` (the document of `model_document`) and the functions `scores(MODEL, X)`,
    `predict(MODEL, X)` and, for classes, `predict_proba(MODEL, X)`. They give what the model itself gives, to the
    last bit. Run as a script it reads rows as JSON and writes predictions as JSON.

    Parameters
    ----------
    model : fitted model of trees
        See `tercet.inspection.additive_trees` for which.
    path : str or path, optional
        Where to write; by default the text is returned.

    Returns
    -------
    text : str, or None when it was written to a file

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> text = export_python(DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]))
    >>> module = {"__name__": "exported"}
    >>> exec(text, module)
    >>> module["predict"](module["MODEL"], [[0.0], [5.0]]).tolist()
    ['a', 'b']
    """
    source = resources.files("tercet.export").joinpath("runtime.py").read_text(encoding="utf-8")
    source = source.replace("import math\n", "import json\nimport math\n", 1)
    # JSON has no three quotation marks in a row: it may stand in a raw string of the module.
    document = json.dumps(model_document(model), ensure_ascii=True, allow_nan=False)
    return written(source + ENDING.replace("{document}", document), path)
