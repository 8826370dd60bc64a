from tercet.rl.approximation.fourier_features import FourierFeatures
from tercet.rl.approximation.kernel_sarsa import KernelSarsa
from tercet.rl.approximation.kernel_td import KernelTD
from tercet.rl.approximation.linear_q_learning import LinearQLearning
from tercet.rl.approximation.linear_sarsa import LinearSarsa
from tercet.rl.approximation.linear_td import LinearTD, linear_td_update
from tercet.rl.approximation.lspi import LSPI
from tercet.rl.approximation.lstd import LSTD
from tercet.rl.approximation.radial_basis_features import RadialBasisFeatures
from tercet.rl.approximation.tile_coding import TileCoding
from tercet.rl.bandits.average_regret import RegretCurve, average_regret
from tercet.rl.bandits.bandit import Bandit
from tercet.rl.bandits.bandit_agent import BanditAgent
from tercet.rl.bandits.contextual_bandit_agent import ContextualBanditAgent
from tercet.rl.bandits.incremental_mean import incremental_mean
from tercet.rl.bandits.lin_ucb import LinUCB
from tercet.rl.bandits.off_policy_value import OffPolicyValue, off_policy_value
from tercet.rl.environments.blackjack import blackjack
from tercet.rl.environments.cliff_walking import cliff_walking
from tercet.rl.environments.frozen_lake import frozen_lake
from tercet.rl.environments.grid_world import GridWorld, grid_world
from tercet.rl.environments.mdp_env import MDPEnv
from tercet.rl.environments.mountain_car import MountainCar
from tercet.rl.environments.random_mdp import random_mdp
from tercet.rl.environments.registration import register_environments
from tercet.rl.environments.watermelon_watering import watermelon_watering
from tercet.rl.evaluation import AgentComparison, Evaluation, compare, evaluate
from tercet.rl.imitation.apprenticeship_learning import ApprenticeshipLearning, MaxMargin, max_margin_weights
from tercet.rl.imitation.behaviour_cloning import BehaviourCloning
from tercet.rl.imitation.dagger import DAgger
from tercet.rl.imitation.feature_expectations import demonstrated_features, feature_expectations
from tercet.rl.imitation.maximum_entropy_irl import MaximumEntropyIRL, SoftPolicy, soft_policy
from tercet.rl.learning.dyna_q import DynaQ
from tercet.rl.learning.monte_carlo import (
    MonteCarlo,
    MonteCarloValues,
    importance_weights,
    monte_carlo_returns,
    monte_carlo_values,
)
from tercet.rl.learning.q_learning import QLearning, q_learning_update
from tercet.rl.learning.sarsa import Sarsa, sarsa_update
from tercet.rl.learning.temporal_difference import TemporalDifference, td_update
from tercet.rl.mdp import MDP, Episode, Step
from tercet.rl.planning.policy_evaluation import PolicyEvaluation, action_values
from tercet.rl.planning.policy_iteration import PolicyIteration, improved_policy
from tercet.rl.planning.value_iteration import ValueIteration, bellman_residual
from tercet.rl.policies import action_probabilities, epsilon_greedy_policy, greedy_policy, softmax_policy
from tercet.rl.schedules import Schedule

__all__ = [
    "LSPI",
    "LSTD",
    "MDP",
    "AgentComparison",
    "ApprenticeshipLearning",
    "Bandit",
    "BanditAgent",
    "BehaviourCloning",
    "ContextualBanditAgent",
    "DAgger",
    "DynaQ",
    "Episode",
    "Evaluation",
    "FourierFeatures",
    "GridWorld",
    "KernelSarsa",
    "KernelTD",
    "LinUCB",
    "LinearQLearning",
    "LinearSarsa",
    "LinearTD",
    "MDPEnv",
    "MaxMargin",
    "MaximumEntropyIRL",
    "MonteCarlo",
    "MonteCarloValues",
    "MountainCar",
    "OffPolicyValue",
    "PolicyEvaluation",
    "PolicyIteration",
    "QLearning",
    "RadialBasisFeatures",
    "RegretCurve",
    "Sarsa",
    "Schedule",
    "SoftPolicy",
    "Step",
    "TemporalDifference",
    "TileCoding",
    "ValueIteration",
    "action_probabilities",
    "action_values",
    "average_regret",
    "bellman_residual",
    "blackjack",
    "cliff_walking",
    "compare",
    "demonstrated_features",
    "epsilon_greedy_policy",
    "evaluate",
    "feature_expectations",
    "frozen_lake",
    "greedy_policy",
    "grid_world",
    "importance_weights",
    "improved_policy",
    "incremental_mean",
    "linear_td_update",
    "max_margin_weights",
    "monte_carlo_returns",
    "monte_carlo_values",
    "off_policy_value",
    "q_learning_update",
    "random_mdp",
    "register_environments",
    "sarsa_update",
    "soft_policy",
    "softmax_policy",
    "td_update",
    "watermelon_watering",
]
