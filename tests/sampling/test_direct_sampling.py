"""Direct sampling against the distributions themselves."""

import math

import numpy as np
import pytest
from scipy import stats

from tercet.sampling import AliasTable, direct_sampling, discrete_sampling


def test_quantile_cdf_and_table_give_the_same_draws():
    x = np.linspace(0, 40, 4001)
    draws = [
        direct_sampling(200, quantile=stats.expon.ppf, random_state=3),
        direct_sampling(200, quantile=lambda u: -math.log1p(-u), random_state=3),  # one number at a time
        direct_sampling(200, cdf=stats.expon.cdf, random_state=3),
        direct_sampling(200, cdf=lambda t: 1 - math.exp(-t) if t > 0 else 0.0, random_state=3),
        direct_sampling(200, cdf=stats.expon.cdf, support=(0, 50), random_state=3),
    ]
    for other in draws[1:]:
        np.testing.assert_allclose(other, draws[0], rtol=1e-9)
    table = direct_sampling(200, cdf=(x, stats.expon.cdf(x)), random_state=3)
    np.testing.assert_allclose(table, draws[0], atol=1e-4)
    assert stats.kstest(direct_sampling(2000, cdf=stats.cauchy.cdf, random_state=0), "cauchy").pvalue > 0.01


def test_a_distribution_function_with_steps():
    draws = direct_sampling(500, cdf=stats.poisson(3).cdf, random_state=0)
    np.testing.assert_allclose(draws, np.round(draws), atol=1e-9)
    u = np.random.default_rng(0).random(500)
    assert np.array_equal(np.round(draws), stats.poisson(3).ppf(u))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Give either quantile or cdf"),
        ({"quantile": stats.norm.ppf, "cdf": stats.norm.cdf}, "Give either quantile or cdf"),
        ({"cdf": lambda x: 0.4 * stats.norm.cdf(x)}, "cdf must go to 1; it is 0.4"),
        ({"cdf": lambda x: 0.5 + 0.5 * stats.norm.cdf(x)}, "cdf must go to 0; it is 0.5"),
        ({"cdf": lambda x: 0 * x + np.nan}, "cdf must give probabilities; got .*nan"),
        ({"cdf": lambda x: 1.5 + 0 * x}, "cdf must give probabilities; got .*1.5"),
        ({"cdf": lambda x: np.sin(5 * x) ** 2 * (x < 1) + (x >= 1), "support": (0, 1)}, "must not decrease"),
        ({"cdf": lambda x: 0.5 * x, "support": (0, 1)}, "must be 1 at the end of its support; it is 0.5"),
        ({"cdf": stats.norm.cdf, "support": (1, 0)}, r"support must be .* got \(1, 0\)"),
        ({"cdf": ([0, 1, 2], [0, 0.7, 0.5])}, "never decreases and ends at 1"),
        ({"cdf": ([0, 0], [0, 1])}, "increasing"),
        ({"cdf": 3}, "function or a pair of arrays"),
        ({"quantile": 3}, "quantile must be a function; got 3"),
        ({"quantile": lambda u: np.inf * u}, "quantile must be finite"),
    ],
)
def test_what_cannot_be_inverted_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        direct_sampling(50, **options, random_state=0)


@pytest.mark.parametrize("algorithm", ["inverse", "alias"])
def test_discrete_draws_have_their_probabilities(algorithm):
    p = np.array([0.0, 0.1, 0.4, 0.0, 0.3, 0.2, 0.0])
    draws = discrete_sampling(p, 20_000, algorithm=algorithm, random_state=0)
    counts = np.bincount(draws, minlength=7)
    assert not counts[p == 0].any()
    assert stats.chisquare(counts[p > 0], 20_000 * p[p > 0]).pvalue > 0.01
    named = discrete_sampling(p, 9, values=list("abcdefg"), algorithm=algorithm, random_state=5)
    assert named.tolist() == [
        "abcdefg"[k] for k in discrete_sampling(p, 9, algorithm=algorithm, random_state=5)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_an_alias_table_has_its_distribution(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(rng.integers(1, 40), 0.3))
    p[rng.random(p.size) < 0.2] = 0.0
    p = p / p.sum() if p.sum() > 0 else np.ones_like(p) / p.size
    table = AliasTable(p)
    np.testing.assert_allclose(table.probabilities(), p, atol=1e-14)
    assert (table.probabilities()[p == 0] == 0).all()
    assert np.ndim(table.sample(random_state=0)) == 0


@pytest.mark.parametrize("p", [[0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0], [], [[1.0]]])
def test_no_distribution_no_draws(p):
    for make in (AliasTable, lambda p: discrete_sampling(p, 3)):
        with pytest.raises(ValueError, match="p must"):
            make(p)


def test_words_of_discrete_errors():
    with pytest.raises(ValueError, match="algorithm must be 'inverse' or 'alias'; got 'walk'"):
        discrete_sampling([0.5, 0.5], 3, algorithm="walk")
    with pytest.raises(ValueError, match="values must be 2 outcomes, one for each probability; got 3"):
        discrete_sampling([0.5, 0.5], 3, values="abc")
    with pytest.raises(ValueError, match="size must be a whole number, at least 1; got 0"):
        discrete_sampling([0.5, 0.5], 0)
