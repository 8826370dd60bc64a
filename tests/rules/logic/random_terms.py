"""Random terms and clauses, from a seed."""

from tercet.rules.logic import Clause, Compound, Constant, Literal, Variable


def random_term(rng, depth=3, names="XYZUV"):
    kind = rng.integers(4 if depth else 2)
    if kind == 0:
        return Variable(str(rng.choice(list(names))))
    if kind == 1:
        return Constant(str(rng.choice(["a", "b", "c"])))
    size = int(rng.integers(1, 3))
    return Compound(f"f{size}", [random_term(rng, depth - 1, names) for _ in range(size)])


def random_literal(rng, depth=1, names="XYZUV", predicates="pqr"):
    k = int(rng.integers(len(predicates)))
    return Literal(predicates[k], [random_term(rng, depth, names) for _ in range(1 + k % 2)])


def random_clause(rng, size=3, depth=1, names="XYZUV"):
    head = Literal("h", [random_term(rng, depth, names)])
    return Clause(head, [random_literal(rng, depth, names) for _ in range(size)])
