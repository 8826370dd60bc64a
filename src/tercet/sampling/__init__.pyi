from tercet.plot.chains import plot_autocorrelation, plot_chain_densities, plot_trace
from tercet.sampling.chains import Chains
from tercet.sampling.diagnostics import autocorrelation, autocorrelation_time, ess, mcse, rhat
from tercet.sampling.gibbs_kernel import gibbs_kernel
from tercet.sampling.gibbs_sampler import GibbsSampler, normal_conditionals
from tercet.sampling.metropolis_hastings import MetropolisHastings
from tercet.sampling.metropolis_hastings_kernel import acceptance_probabilities, metropolis_hastings_kernel
from tercet.sampling.proposals import ConditionalProposal, IndependentProposal
from tercet.sampling.single_component_metropolis_hastings import SingleComponentMetropolisHastings

__all__ = [
    "Chains",
    "ConditionalProposal",
    "GibbsSampler",
    "IndependentProposal",
    "MetropolisHastings",
    "SingleComponentMetropolisHastings",
    "acceptance_probabilities",
    "autocorrelation",
    "autocorrelation_time",
    "ess",
    "gibbs_kernel",
    "mcse",
    "metropolis_hastings_kernel",
    "normal_conditionals",
    "plot_autocorrelation",
    "plot_chain_densities",
    "plot_trace",
    "rhat",
]
