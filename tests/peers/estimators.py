"""Estimators and metrics of scikit-learn on tensors, with array API dispatch, against NumPy arrays.

SCIPY_ARRAY_API=1 python tests/peers/estimators.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context, metrics
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from polygrad import Tensor

X, Y = make_classification(n_samples=200, n_features=10, n_informative=6, random_state=0)
Y = Y.astype("int32")


def close(got: Any, want: Any, rtol: float = 1e-8) -> None:
    """Compare a result with NumPy's; signs of eigenvectors may differ."""
    if isinstance(got, Tensor):
        got = got.numpy()
    np.testing.assert_allclose(np.abs(got), np.abs(want), rtol=rtol, atol=1e-6)


def both(estimator: Any, names: str, rtol: float = 1e-8, **target: Any) -> None:
    """Fit an estimator on both, and compare attributes and what its methods return."""
    tensors = {k: Tensor(v) for k, v in target.items()}
    mine, its = estimator().fit(Tensor(X), **tensors), estimator().fit(X, **target)
    for name in names.split():
        got, want = getattr(mine, name), getattr(its, name)
        if callable(want):
            got, want = got(Tensor(X)), want(X)
        assert isinstance(got, (Tensor, float)), name
        close(got, want, rtol)


def main() -> None:
    """Compare all."""
    pca = "components_ explained_variance_ mean_ transform"
    both(lambda: PCA(3), pca)
    both(lambda: PCA(3, svd_solver="randomized", random_state=0), pca, 1e-3)
    both(lambda: Ridge(solver="svd"), "coef_ intercept_ predict", y=X[:, 0] * 2 + X[:, 1] + 1)
    both(LinearDiscriminantAnalysis, "means_ scalings_ transform predict", 1e-6, y=Y)
    random = {"random_state": 0, "init_params": "random"}
    both(lambda: GaussianMixture(2, **random), "means_ covariances_ predict", 1e-4)
    for scaler in (StandardScaler, MinMaxScaler, MaxAbsScaler, Normalizer):
        both(scaler, "transform")
    label = (X[:, 0] > 0).astype("int32")
    names = "accuracy_score zero_one_loss f1_score precision_score recall_score confusion_matrix"
    for name in names.split():
        score = getattr(metrics, name)
        close(score(Tensor(Y), Tensor(label)), score(Y, label), 1e-6)  # in float32
    names = "mean_squared_error mean_absolute_error r2_score mean_tweedie_deviance max_error"
    for name in names.split():
        score = getattr(metrics, name)
        close(score(Tensor(X[:, 0]), Tensor(X[:, 1])), score(X[:, 0], X[:, 1]))
    names = "euclidean_distances cosine_similarity rbf_kernel linear_kernel polynomial_kernel"
    for name in names.split():
        kernel = getattr(metrics.pairwise, name)
        close(kernel(Tensor(X), Tensor(X[5:9])), kernel(X, X[5:9]), 1e-6)


if __name__ == "__main__":
    with config_context(array_api_dispatch=True):
        main()
