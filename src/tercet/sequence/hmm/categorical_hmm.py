"""Hidden Markov model of symbols (离散隐马尔可夫模型)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.sequence.hmm.base import HMM, check_prior, distributions
from tercet.sequence.hmm.e_step import Theta, log, log_dirichlet, only_known
from tercet.sequence.text.sequences import Sequences

MOST = 10_000_000  # symbols that a model may have without being told


@method(
    zh="离散隐马尔可夫模型",
    task="sequence labelling",
    approach="generative",
    model="P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t): hidden states I, symbols O",
    strategy="largest likelihood P(O | λ), or P(O, I | λ) where states are known; largest posterior with priors",
    algorithms={
        "Baum-Welch": "EM: expected counts by forward and backward passes, then their shares, by turns",
        "counting": "shares of the transitions and symbols seen, where all states are known",
        "viterbi": "the most likely path, by dynamic programming",
        "map": "the most likely state at each step",
    },
    texts=["000 ch. 10, Alg 10.1-10.5", "000 ch. 12, Table 12.1", "002 ch. 12, eq. 12.1-12.4"],
    peers=["hmmlearn.hmm.CategoricalHMM"],
)
class CategoricalHMM(HMM):
    """Hidden Markov model whose states give symbols.

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
        The transitions that may be: all; none back to an earlier state; to stay, to the next state or to skip one;
        to stay or to the next, and from the last to the first; or those where a matrix is True. "left-right" and
        "bakis" begin in state 0 unless labels say otherwise.
    algorithm : {"viterbi", "map"}, default="viterbi"
        How `predict` decodes: the most likely path, or the most likely state at each step.
    n_iter : int, default=10
        The most passes of EM.
    tol : float, default=1e-2
        EM stops when a pass raises the log-likelihood (with the log-prior) by less.
    n_init : int, default=1
        How many random starts to try; the one with the highest likelihood is kept.
    params : str, default="ste"
        What is learned: s for startprob_, t for transmat_, e for emissionprob_.
    init_params : str, default="ste"
        What is drawn before EM begins; the rest starts from the attributes as they are.
    implementation : {"scaling", "log"}, default="scaling"
        Arithmetic of the passes: rows scaled to the sum one (a sequence that underflows is done again with
        logarithms), or logarithms throughout.
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
    emitted: ClassVar[dict[str, tuple[str, ...]]] = {"e": ("emissionprob_",)}
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
        n_iter: Count = 10,
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
        elif known is None and largest > max(MOST, codes.size):  # a table of them would not fit in memory
            raise ValueError(
                f"{type(self).__name__}: symbols must be numbered from 0 on; one of them is {largest}. "
                "(HMMTagger takes symbols of any kind; n_features says how many there are if this is meant.)"
            )
        return X.with_rows(codes)

    def _initial_emissions(
        self, X: Sequences, n: int, rng: np.random.Generator | None, wanted: set[str]
    ) -> Theta:
        m = self.n_features or max(int(X.rows.max()) + 1, 1)
        weights = np.ones((n, m)) if rng is None else rng.random((n, m)) + 1e-3
        return {"emissionprob_": weights / weights.sum(axis=1, keepdims=True)}

    def _checked_emissions(self, n: int) -> Theta:
        symbols = "n_symbols" if self.n_features is None else self.n_features
        B = distributions(self, "emissionprob_", (n, symbols))
        check_prior(self, "emissionprob_prior", B.shape)
        return {"emissionprob_": B}

    def _scaled_likelihood(
        self, rows: Any, theta: Theta, states: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return only_known(self._looked_up(rows, theta["emissionprob_"], 1.0), states, 0.0), None

    def _log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        B = theta["emissionprob_"]
        if B.shape[1] < rows.size:
            return self._looked_up(rows, log(B), 0.0)
        return log(self._looked_up(rows, B, 1.0))

    def _looked_up(self, rows: np.ndarray, B: np.ndarray, nothing: float) -> np.ndarray:
        """The column of B for each symbol, as a row; `nothing` where there is no symbol."""
        n, m = B.shape
        if m > rows.size:  # few of many symbols
            like = np.ascontiguousarray(B[:, rows].T)
            like[rows < 0] = nothing
        else:
            table = np.empty((m + 1, n))
            table[:m] = B.T
            table[m] = nothing
            like = np.take(table, rows, axis=0, mode="wrap")  # -1 is the last row
        if self.unseen == "ignore":
            like[(like == (0.0 if nothing else -np.inf)).all(axis=1)] = nothing
        return like

    def _emission_statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        n, m = theta["emissionprob_"].shape
        counts = np.zeros((m + 1, n))
        tally(rows.astype(np.int64), posterior, counts)
        return (counts[:m],)

    def _maximise_emissions(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        counts = np.maximum(statistics[0].T + (np.asarray(self.emissionprob_prior) - 1.0), 0.0)
        sums = counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"emissionprob_": np.where(sums > 0, counts / sums, theta["emissionprob_"])}

    def _log_emission_prior(self, theta: Theta) -> float:
        return log_dirichlet(theta["emissionprob_"], self.emissionprob_prior) if "e" in self.params else 0.0

    def _free_emissions(self, theta: Theta) -> int:
        n, m = theta["emissionprob_"].shape
        return n * (m - 1)

    def _draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        cumulated = np.cumsum(theta["emissionprob_"], axis=1)
        symbols = np.empty(states.size, dtype=np.int64)
        u = rng.random(states.size)
        for state in np.unique(states):
            here = states == state
            line = cumulated[state]
            drawn = np.searchsorted(line, u[here] * line[-1], side="right")
            symbols[here] = np.minimum(drawn, np.searchsorted(line, line[-1]))
        return symbols[:, None]

    def _rows_per_chunk(self, theta: Theta) -> int:
        return max(super()._rows_per_chunk(theta), theta["emissionprob_"].shape[1])


def symbol_codes(X: Sequences, who: str) -> np.ndarray:
    """Symbols as int32; -1 where none was observed."""
    rows = np.asarray(X.rows)
    if rows.dtype == object:
        rows = np.array([-1 if v is None or v != v else v for v in rows])
    if rows.dtype.kind == "f":
        rows = np.where(np.isnan(rows), -1.0, rows)
    good = rows.dtype.kind in "iub" or (rows.dtype.kind == "f" and np.isfinite(rows).all())
    if not good or (rows.dtype.kind == "f" and (rows != np.round(rows)).any()):
        raise ValueError(
            f"{who}: symbols must be whole numbers from 0 on (-1, None or NaN for none); got {X.rows[:5]!r} ... "
            "(HMMTagger takes symbols of any kind.)"
        )
    if rows.size and (rows.min() < -1 or rows.max() >= 2**31 - 1):
        raise ValueError(
            f"{who}: symbols must be whole numbers from 0 to 2**31 - 2 (-1 for none); got {rows.min()} "
            f"to {rows.max()}."
        )
    return rows.astype(np.int32)


@kernel
def tally(symbols, posterior, counts):
    """Add each row of the posterior to the row of its symbol (the last, where there is none)."""
    last = counts.shape[0] - 1
    for t in range(symbols.size):
        k = symbols[t] if symbols[t] >= 0 else last
        for j in range(counts.shape[1]):
            counts[k, j] += posterior[t, j]
