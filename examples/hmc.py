"""Draw from the posterior of a hierarchical model by Hamiltonian Monte Carlo.

    python examples/hmc.py

The eight schools: the effects of coaching in eight schools, each with an estimate and its standard
error. They are drawn from a normal distribution whose mean and deviation are unknown. A chain is a
loop compiled by the library around a loop of leapfrog steps; `vmap` runs many chains.
"""

from __future__ import annotations

import argparse
from typing import Any

from polygrad import Tensor, lax, random
from polygrad.func import grad, jit, vmap

ESTIMATES = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERRORS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
CHAINS, LEAPS, STEP = 64, 12, 0.25


def energy(state: Tensor) -> Tensor:
    """Return the negative log density of mu / 5, log tau and scaled effects."""
    mu, log_tau, scaled = 5 * state[0], state[1], state[2:]
    effects = mu + log_tau.exp() * scaled
    fit = ((effects - Tensor(ESTIMATES)) / Tensor(ERRORS)).square().sum()
    prior = state[0].square() + scaled.square().sum()
    tau = (log_tau.exp() / 5).square().log1p() - log_tau  # half Cauchy of scale 5
    return (fit + prior) / 2 + tau


def draw(state: Tensor, key: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return the next state of a chain as the carry, and with whether it was accepted."""
    first, second = random.split(key)
    momentum = random.normal(first, (10,))

    def leap(_: Any, at: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, p = at
        p = p - STEP / 2 * grad(energy)(x)
        x = x + STEP * p
        return x, p - STEP / 2 * grad(energy)(x)

    x, p = lax.fori_loop(0, LEAPS, leap, (state, momentum))
    before = energy(state) + momentum.square().sum() / 2
    after = energy(x) + p.square().sum() / 2
    taken = random.uniform(second).log() < before - after
    state = lax.select(taken, x, state)
    return state, (state, taken.cast("float32"))


def chain(start: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return all states of a chain, and how many were accepted."""
    states, taken = lax.scan(draw, start, keys)[1]
    return states, taken.mean()


def main() -> None:
    """Sample, and show means and deviations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    first, second = random.split(random.key(0))
    starts = random.normal(first, (CHAINS, 10))
    keys = random.split(second, (CHAINS, draws))
    states, taken = jit(vmap(chain))(starts, keys)
    kept = states[:, draws // 4 :]
    mu, tau = 5 * kept[:, :, 0], kept[:, :, 1].exp()
    print(f"accepted: {taken.mean().item():.2f}")
    print(f"mu: {mu.mean().item():.2f} (deviation {mu.std().item():.2f})")
    print(f"tau: {tau.mean().item():.2f}")
    means = (mu.unsqueeze(2) + tau.unsqueeze(2) * kept[:, :, 2:]).mean((0, 1))
    print("effects:", " ".join(f"{m:.1f}" for m in means.tolist()))


if __name__ == "__main__":
    main()
