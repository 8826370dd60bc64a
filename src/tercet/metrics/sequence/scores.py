"""Accuracy, precision, recall and F1 of predicted tags: by tag, by sequence, by phrase."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import precision_recall_fscore_support

from tercet.core.catalog import method
from tercet.metrics.sequence.schemes import guess_scheme, tags_to_spans

Average = Literal["micro", "macro", "weighted"] | None
Tagged = Sequence[Sequence[Any]]


@method(
    zh="标注准确率",
    task="sequence labelling",
    model="the share of words whose tag is right",
    texts=["Li ch. 1, 1.9.2"],
    peers=["sklearn_crfsuite.metrics.flat_accuracy_score"],
)
def tag_accuracy(y_true: Tagged, y_pred: Tagged) -> float:
    """The share of tags that are right, over all sequences.

    Examples
    --------
    >>> tag_accuracy([["B", "O"], ["O", "O"]], [["B", "B"], ["O", "O"]])
    0.75
    """
    pairs = _pairs(y_true, y_pred)
    right = sum(a == b for true, predicted in pairs for a, b in zip(true, predicted))
    return right / max(sum(len(true) for true, _ in pairs), 1)


@method(
    zh="整句准确率",
    task="sequence labelling",
    model="the share of sequences without a wrong tag",
    texts=["Li ch. 1, 1.9.2"],
    peers=["sklearn_crfsuite.metrics.sequence_accuracy_score"],
)
def sequence_accuracy(y_true: Tagged, y_pred: Tagged) -> float:
    """The share of sequences whose tags are all right.

    Examples
    --------
    >>> sequence_accuracy([["B", "O"], ["O", "O"]], [["B", "B"], ["O", "O"]])
    0.5
    """
    pairs = _pairs(y_true, y_pred)
    return sum(list(true) == list(predicted) for true, predicted in pairs) / max(len(pairs), 1)


@method(
    zh="标记的精确率、召回率与 F1 值",
    task="sequence labelling",
    model="precision, recall and F1 of each tag, over all words",
    texts=["Li ch. 1, 1.9.2"],
    peers=["sklearn_crfsuite.metrics.flat_f1_score"],
)
def tag_scores(
    y_true: Tagged,
    y_pred: Tagged,
    *,
    labels: Sequence[Any] | None = None,
    average: Average = None,
    zero_division: float | Literal["warn"] = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F1 and count of tags, over all words of all sequences.

    Parameters
    ----------
    y_true, y_pred : lists of tag sequences
        The right tags and the predicted ones.
    labels : list, optional
        The tags to look at, in this order; by default all there are, sorted. (Leave "O" out to see the others.)
    average : {"micro", "macro", "weighted"}, optional
        How to make one number of those of the tags; None gives arrays.
    zero_division : float or "warn", default="warn"
        What 0/0 is; "warn" is 0, with a warning.

    Examples
    --------
    >>> p, r, f, n = tag_scores([["B", "O"], ["O", "O"]], [["B", "B"], ["O", "O"]], labels=["B"])
    >>> p, r, n
    (array([0.5]), array([1.]), array([1]))
    """
    pairs = _pairs(y_true, y_pred)
    true, predicted = ([str(tag) for pair in pairs for tag in pair[side]] for side in (0, 1))
    names = sorted({*true, *predicted}) if labels is None else [str(label) for label in labels]
    return precision_recall_fscore_support(
        true, predicted, labels=names, average=average, zero_division=zero_division
    )


