"""Hidden Markov model of symbols (离散隐马尔可夫模型)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.row_sums import largest_of
from tercet.core.streams import is_streamed
from tercet.sequence.base import Sequences
from tercet.sequence.hmm.base import HMM
from tercet.sequence.hmm.em import Emissions, Theta, log, log_dirichlet, mask_known_states, probability_table

MOST_SYMBOLS = 10_000_000  # without n_features, a larger one is refused


@method(
    zh="离散隐马尔可夫模型",
    task="sequence labelling",
    approach="generative",
    model="P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t): hidden states I, symbols O",
    strategy="maximum likelihood P(O | λ), or P(O, I | λ) where states are known; maximum a posteriori with priors",
    loss="log",
    convex=False,
    algorithms={
        "Baum-Welch": "EM: expected counts by the forward-backward algorithm, then divided by their sums",
        "counting": "relative frequencies of transitions and symbols, where all states are known",
        "viterbi": "the most likely path, by dynamic programming",
        "map": "the most likely state at each step",
    },
    texts=["Li ch. 10, Alg 10.1-10.5", "Li ch. 12, Table 12.1", "watermelon notes ch. 12, eq. 12.1-12.4"],
    peers=["hmmlearn.hmm.CategoricalHMM"],
)
class CategoricalHMM(HMM):
    """Hidden Markov model of symbols, with categorical emissions.

    λ = (A, B, π): the first state is i with probability π_i, state j follows state i with probability a_ij, and
    state j gives symbol k with probability b_j(k). Symbols are whole numbers from 0 on; -1, None or NaN stands for
    one that was not observed. Where the states are known (`fit(X, y)`) they are counted; where they are not, EM
    finds parameters of which the likelihood is a local maximum.

    Parameters
    ----------
    n_components : int, optional
        The number of states. By default as many as there are labels in y, or one without y.
    startprob_prior : float or array of shape (n_components,), default=1.0
        Dirichlet prior of the first state: prior - 1 is added to the counts.
    transmat_prior : float or array of shape (n_components, n_components), default=1.0
        Dirichlet priors of the transitions: prior - 1 is added to the counts.
    emissionprob_prior : float or array of shape (n_components, n_symbols), default=1.0
        Dirichlet priors of the symbols: prior - 1 is added to the counts.
    n_features : int, optional
        The number of symbols; by default one more than the largest in X.
    topology : {"ergodic", "left-right", "bakis", "cycle"} or boolean matrix, default="ergodic"
        The allowed transitions: all; none back to an earlier state; to stay, to the next state or to skip one;
        to stay or to the next, and from the last to the first; or those where a matrix is True. "left-right" and
        "bakis" begin in state 0 unless labels say otherwise.
    algorithm : {"viterbi", "map"}, default="viterbi"
        How `predict` decodes: the most likely path, or the most likely state at each step.
    n_iter : int, default=10
        The most passes of EM; with 0 the model is only initialised.
    tol : float, default=1e-2
        EM stops when a pass raises the log-likelihood (with the log-prior) by less.
    n_init : int, default=1
        How many random starts to try; the one with the highest likelihood is kept.
    params : str, default="ste"
        What is learned: s for startprob_, t for transmat_, e for emissionprob_.
    init_params : str, default="ste"
        What is drawn before EM begins; the rest starts from the attributes as they are.
    implementation : {"scaling", "log"}, default="scaling"
        Arithmetic of the recursions: scaled (a sequence that underflows is computed again with logarithms), or
        logarithms throughout.
    unseen : {"error", "ignore"}, default="error"
        What to do with a symbol that the model does not know: refuse it, or take it for one not observed.
    random_state : int, optional
        Decides what is drawn.
    verbose : bool, default=False
        Print a line for each pass.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    startprob_ : array of shape (n_components,)
        π, the probabilities of the first state.
    transmat_ : array of shape (n_components, n_components)
        A, the probabilities of the transitions.
    emissionprob_ : array of shape (n_components, n_symbols)
        B, the probabilities of the symbols in each state.
    classes_ : array of shape (n_components,)
        The names of the states: the labels in y, or numbers.
    converged_ : bool
        Whether EM met its stopping rule.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> model = CategoricalHMM(2)  # a model can be learned, or set by hand
    >>> model.startprob_ = [0.6, 0.4]
    >>> model.transmat_ = [[0.7, 0.3], [0.4, 0.6]]
    >>> model.emissionprob_ = [[0.1, 0.4, 0.5], [0.7, 0.2, 0.1]]
    >>> model.predict([0, 1, 2, 0])
    array([1, 0, 0, 1])
    >>> tags = [["rain", "rain", "sun"], ["sun", "sun"]]
    >>> model = CategoricalHMM().fit([[0, 0, 1], [1, 2]], tags)
    >>> model.predict([[0, 1, 2]])
    [array(['rain', 'sun', 'sun'], dtype='<U4')]
    """

    symbols = True
    emissionprob_: np.ndarray

    def __init__(
        self,
        n_components: Count | None = None,
        startprob_prior: NonNegative | list | np.ndarray = 1.0,
        transmat_prior: NonNegative | list | np.ndarray = 1.0,
        *,
        emissionprob_prior: NonNegative | list | np.ndarray = 1.0,
        n_features: Count | None = None,
        topology: Literal["ergodic", "left-right", "bakis", "cycle"] | list | np.ndarray = "ergodic",
        algorithm: Literal["viterbi", "map"] = "viterbi",
        n_iter: CountOrZero = 10,
        tol: float = 1e-2,
        n_init: Count = 1,
        params: str = "ste",
        init_params: str = "ste",
        implementation: Literal["scaling", "log"] = "scaling",
        unseen: Literal["error", "ignore"] = "error",
        random_state: Seed = None,
        verbose: bool | int = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
        self.topology = topology
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.tol = tol
        self.n_init = n_init
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.unseen = unseen
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _emissions(self) -> CategoricalEmissions:
        return CategoricalEmissions(
            type(self).__name__,
            self.params,
            prior=self.emissionprob_prior,
            n_symbols=self.n_features,
            ignore_unseen=self.unseen == "ignore",
        )

    streaming = True
    streams_missing = False

    def _check_streamed(self, X: Any) -> Any:
        self.n_features_in_ = 1
        codes = X.rows.map(partial(_codes_of, type(self).__name__), dtype=np.int32)
        largest = int(largest_of(codes))
        if self.n_features is not None and largest >= self.n_features:
            raise ValueError(
                f"{type(self).__name__}: symbol {largest} is not one of the {self.n_features} symbols 0 to "
                f"{self.n_features - 1} that the model knows."
            )
        if self.n_features is None and largest > max(MOST_SYMBOLS, len(codes)):
            raise ValueError(
                f"{type(self).__name__}: symbols must be numbered from 0 on; one of them is {largest}."
            )
        return X.with_rows(codes)

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        codes = symbol_codes(X, type(self).__name__)
        if reset:
            self.n_features_in_ = 1
            known = self.n_features
        else:
            known = np.shape(self.emissionprob_)[1]
        largest = int(codes.max(initial=-1))
        if known is not None and largest >= known:
            if reset or self.unseen == "error":
                row = int(codes.argmax())
                s = int(np.searchsorted(X.borders, row, side="right")) - 1
                raise ValueError(
                    f"{type(self).__name__}: symbol {largest} at row {row - X.borders[s]} of sequence {s} is not "
                    f"one of the {known} symbols 0 to {known - 1} that the model knows."
                )
            codes[codes >= known] = -1
        elif known is None and largest > max(
            MOST_SYMBOLS, codes.size
        ):  # a table of them would not fit in memory
            raise ValueError(
                f"{type(self).__name__}: symbols must be numbered from 0 on; one of them is {largest}. "
                "(HMMTagger takes symbols of any kind; n_features says how many there are if this is meant.)"
            )
        return X.with_rows(codes)


@dataclass
class CategoricalEmissions(Emissions):
    """Emission probabilities of symbols: b_j(k), with expected counts of symbols and Dirichlet priors."""

    letters: ClassVar[dict[str, tuple[str, ...]]] = {"e": ("emissionprob_",)}

    prior: Any  # Dirichlet, a number or (N, M)
    n_symbols: int | None
    ignore_unseen: bool
    largest: int = field(default=-1, init=False)  # of the symbols that are learned from

    def prepare(self, rows: Any, states: Any, weight: Any, rng: np.random.Generator) -> None:
        self.largest = int(largest_of(rows)) if is_streamed(rows) else int(rows.max())

    def initial(self, n: int, rng: np.random.Generator | None) -> Theta:
        m = self.n_symbols or max(self.largest + 1, 1)
        weights = np.ones((n, m)) if rng is None else rng.random((n, m)) + 1e-3
        return {"emissionprob_": weights / weights.sum(axis=1, keepdims=True)}

    def checked(self, given: dict[str, Any], n: int) -> Theta:
        symbols = "n_symbols" if self.n_symbols is None else self.n_symbols
        shape = n, symbols
        B = probability_table(given["emissionprob_"], "emissionprob_", shape, self.owner, self.prior)
        return {"emissionprob_": B}

    def scaled_likelihood(
        self, rows: Any, theta: Theta, states: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return mask_known_states(self._columns(rows, theta["emissionprob_"], 1.0), states, 0.0), None

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        B = theta["emissionprob_"]
        if B.shape[1] < rows.size:
            return self._columns(rows, log(B), 0.0)
        return log(self._columns(rows, B, 1.0))

    def _columns(self, rows: np.ndarray, B: np.ndarray, missing: float) -> np.ndarray:
        """The column of B (N, M) for each symbol, as rows (T, N); `missing` where there is no symbol."""
        n, m = B.shape
        if m > rows.size:  # few of many symbols
            like = np.ascontiguousarray(B[:, rows].T)
            like[rows < 0] = missing
        else:
            table = np.empty((m + 1, n))
            table[:m] = B.T
            table[m] = missing
            like = np.take(table, rows, axis=0, mode="wrap")  # -1 is the last row
        if self.ignore_unseen:
            like[(like == (0.0 if missing else -np.inf)).all(axis=1)] = missing
        return like

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Expected counts of the symbols, (M, N)."""
        n, m = theta["emissionprob_"].shape
        counts = np.zeros((m + 1, n))
        add_symbol_counts(rows.astype(np.int64), posterior, counts)
        return (counts[:m],)

    def update(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """b_j(k) = Σ_{t: o_t = k} γ_t(j) / Σ_t γ_t(j) (10.40), with pseudo-counts."""
        counts = np.maximum(statistics[0].T + (np.asarray(self.prior) - 1.0), 0.0)
        sums = counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"emissionprob_": np.where(sums > 0, counts / sums, theta["emissionprob_"])}

    def log_prior(self, theta: Theta) -> float:
        return log_dirichlet(theta["emissionprob_"], self.prior) if "e" in self.params else 0.0

    def n_parameters(self, theta: Theta) -> dict[str, int]:
        n, m = theta["emissionprob_"].shape
        return {"e": n * (m - 1)}

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        cumulated = np.cumsum(theta["emissionprob_"], axis=1)
        symbols = np.empty(states.size, dtype=np.int64)
        u = rng.random(states.size)
        for state in np.unique(states):
            here = states == state
            line = cumulated[state]
            drawn = np.searchsorted(line, u[here] * line[-1], side="right")
            symbols[here] = np.minimum(drawn, np.searchsorted(line, line[-1]))
        return symbols[:, None]

    def least_chunk_rows(self, theta: Theta) -> int:
        return theta["emissionprob_"].shape[1]


