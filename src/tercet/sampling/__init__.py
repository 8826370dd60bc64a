"""Monte Carlo methods: direct sampling, Markov chains, Metropolis-Hastings, Gibbs."""

from tercet.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