@method(
    zh="短语的精确率、召回率与 F1 值",
    task="sequence labelling",
    model="precision, recall and F1 of whole phrases: right only with both ends and the type",
    texts=["Li ch. 1, 1.9.2"],
    peers=["seqeval.metrics.precision_recall_fscore_support"],
)
def span_scores(
    y_true: Tagged,
    y_pred: Tagged,
    *,
    scheme: str | None = None,
    strict: bool = False,
    average: Average = "micro",
    zero_division: float | Literal["warn"] = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F1 and count of phrases. A phrase is right if its type and both its ends are.

    Parameters
    ----------
    y_true, y_pred : lists of tag sequences
        The right tags and the predicted ones.
    scheme : str, optional
        The scheme of the tags (see `tags_to_spans`); by default the right tags tell.
    strict : bool, default=False
        Count only phrases that are well formed; otherwise as the CoNLL evaluation script does.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        Over all phrases; over the types; over the types by their counts. None gives arrays, a number for each
        type in the order of their names.
    zero_division : float or "warn", default="warn"
        What 0/0 is; "warn" is 0, with a warning.

    Returns
    -------
    precision, recall, f1, support

    Examples
    --------
    >>> true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> predicted = [["B-PER", "I-PER", "O", "B-PER"]]
    >>> span_scores(true, predicted)
    (0.5, 0.5, 0.5, 2)
    """
    if average not in ("micro", "macro", "weighted", None):
        raise ValueError(f"average must be one of 'micro', 'macro', 'weighted' or None; got {average!r}.")
    right, predicted, true = _counts(y_true, y_pred, scheme, strict)
    kinds = sorted({*predicted, *true})
    n_right, n_predicted, n_true = (
        np.array([c[k] for k in kinds], dtype=float) for c in (right, predicted, true)
    )
    if average == "micro":
        n_right, n_predicted, n_true = (np.array([c.sum()]) for c in (n_right, n_predicted, n_true))
    if zero_division == "warn":
        _warn_of_no_phrases(kinds if average != "micro" else ["all"], n_predicted, n_true)
        zero_division = 0.0
    precision = _ratio(n_right, n_predicted, zero_division)
    recall = _ratio(n_right, n_true, zero_division)
    f1 = _ratio(2 * n_right, n_predicted + n_true, zero_division)
    support = n_true.astype(int)
    if average is None:
        return precision, recall, f1, support
    if average == "weighted" and support.sum():
        share = support / support.sum()
    else:
        share = np.full(len(support), 1 / max(len(support), 1))
    if not len(support):
        return (zero_division,) * 3 + (0,)
    return float(precision @ share), float(recall @ share), float(f1 @ share), int(support.sum())


def span_precision(y_true: Tagged, y_pred: Tagged, **options: Any) -> float:
    """The share of predicted phrases that are right; options as for `span_scores`.

    Examples
    --------
    >>> span_precision([["B", "I", "O"]], [["B", "I", "B"]])
    0.5
    """
    return span_scores(y_true, y_pred, **options)[0]


def span_recall(y_true: Tagged, y_pred: Tagged, **options: Any) -> float:
    """The share of right phrases that are found; options as for `span_scores`.

    Examples
    --------
    >>> span_recall([["B", "I", "O"]], [["B", "I", "B"]])
    1.0
    """
    return span_scores(y_true, y_pred, **options)[1]


def span_f1(y_true: Tagged, y_pred: Tagged, **options: Any) -> float:
    """The harmonic mean of precision and recall of phrases; options as for `span_scores`.

    `sklearn.metrics.make_scorer(span_f1)` scores taggers in a cross-validation or a search.

    Examples
    --------
    >>> span_f1([["B", "I", "O"]], [["B", "I", "B"]]).__round__(4)
    0.6667
    """
    return span_scores(y_true, y_pred, **options)[2]


def span_report(
    y_true: Tagged,
    y_pred: Tagged,
    *,
    scheme: str | None = None,
    strict: bool = False,
    zero_division: float | Literal["warn"] = "warn",
    digits: int = 2,
    output_dict: bool = False,
) -> Any:
    """Precision, recall and F1 of the phrases of each type and of all, as a text or as dicts.

    Examples
    --------
    >>> print(span_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]))
                  precision    recall        f1   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         1
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
           micro       1.00      0.50      0.67         2
           macro       0.50      0.50      0.50         2
        weighted       0.50      0.50      0.50         2
    """
    options: dict[str, Any] = {"scheme": scheme, "strict": strict, "zero_division": zero_division}
    _, predicted, true = _counts(y_true, y_pred, scheme, strict)
    each = zip(*span_scores(y_true, y_pred, average=None, **options))
    lines: dict[str, Sequence[Any]] = dict(zip(sorted({*predicted, *true}), each))
    averages: tuple[Average, ...] = ("micro", "macro", "weighted")
    ends = {str(name): span_scores(y_true, y_pred, average=name, **options) for name in averages}
    columns = ("precision", "recall", "f1", "support")
    if output_dict:
        return {
            name: {c: int(v) if c == "support" else float(v) for c, v in zip(columns, values)}
            for name, values in {**lines, **ends}.items()
        }
    width = max(12, *(len(name) for name in lines), 0) if lines else 12

    def line(name: str, values: Sequence[Any]) -> str:
        return (
            f"{name:>{width}}" + "".join(f"{v:>10.{digits}f} " for v in values[:3])[:-1] + f"{values[3]:>10}"
        )

    head = " " * width + "".join(f"{name:>10} " for name in columns[:3])[:-1] + f"{'support':>10}"
    body = [line(name or "(phrase)", values) for name, values in lines.items()]
    return "\n".join([head, "", *body, "", *(line(name, values) for name, values in ends.items())])


def _pairs(y_true: Tagged, y_pred: Tagged) -> list[tuple[Sequence[Any], Sequence[Any]]]:
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences and y_pred {len(y_pred)}.")
    for k, (true, predicted) in enumerate(zip(y_true, y_pred)):
        if isinstance(true, str) or not hasattr(true, "__len__"):
            raise ValueError(f"y_true must be a list of tag sequences; its entry {k} is {true!r}.")
        if len(true) != len(predicted):
            raise ValueError(f"Sequence {k} has {len(true)} tags in y_true and {len(predicted)} in y_pred.")
    return list(zip(y_true, y_pred))


def _counts(
    y_true: Tagged, y_pred: Tagged, scheme: str | None, strict: bool
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """How many phrases of each type are right, predicted and there."""
    right: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    true: Counter[str] = Counter()
    if scheme is None:
        marked = [tags for tags in y_true if any(str(tag) != "O" for tag in tags)]
        scheme = guess_scheme(marked) if marked else None
        if scheme == "be":  # or "iobes", of phrases of two words: then the predicted tags may tell
            scheme = guess_scheme([*marked, *y_pred])
        strict = strict and scheme is not None
    for wanted, got in _pairs(y_true, y_pred):
        a, b = tags_to_spans(wanted, scheme, strict=strict), tags_to_spans(got, scheme, strict=strict)
        true.update(span.type for span in a)
        predicted.update(span.type for span in b)
        right.update(span.type for span in {*a} & {*b})
    return right, predicted, true


def _warn_of_no_phrases(kinds: list[str], n_predicted: np.ndarray, n_true: np.ndarray) -> None:
    """Warn of a precision without predicted phrases, and of a recall without right ones."""
    for name, what, counts in (("precision", "predicted", n_predicted), ("recall", "right", n_true)):
        none = np.array(kinds)[counts == 0].tolist() if kinds else ["all"]
        if none:
            some = f" of type {', '.join(none)}" if none != ["all"] else ""
            warnings.warn(
                f"{name} is set to 0: there are no {what} phrases{some}. The parameter zero_division says what 0/0 "
                "is.",
                UndefinedMetricWarning,
                stacklevel=3,
            )


def _ratio(a: np.ndarray, b: np.ndarray, otherwise: float) -> np.ndarray:
    return np.divide(a, b, out=np.full(a.shape, float(otherwise)), where=b > 0)
