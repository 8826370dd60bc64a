"""What it costs not to know the best arm
zh: 不知道哪个摇臂最好的代价

With a fixed probability of exploring, every pull goes on costing the same, so the regret grows in proportion to the
number of pulls. UCB1 and Thompson sampling explore an arm less the more is known about it: their regret grows like
log t.

zh: 探索概率固定时，每次尝试的代价不再减小，遗憾与尝试次数成正比。UCB1 与汤普森采样对一个摇臂了解得越多，
就越少探索它，遗憾只按 log t 增长。

family: rl
"""

from tercet.plot import plot_regret
from tercet.rl import Bandit, BanditAgent, Schedule, average_regret

bandit = Bandit([0.2, 0.4, 0.5, 0.6])
agents = {
    "ε = 0.1": BanditAgent("epsilon-greedy", epsilon=0.1),
    "ε = 1/√t": BanditAgent("epsilon-greedy", epsilon=Schedule("inverse_sqrt")),
    "softmax, τ = 0.1": BanditAgent("softmax", temperature=0.1),
    "UCB1": BanditAgent("ucb1"),
    "Thompson": BanditAgent("thompson"),
}
curves = {}
for name, agent in agents.items():
    curves[name] = average_regret(agent.set_params(n_steps=20_000), bandit, n_runs=100, random_state=0)
    share = curves[name].best_share[-100:].mean()
    print(f"{name:16} regret {curves[name].mean[-1]:5.0f}, at last the best arm in {share:.0%} of the pulls")
ax = plot_regret(curves)
