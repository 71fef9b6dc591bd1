"""Cluster images of digits without labels: PCA, then k-means.

    SCIPY_ARRAY_API=1 python examples/clusters.py

Needs scikit-learn, whose PCA computes with tensors through the array API: its matrices, means and
singular values are polygrad tensors. k-means is a loop compiled by the library; `vmap` runs many
starts at once, and the best one is taken. scikit-learn's own k-means, which does not support the
array API, is the comparison.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # is read when SciPy is imported

from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import polygrad.numpy as np
from polygrad import Tensor, lax, random
from polygrad.func import jit, vmap

DIGITS = Path(__file__).parent / "data" / "digits.csv.gz"
CLUSTERS, AXES, STEPS, STARTS = 10, 20, 60, 16


def load_digits() -> tuple[Tensor, Tensor]:
    """Return pixels from 0 to 1, 64 for each digit, and what digit it is."""
    with gzip.open(DIGITS, "rt") as file:
        rows = [[int(v) for v in row] for row in csv.reader(file)]
    pixels = Tensor([row[:-1] for row in rows]).cast("float32") / 16
    return pixels, Tensor([row[-1] for row in rows])


def distances(x: Tensor, centres: Tensor) -> Tensor:
    """Return the squared distance of each point to each centre."""
    squares = x.square().sum(axis=1, keepdim=True) + centres.square().sum(axis=1)
    return (squares - 2 * x @ centres.T).relu()


def first_centres(x: Tensor, key: Tensor) -> Tensor:
    """Return initial centres, each drawn far from the previous ones (k-means++)."""
    keys = random.split(key, CLUSTERS)
    first = x[random.randint(keys[0], (), 0, x.shape[0])]
    centres = first.unsqueeze(0).expand(CLUSTERS, x.shape[1])

    def draw(k: Tensor, centres: Tensor) -> Tensor:
        """Draw centre k, with probability proportional to the squared distance to the nearest."""
        near = distances(x, centres).min(axis=1)  # of centres that are not drawn yet: the first one
        chosen = random.categorical(lax.dynamic_index_in_dim(keys, k, 0, False), near.log())
        return ((Tensor.arange(CLUSTERS) == k).unsqueeze(1)).where(x[chosen], centres)

    found: Tensor = lax.fori_loop(1, CLUSTERS, draw, centres)
    return found


def cluster(x: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Return centres, and the mean squared distance to the nearest centre."""

    def move(_: Tensor, centres: Tensor) -> Tensor:
        """Move each centre to the mean of the points that are nearest to it."""
        own = distances(x, centres).argmin(axis=1).one_hot(CLUSTERS).cast("float32")
        count = own.sum(axis=0).unsqueeze(1)
        return (count > 0).where(own.T @ x / count.maximum(1), centres)

    centres = lax.fori_loop(0, STEPS, move, first_centres(x, key))
    return centres, distances(x, centres).min(axis=1).mean()


def main() -> None:
    """Cluster the digits and print the accuracy."""
    options = argparse.ArgumentParser(description="Find the ten digits in pictures without labels.")
    options.add_argument("--seed", type=int, default=0)
    seed = options.parse_args().seed

    pixels, digits = load_digits()
    with config_context(array_api_dispatch=True):
        pca = PCA(AXES, svd_solver="full").fit(pixels)
        x = pca.transform(pixels)
    assert isinstance(x, Tensor), "what scikit-learn makes of a tensor is one"
    kept = pca.explained_variance_ratio_.sum().item()
    print(f"variance that {AXES} of {pixels.shape[1]} axes keep: {kept:.3f}")

    keys = random.split(random.key(seed), STARTS)
    centres, means = jit(vmap(lambda key: cluster(x, key)))(keys)
    best = means.argmin()
    mine = distances(x, centres[best]).argmin(axis=1)
    print(f"mean squared distance: {means[best].item():.4f}")
    theirs = KMeans(CLUSTERS, n_init=STARTS, random_state=seed).fit(x.numpy())
    print(f"scikit-learn's k-means: {theirs.inertia_ / x.shape[0]:.4f}")

    # The share of digits that are the most frequent one of their cluster.
    table = mine.one_hot(CLUSTERS).T @ digits.one_hot(10)
    print(f"purity: {table.max(axis=1).sum().item() / x.shape[0]:.4f}")
    print("digits of the clusters:", *np.sort(table.argmax(axis=1)).tolist())


if __name__ == "__main__":
    main()
