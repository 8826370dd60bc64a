from tercet.plot.chains import plot_autocorrelation, plot_chain_densities, plot_trace
from tercet.sampling.accept_reject import AcceptRejectSample, accept_reject
from tercet.sampling.alias_table import AliasTable
from tercet.sampling.chains import Chains
from tercet.sampling.diagnostics import autocorrelation, autocorrelation_time, ess, mcse, rhat
from tercet.sampling.direct_sampling import direct_sampling, discrete_sampling
from tercet.sampling.gibbs_kernel import gibbs_kernel
from tercet.sampling.gibbs_sampler import GibbsSampler, normal_conditionals
from tercet.sampling.importance_sampling import ImportanceEstimate, importance_sampling
from tercet.sampling.long_run import (
    absorption_probabilities,
    after_steps,
    detailed_balance,
    entropy_rate,
    expected_stay,
    hitting_times,
    is_reversible,
    return_times,
    stationary_distribution,
    stationary_distributions,
    time_reversal,
)
from tercet.sampling.markov_chain import MarkovChain
from tercet.sampling.metropolis_hastings import MetropolisHastings
from tercet.sampling.metropolis_hastings_kernel import acceptance_probabilities, metropolis_hastings_kernel
from tercet.sampling.monte_carlo import MonteCarloEstimate, monte_carlo_expectation, monte_carlo_integral
from tercet.sampling.paths import sample_path, sample_paths, transition_counts
from tercet.sampling.proposals import ConditionalProposal, IndependentProposal
from tercet.sampling.single_component_metropolis_hastings import SingleComponentMetropolisHastings
from tercet.sampling.state_classes import (
    absorbing_states,
    closed_classes,
    communicating_classes,
    is_aperiodic,
    is_irreducible,
    periods,
    recurrent_states,
    transient_states,
)

__all__ = [
    "AcceptRejectSample",
    "AliasTable",
    "Chains",
    "ConditionalProposal",
    "GibbsSampler",
    "ImportanceEstimate",
    "IndependentProposal",
    "MarkovChain",
    "MetropolisHastings",
    "MonteCarloEstimate",
    "SingleComponentMetropolisHastings",
    "absorbing_states",
    "absorption_probabilities",
    "accept_reject",
    "acceptance_probabilities",
    "after_steps",
    "autocorrelation",
    "autocorrelation_time",
    "closed_classes",
    "communicating_classes",
    "detailed_balance",
    "direct_sampling",
    "discrete_sampling",
    "entropy_rate",
    "ess",
    "expected_stay",
    "gibbs_kernel",
    "hitting_times",
    "importance_sampling",
    "is_aperiodic",
    "is_irreducible",
    "is_reversible",
    "mcse",
    "metropolis_hastings_kernel",
    "monte_carlo_expectation",
    "monte_carlo_integral",
    "normal_conditionals",
    "periods",
    "plot_autocorrelation",
    "plot_chain_densities",
    "plot_trace",
    "recurrent_states",
    "return_times",
    "rhat",
    "sample_path",
    "sample_paths",
    "stationary_distribution",
    "stationary_distributions",
    "time_reversal",
    "transient_states",
    "transition_counts",
]
