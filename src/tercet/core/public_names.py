"""Public paths of classes, and pickles that name them.

A saved model names `tercet.sequence.CRF`, never the file that holds the class, so that moving a file inside the
package does not break a saved model. `__module__` itself stays true: `inspect.getsource` finds the class's page.
"""

from __future__ import annotations

import copyreg
import sys
from typing import Any


def public_module(kind: type) -> str:
    """The shortest package path from which a class can be imported; its own module where nothing exports it.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> public_module(Perceptron)
    'tercet.linear_model'
    """
    path = kind.__module__.split(".")
    for length in range(2, len(path)):
        package = ".".join(path[:length])
        if getattr(sys.modules.get(package), kind.__qualname__, None) is kind:
            return package
    return kind.__module__


class PublicPickle:
    """Instances are pickled and copied under the public path of their class."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced = super().__reduce_ex__(protocol)
        if not isinstance(reduced, tuple) or reduced[0] is not copyreg.__newobj__:  # type: ignore[attr-defined]
            return reduced
        from tercet.io import new_instance

        kind, *arguments = reduced[1]
        return (new_instance, (public_module(kind), kind.__qualname__, *arguments), *reduced[2:])
