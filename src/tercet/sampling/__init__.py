"""Monte Carlo methods: direct sampling, Markov chains, Metropolis-Hastings, Gibbs."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
