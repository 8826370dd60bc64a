"""Codes of classes at the outputs of a network (输出编码): how targets are made, and outputs are read."""

from __future__ import annotations

from typing import Any

import numpy as np


class OutputCode:
    """A code word of 0 and 1 for each class, and the class that a vector of outputs stands for.

    Parameters
    ----------
    kind : {"single", "one-of-c", "softmax", "binary", "labels"}
        One node for two classes; a node for each class, with outputs by themselves or summing to one; a node for
        each digit of the binary number of the class; a node for each of several labels.
    n_classes : int

    Examples
    --------
    >>> OutputCode("binary", 5).words.tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]
    >>> OutputCode("one-of-c", 3).probabilities(np.array([[0.6, 0.3, 0.3]]))
    array([[0.5 , 0.25, 0.25]])
    """

    def __init__(self, kind: str, n_classes: int) -> None:
        self.kind, self.n_classes = kind, n_classes
        if kind == "single":
            self.words = np.arange(max(n_classes, 1))[:, None]
        elif kind == "binary":
            n_digits = max(int(n_classes - 1).bit_length(), 1)
            self.words = np.arange(n_classes)[:, None] >> np.arange(n_digits)[::-1] & 1
        else:
            self.words = np.eye(n_classes, dtype=int)

    def targets(self, y: np.ndarray) -> np.ndarray:
        """The targets of rows with classes y (indices, or a 0/1 matrix for several labels)."""
        return y.astype(bool) if self.kind == "labels" else self.words.astype(bool)[y]

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities of the classes (of the labels, where there may be several)."""
        if self.n_classes < 2 and self.kind != "labels":
            return np.ones((len(outputs), 1), dtype=outputs.dtype)
        if self.kind == "single":
            return np.hstack([1 - outputs, outputs])
        if self.kind in ("labels", "softmax"):
            return outputs
        if self.kind == "binary":  # the digits are independent
            p = np.ones((len(outputs), self.n_classes), dtype=outputs.dtype)
            for digit, column in zip(self.words.T, outputs.T):
                p *= np.where(digit, column[:, None], 1 - column[:, None])
            outputs = p
        outputs = np.maximum(outputs, np.finfo(outputs.dtype).tiny)
        return outputs / outputs.sum(axis=1, keepdims=True)

    def decide(self, outputs: np.ndarray, threshold: float) -> np.ndarray:
        """The index of the class of each row; for several labels, a matrix of 0 and 1."""
        if self.kind == "labels":
            return (outputs > threshold).astype(int)
        if self.n_classes < 2:
            return np.zeros(len(outputs), dtype=int)
        if self.kind == "single":
            return (outputs[:, 0] > threshold).astype(int)
        if self.kind == "binary" and threshold != 0.5:  # the nearest word of the digits as they are read
            digits = outputs > threshold
            return (digits[:, None, :] != self.words[None].astype(bool)).sum(axis=2).argmin(axis=1)
        return self.probabilities(outputs).argmax(axis=1)

    def rejected(self, outputs: np.ndarray, reject: Any) -> np.ndarray:
        """Mask of the rows that are not decided.

        A pair (low, high) rejects rows with an output between the two (codes of one node or of binary digits); a
        number rejects rows whose largest probability is less than that above the second.
        """
        if isinstance(reject, tuple | list):
            low, high = reject
            return ((outputs > low) & (outputs < high)).any(axis=1)
        largest = np.sort(self.probabilities(outputs), axis=1)[:, ::-1]
        if largest.shape[1] < 2:
            return np.zeros(len(outputs), dtype=bool)
        return largest[:, 0] - largest[:, 1] < reject
