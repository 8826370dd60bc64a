"""Update rules of stochastic gradient descent.

Each rule is usable on its own, `theta = rule.step(theta, g)`, and by name in `stochastic_gradient` and `minimize`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["RULES", "SGD", "AdaGrad", "Adam", "Momentum", "Nesterov", "RMSProp"]


@dataclass
class SGD:
    """Stochastic gradient descent: theta <- theta - eta g (Li eq. 29.1); base of the other rules.

    Parameters
    ----------
    learning_rate : float, default=0.01
        eta.
    schedule : {"constant", "inverse", "power"} or callable, default="constant"
        eta in step t = 1, 2, ...: eta; eta / (1 + decay (t - 1)); eta / t^decay; or schedule(t) times eta.
    decay : float, default=0.5
        The schedule's constant.
    weight_decay : float, default=0.0
        Adds weight_decay theta to the gradient.
    decoupled : bool, default=False
        Shrink theta by eta times weight_decay instead, which differs for the rules that rescale gradients.
    clip : float, optional
        Largest norm of a gradient; longer gradients are clipped to it.

    Examples
    --------
    >>> rule = SGD(0.1)
    >>> theta = np.array([1.0])
    >>> for _ in range(3):
    ...     theta = rule.step(theta, 2 * theta)
    >>> theta
    array([0.512])
    """

    learning_rate: float = 0.01
    schedule: str | Callable[[int], float] = "constant"
    decay: float = 0.5
    weight_decay: float = 0.0
    decoupled: bool = False
    clip: float | None = None
    t: int = field(default=0, init=False, repr=False)
    averages: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        limits = {"learning_rate": math.inf, "weight_decay": math.inf, "decay": math.inf, "clip": math.inf}
        for name, high in {**limits, "beta1": 1.0, "beta2": 1.0, "eps": math.inf}.items():
            value = getattr(self, name, None)
            if value is not None and not 0 <= value < high:
                raise ValueError(f"{type(self).__name__}: {name} must be in [0, {high}); got {value!r}.")
        if not callable(self.schedule) and self.schedule not in ("constant", "inverse", "power"):
            raise ValueError(
                f"{type(self).__name__}: schedule must be 'constant', 'inverse', 'power' or a callable; "
                f"got {self.schedule!r}."
            )

    def reset(self) -> None:
        """Restart: t = 0, no averages."""
        self.t, self.averages = 0, {}

    def step(self, theta: ArrayLike, g: ArrayLike) -> np.ndarray:
        """The parameters after one step with gradient g.

        Parameters
        ----------
        theta, g : arrays of one shape
            The parameters and the gradient at them (of the whole sample or of a few rows).

        Returns
        -------
        theta : array
            A new array.
        """
        theta, g = np.asarray(theta), np.asarray(g)
        self.t += 1
        eta = self.learning_rate * self._factor()
        if self.clip is not None:
            g = g * min(1.0, self.clip / max(float(np.linalg.norm(g)), 1e-300))
        if self.weight_decay and self.decoupled:
            theta = theta - eta * self.weight_decay * theta
        elif self.weight_decay:
            g = g + self.weight_decay * theta
        return theta - eta * self.direction(g)

    def direction(self, g: np.ndarray) -> np.ndarray:
        """The direction of the step for gradient g."""
        return g

    def _factor(self) -> float:
        if callable(self.schedule):
            return self.schedule(self.t)
        if self.schedule == "inverse":
            return 1.0 / (1.0 + self.decay * (self.t - 1))
        return self.t**-self.decay if self.schedule == "power" else 1.0

    def _average(self, name: str, new: np.ndarray, beta: float, share: float) -> np.ndarray:
        """v <- beta v + share new, from v = 0."""
        old = self.averages.get(name)
        self.averages[name] = share * new if old is None else beta * old + share * new
        return self.averages[name]


@dataclass
class Momentum(SGD):
    """Momentum: v <- beta1 v + (1 - beta1) g, theta <- theta - eta v (Li eq. 29.2, 29.3).

    The text's v is an average of gradients. With ``average=False`` it is a sum, v <- beta1 v + g, as in
    PyTorch: the same path at a learning rate 1 / (1 - beta1) times smaller.

    Parameters
    ----------
    learning_rate, schedule, decay, weight_decay, decoupled, clip
        As in `SGD`.
    beta1 : float, default=0.9
        Decay rate of v, in [0, 1).
    average : bool, default=True
        Whether v is an average of gradients or a sum.

    Examples
    --------
    >>> Momentum(0.1).step([1.0], [2.0])
    array([0.98])
    """

    beta1: float = 0.9
    average: bool = True

    def direction(self, g: np.ndarray) -> np.ndarray:
        return self._average("v", g, self.beta1, self._share)

    @property
    def _share(self) -> float:
        return 1.0 - self.beta1 if self.average else 1.0


@dataclass
class Nesterov(Momentum):
    """Nesterov momentum: theta <- theta - eta (beta1 v + (1 - beta1) g).

    Parameters
    ----------
    learning_rate, schedule, decay, weight_decay, decoupled, clip
        As in `SGD`.
    beta1 : float, default=0.9
        Decay rate of v, in [0, 1).
    average : bool, default=True
        Whether v is an average of gradients or a sum.

    Examples
    --------
    >>> Nesterov(0.1).step([1.0], [2.0])
    array([0.962])
    """

    def direction(self, g: np.ndarray) -> np.ndarray:
        return self.beta1 * super().direction(g) + self._share * g


@dataclass
class AdaptiveRule(SGD):
    """Base of the rules that scale by the size of past gradients.

    The text adds eps inside the root, sqrt(s + eps); the papers and PyTorch outside, sqrt(s) + eps:
    `eps_inside` says which.
    """

    eps: float = 1e-8
    eps_inside: bool = True

    def _scaled(self, g: np.ndarray, s: np.ndarray) -> np.ndarray:
        return g / (np.sqrt(s + self.eps) if self.eps_inside else np.sqrt(s) + self.eps)


@dataclass
class AdaGrad(AdaptiveRule):
    """AdaGrad: s <- s + g g, theta <- theta - eta g / sqrt(s + eps) (Li ch. 29.2).

    Parameters
    ----------
    learning_rate, schedule, decay, weight_decay, decoupled, clip
        As in `SGD`.
    eps : float, default=1e-8
        Added for numerical stability.
    eps_inside : bool, default=True
        Whether eps is added under the root, as in the text, or to it, as in the papers and PyTorch.

    Examples
    --------
    >>> AdaGrad(0.1, eps=0.0).step([1.0, 1.0], [2.0, -20.0])
    array([0.9, 1.1])
    """

    def direction(self, g: np.ndarray) -> np.ndarray:
        return self._scaled(g, self._average("s", g * g, 1.0, 1.0))


@dataclass
class RMSProp(AdaptiveRule):
    """RMSProp: s <- beta2 s + (1 - beta2) g g, theta <- theta - eta g / sqrt(s + eps) (Li eq. 29.5, 29.6).

    Parameters
    ----------
    learning_rate, schedule, decay, weight_decay, decoupled, clip
        As in `SGD`.
    beta2 : float, default=0.9
        Decay rate of s, in [0, 1).
    eps : float, default=1e-8
        Added for numerical stability.
    eps_inside : bool, default=True
        Whether eps is added under the root, as in the text, or to it, as in the papers and PyTorch.

    Examples
    --------
    >>> RMSProp(0.1, beta2=0.75, eps=0.0).step([1.0, 1.0], [2.0, -20.0])
    array([0.8, 1.2])
    """

    beta2: float = 0.9

    def direction(self, g: np.ndarray) -> np.ndarray:
        return self._scaled(g, self._average("s", g * g, self.beta2, 1.0 - self.beta2))


@dataclass
class Adam(AdaptiveRule):
    """Adam: momentum scaled as in RMSProp, with bias correction (Li eq. 29.8-29.12).

    v / (1 - beta1^t) and s / (1 - beta2^t) enter the step; the running averages themselves stay as they are.
    (Equation 29.11 prints v_t where s_t is meant.) `bias_correction=False` leaves the correction out.

    Parameters
    ----------
    learning_rate, schedule, decay, weight_decay, decoupled, clip
        As in `SGD`.
    beta1 : float, default=0.9
        Decay rate of v, in [0, 1).
    beta2 : float, default=0.999
        Decay rate of s, in [0, 1).
    eps : float, default=1e-8
        Added for numerical stability.
    eps_inside : bool, default=True
        Whether eps is added under the root, as in the text, or to it, as in the papers and PyTorch.
    bias_correction : bool, default=True
        Whether to divide by 1 - beta^t.

    Examples
    --------
    >>> Adam(0.1, eps=0.0).step([1.0, 1.0], [2.0, -20.0])
    array([0.9, 1.1])
    """

    beta1: float = 0.9
    beta2: float = 0.999
    bias_correction: bool = True

    def direction(self, g: np.ndarray) -> np.ndarray:
        v = self._average("v", g, self.beta1, 1.0 - self.beta1)
        s = self._average("s", g * g, self.beta2, 1.0 - self.beta2)
        if self.bias_correction:
            v, s = v / (1.0 - self.beta1**self.t), s / (1.0 - self.beta2**self.t)
        return self._scaled(v, s)


RULES: dict[str, type[SGD]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "nesterov": Nesterov,
    "adagrad": AdaGrad,
    "rmsprop": RMSProp,
    "adam": Adam,
}
