"""ONNX: models of trees as a TreeEnsembleRegressor, with what turns its scores into classes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tercet.core.atomic_files import replacing
from tercet.export.document import model_document

LINKS = (
    "identity",
    "exp",
    "probability",
    "logistic",
    "exponential",
    "softmax",
    "adaboost",
    "adaboost-m1",
)


def onnx_attributes(model: Any) -> dict[str, Any]:
    """The attributes of the ONNX operator TreeEnsembleRegressor (ai.onnx.ml, version 3) for a model of trees.

    Its outputs are the scores of `tercet.inspection.additive_trees`, of AdaBoost one for each class.
    `nodes_values_as_tensor`, `target_weights_as_tensor` and `base_values_as_tensor` are arrays of float64, which
    ONNX has as tensors.

    Parameters
    ----------
    model : fitted model of trees
        All columns must be numbers.

    Returns
    -------
    dict

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> found = onnx_attributes(DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 3.0, 3.0]))
    >>> (
    ...     found["nodes_modes"],
    ...     found["nodes_values_as_tensor"].tolist(),
    ...     found["target_weights_as_tensor"].tolist(),
    ... )
    (['BRANCH_LEQ', 'LEAF', 'LEAF'], [0.5, 0.0, 0.0], [0.0, 3.0])
    """
    return _attributes(_checked_document(model))


def _checked_document(model: Any) -> dict[str, Any]:
    document = model_document(model)
    if document["link"] not in LINKS:
        raise ValueError(
            f"{document['model']} cannot be written as ONNX: its classes follow from no tree ensemble."
        )
    if any(known is not None for known in document["categories"]):
        raise ValueError(
            f"{document['model']} cannot be written as ONNX: it has columns of categories; encode them first."
        )
    return document


def _attributes(document: dict[str, Any]) -> dict[str, Any]:
    scale = np.array(document["factor"]) / document["divisor"]
    nodes: dict[str, list[Any]] = {
        name: []
        for name in (
            "nodes_treeids",
            "nodes_nodeids",
            "nodes_featureids",
            "nodes_modes",
            "nodes_truenodeids",
            "nodes_falsenodeids",
            "nodes_missing_value_tracks_true",
            "target_treeids",
            "target_nodeids",
            "target_ids",
        )
    }
    thresholds: list[float] = []
    weights: list[float] = []
    for k, tree in enumerate(document["trees"]):
        for t, child in enumerate(tree["child"]):
            inner = child >= 0
            nodes["nodes_treeids"].append(k)
            nodes["nodes_nodeids"].append(t)
            nodes["nodes_featureids"].append(tree["feature"][t] if inner else 0)
            nodes["nodes_modes"].append("BRANCH_LEQ" if inner else "LEAF")
            nodes["nodes_truenodeids"].append(child if inner else 0)
            nodes["nodes_falsenodeids"].append(child + 1 if inner else 0)
            nodes["nodes_missing_value_tracks_true"].append(int(inner and tree["missing"][t] == 0))
            thresholds.append(float(tree["threshold"][t]) if inner else 0.0)
            for c, value in enumerate([] if inner else tree["value"][t]):
                nodes["target_treeids"].append(k)
                nodes["target_nodeids"].append(t)
                nodes["target_ids"].append(tree["first_score"] + c)
                weights.append(value * scale[tree["first_score"] + c])
    return {
        **nodes,
        "nodes_values_as_tensor": np.array(thresholds),
        "target_weights_as_tensor": np.array(weights),
        "base_values_as_tensor": np.array(document["start"]),
        "n_targets": len(document["start"]),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


def export_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> bytes | None:
    """Write a fitted model of trees as ONNX; needs the package `onnx`.

    The input is `X`, float64 of shape (n, n_features). A regressor has the output `prediction`; a classifier
    `label` and `probabilities`. ONNX has float32 scores: predictions agree to some seven digits.

    Parameters
    ----------
    model : fitted model of trees
        A decision tree, forest, extra trees, bagging of trees, gradient or histogram boosting, AdaBoost of trees;
        all columns must be numbers.
    path : str or path, optional
        Where to write; by default the bytes are returned.

    Returns
    -------
    bytes, or None when they were written to a file

    Examples
    --------
    >>> import importlib.util
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"])
    >>> if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime"):
    ...     import onnxruntime
    ...
    ...     session = onnxruntime.InferenceSession(export_onnx(model))
    ...     labels, probabilities = session.run(None, {"X": np.array([[0.0], [5.0]])})
    ...     assert labels.tolist() == ["a", "b"]
    """
    document = _checked_document(model)
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError("ONNX files need the package onnx: pip install onnx.") from error
    attributes = _attributes(document)
    tensors = [name for name in attributes if name.endswith("_as_tensor")]
    plain = {name: value for name, value in attributes.items() if name not in tensors}
    plain |= {name: numpy_helper.from_array(attributes[name], name) for name in tensors}
    nodes = [helper.make_node("TreeEnsembleRegressor", ["X"], ["scores"], domain="ai.onnx.ml", **plain)]
    shape = ["n", len(document["feature_names"])]
    inputs = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, shape)]
    constants = []
    if document["classes"] is None:
        nodes.append(
            helper.make_node("Exp" if document["link"] == "exp" else "Identity", ["scores"], ["prediction"])
        )
        outputs = [
            helper.make_tensor_value_info("prediction", TensorProto.FLOAT, ["n", len(document["start"])])
        ]
    else:
        K, words = len(document["classes"]), isinstance(document["classes"][0], str)
        more, arrays = _class_nodes(document)
        nodes += [helper.make_node(*given, **options) for given, options in more]
        constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        kind = TensorProto.STRING if words else TensorProto.INT64
        outputs = [
            helper.make_tensor_value_info("label", kind, ["n"]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", K]),
        ]
    graph = helper.make_graph(nodes, document["model"], inputs, outputs, constants)
    versions = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=versions, ir_version=8, producer_name="tercet")
    onnx.checker.check_model(made)
    if path is None:
        return made.SerializeToString()
    with replacing(path) as file:
        file.write(made.SerializeToString())
    return None


def _class_nodes(document: dict[str, Any]) -> tuple[list[Any], dict[str, np.ndarray]]:
    """The operators from scores to probabilities and labels, and the constants that they need."""
    link, labels = document["link"], document["classes"]
    if not all(isinstance(label, str) for label in labels) and not all(
        type(label) is int for label in labels
    ):
        raise ValueError(
            f"{document['model']} cannot be written as ONNX: classes are strings or integers there."
        )
    arrays = {"classes": np.array(labels, dtype=object if isinstance(labels[0], str) else np.int64)}
    nodes: list[Any] = []
    if link in ("logistic", "exponential"):
        source = "scores"
        if link == "exponential":
            arrays["two"] = np.array(2.0, dtype=np.float32)
            nodes.append((("Mul", ["scores", "two"], ["twice"]), {}))
            source = "twice"
        arrays["one"] = np.array(1.0, dtype=np.float32)
        nodes += [
            (("Sigmoid", [source], ["second"]), {}),
            (("Sub", ["one", "second"], ["first"]), {}),
            (("Concat", ["first", "second"], ["probabilities"]), {"axis": 1}),
        ]
    elif link == "softmax" or (link.startswith("adaboost") and len(labels) == 2):
        # Half the log odds are half the difference of AdaBoost's two scores.
        nodes.append((("Softmax", ["scores"], ["probabilities"]), {"axis": 1}))
    elif link == "adaboost":
        arrays["share"] = np.array(1.0 / (len(labels) - 1), dtype=np.float32)
        nodes += [
            (("Mul", ["scores", "share"], ["shared"]), {}),
            (("Softmax", ["shared"], ["probabilities"]), {"axis": 1}),
        ]
    else:
        nodes.append((("Identity", ["scores"], ["probabilities"]), {}))
    nodes += [
        (("ArgMax", ["probabilities"], ["place"]), {"axis": 1, "keepdims": 0}),
        (("Gather", ["classes", "place"], ["label"]), {"axis": 0}),
    ]
    return nodes, arrays