def _codes_of(owner: str, rows: np.ndarray) -> np.ndarray:
    """Symbols of a chunk of a source."""
    return symbol_codes(Sequences(rows[:, 0], np.array([0, len(rows)]), False), owner)


def symbol_codes(X: Sequences, owner: str) -> np.ndarray:
    """Symbols as int32; -1 where none was observed."""
    rows = np.asarray(X.rows)
    if rows.dtype == object and not any(isinstance(v, list | tuple | np.ndarray) for v in rows):
        rows = np.array([-1 if v is None or v != v else v for v in rows])
    if rows.dtype.kind == "f":
        rows = np.where(np.isnan(rows), -1.0, rows)
    good = rows.dtype.kind in "iub" or (rows.dtype.kind == "f" and np.isfinite(rows).all())
    if not good or (rows.dtype.kind == "f" and (rows != np.round(rows)).any()):
        raise ValueError(
            f"{owner}: symbols must be whole numbers from 0 on (-1, None or NaN for none); "
            f"X has {X.rows[:5]!r} ... "
            "(HMMTagger takes symbols of any kind.)"
        )
    if rows.size and (rows.min() < -1 or rows.max() >= 2**31 - 1):
        raise ValueError(
            f"{owner}: symbols must be whole numbers from 0 to 2**31 - 2 (-1 for none); got {rows.min()} "
            f"to {rows.max()}."
        )
    return rows.astype(np.int32)


@kernel
def add_symbol_counts(symbols, posterior, counts):
    """Add each row of the posterior (T, N) to the row of its symbol in counts (M + 1, N): the last, if it has
    none."""
    last = counts.shape[0] - 1
    for t in range(symbols.size):
        k = symbols[t] if symbols[t] >= 0 else last
        for j in range(counts.shape[1]):
            counts[k, j] += posterior[t, j]
