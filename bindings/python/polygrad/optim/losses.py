"""Losses of optax, for each element or example: they are not averaged."""

from __future__ import annotations

import math
from typing import Any

from polygrad import lax
from polygrad import numpy as np
from polygrad._library import ArgumentError
from polygrad.dtype import dtypes
from polygrad.numpy._arrays import array
from polygrad.tensor import Tensor

__all__ = [
    "convex_kl_divergence",
    "cosine_distance",
    "cosine_similarity",
    "ctc_loss",
    "ctc_loss_with_forward_probs",
    "generalized_kl_divergence",
    "hinge_loss",
    "huber_loss",
    "kl_divergence",
    "kl_divergence_with_log_targets",
    "l2_loss",
    "log_cosh",
    "multiclass_hinge_loss",
    "multiclass_perceptron_loss",
    "ntxent",
    "perceptron_loss",
    "poly_loss_cross_entropy",
    "safe_softmax_cross_entropy",
    "sigmoid_binary_cross_entropy",
    "sigmoid_focal_loss",
    "smooth_labels",
    "softmax_cross_entropy",
    "softmax_cross_entropy_with_integer_labels",
    "squared_error",
    "triplet_margin_loss",
]


def _errors(who: str, predictions: Any, targets: Any) -> Tensor:
    x = array(predictions)
    if not x.is_floating_point():
        raise ArgumentError(f"{who}: predictions: {x.dtype.name}, expected a floating type")
    return x if targets is None else x - targets


def _sum(x: Tensor, axis: Any, where: Any = None, keepdims: bool = False) -> Tensor:
    kept = x if where is None else array(where).where(x, 0.0)
    return kept.sum(axis=axis, keepdim=keepdims)


def squared_error(predictions: Any, targets: Any = None) -> Tensor:
    """Return the squares of predictions - targets, elementwise.

    >>> squared_error(Tensor([1.0, 3.0]), Tensor([0.0, 1.0])).tolist()
    [1.0, 4.0]
    """
    errors = _errors("squared_error", predictions, targets)
    if targets is not None and tuple(errors.shape) != tuple(array(targets).shape):
        raise ArgumentError(
            f"squared_error: targets of shape {tuple(array(targets).shape)}, expected "
            f"{tuple(array(predictions).shape)} as predictions"
        )
    return errors.square()


def l2_loss(predictions: Any, targets: Any = None) -> Tensor:
    """Return half of squared_error."""
    return squared_error(predictions, targets) * 0.5


def huber_loss(predictions: Any, targets: Any = None, *, delta: Any = 1.0) -> Tensor:
    """Return l2_loss for errors up to delta, continued linearly beyond."""
    size = _errors("huber_loss", predictions, targets).abs()
    inner = size.minimum(delta)
    return inner.square() * 0.5 + (size - inner) * delta


def log_cosh(predictions: Any, targets: Any = None) -> Tensor:
    """Return log(cosh(predictions - targets)), nearly half a square and then linear."""
    errors = _errors("log_cosh", predictions, targets)
    return np.logaddexp(errors, -errors) - math.log(2.0)


def hinge_loss(predictor_outputs: Any, targets: Any) -> Tensor:
    """Return max(0, 1 - outputs * targets) of targets -1 and 1."""
    return (1 - array(predictor_outputs) * targets).relu()


def perceptron_loss(predictor_outputs: Any, targets: Any) -> Tensor:
    """Return max(0, -outputs * targets) of targets -1 and 1."""
    return (-array(predictor_outputs) * targets).relu()


def cosine_similarity(
    predictions: Any, targets: Any, *, epsilon: Any = 0.0, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return the cosines of angles between vectors; squared norms are at least epsilon."""
    parts = []
    for x in (array(predictions), array(targets)):
        square = _sum(x.square(), axis, where, keepdims=True)
        parts.append(x / square.maximum(epsilon).sqrt())
    return _sum(parts[0] * parts[1], axis, where)


def cosine_distance(
    predictions: Any, targets: Any, *, epsilon: Any = 0.0, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return 1 - cosine_similarity."""
    return 1.0 - cosine_similarity(predictions, targets, epsilon=epsilon, axis=axis, where=where)


def sigmoid_binary_cross_entropy(logits: Any, labels: Any) -> Tensor:
    """Return the cross entropy of independent binary events with log odds logits, elementwise.

    >>> sigmoid_binary_cross_entropy(Tensor([0.0]), Tensor([1.0])).numpy().round(3).tolist()
    [0.6930000185966492]
    """
    logits = _errors("sigmoid_binary_cross_entropy", logits, None)
    labels = array(labels).cast(logits.dtype)
    return -labels * logits.logsigmoid() - (1.0 - labels) * (-logits).logsigmoid()


def sigmoid_focal_loss(logits: Any, labels: Any, *, alpha: Any = None, gamma: Any = 2.0) -> Tensor:
    """Return the binary cross entropy with less weight for easy examples (arXiv:1708.02002)."""
    logits = _errors("sigmoid_focal_loss", logits, None)
    labels = array(labels).cast(logits.dtype)
    one = sigmoid_binary_cross_entropy(logits, labels)
    log_p = labels * logits.logsigmoid() + (1 - labels) * (-logits).logsigmoid()
    loss = one * (1 - log_p.exp()) ** gamma
    if alpha is None:
        return loss
    weighted = loss * (labels * alpha + (1 - labels) * (1 - alpha))
    return array(alpha >= 0).where(weighted, loss)


def _log_softmax(logits: Tensor, axis: Any, where: Any) -> Tensor:
    if where is None and isinstance(axis, int):
        return logits.log_softmax(axis)
    mask = array(True if where is None else where)
    seen = mask.where(logits, -float("inf"))
    top = seen.max(axis=axis, keepdim=True).detach()
    shifted = seen - top
    return shifted - _sum(shifted.exp(), axis, where, keepdims=True).log()


def softmax_cross_entropy(logits: Any, labels: Any, axis: Any = -1, where: Any = None) -> Tensor:
    """Return the cross entropy of distributions labels and softmax(logits) along an axis.

    where selects the elements that count.
    """
    logits = _errors("softmax_cross_entropy", logits, None)
    if where is not None and len(array(where).shape) != len(logits.shape):
        where = array(where).unsqueeze(axis)
    return -_sum(array(labels) * _log_softmax(logits, axis, where), axis, where)


def safe_softmax_cross_entropy(logits: Any, labels: Any) -> Tensor:
    """Return softmax_cross_entropy where labels of 0 count as 0 even for logits of -inf."""
    logits, labels = _errors("safe_softmax_cross_entropy", logits, None), array(labels)
    log_p = logits.log_softmax(-1)
    return -(labels != 0.0).where(labels * log_p, 0.0).sum(axis=-1)


def softmax_cross_entropy_with_integer_labels(
    logits: Any, labels: Any, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return -log(softmax(logits)) at the classes labels, along an axis or several.

    >>> loss = softmax_cross_entropy_with_integer_labels(Tensor([[0.0, 0.0]]), Tensor([1]))
    >>> loss.numpy().round(2)
    array([0.69], dtype=float32)
    """
    logits, labels = _errors("softmax_cross_entropy", logits, None), array(labels)
    if labels.is_floating_point():
        raise ArgumentError(
            f"softmax_cross_entropy: labels: {labels.dtype.name}, expected integers"
        )
    mask = None if where is None else array(where)
    n = len(logits.shape)
    if mask is not None and len(mask.shape) != n:
        mask = mask.unsqueeze(axis)
    axes = [a % n for a in ((axis,) if isinstance(axis, int) else axis)]
    order = [*(i for i in range(n) if i not in axes), *axes]
    outer = len(order) - len(axes)

    def last(x: Tensor) -> Tensor:
        return x.permute(*order).reshape(*(x.shape[i] for i in order[:outer]), -1)

    logits = last(logits)
    chosen = logits.gather(-1, labels.unsqueeze(-1).cast(dtypes.int32)).squeeze(-1)
    if mask is None:
        return logits.logsumexp(-1) - chosen
    mask = last(mask.expand(*(logits.shape[i] for i in range(n)))) if outer + 1 == n else last(mask)
    seen = mask.where(logits, -float("inf"))
    return mask.any(axis=-1).where(seen.logsumexp(-1) - chosen, 0.0)


def multiclass_hinge_loss(scores: Any, labels: Any) -> Tensor:
    """Return the maximum of scores, plus 1 for all classes but the label, minus the label's."""
    scores = array(scores)
    one_hot = array(labels).one_hot(scores.shape[-1]).cast(scores.dtype)
    return (scores + 1.0 - one_hot).max(axis=-1) - (scores * one_hot).sum(axis=-1)


def multiclass_perceptron_loss(scores: Any, labels: Any) -> Tensor:
    """Return the maximum of scores minus the score of the label."""
    scores = array(scores)
    one_hot = array(labels).one_hot(scores.shape[-1]).cast(scores.dtype)
    return scores.max(axis=-1) - (scores * one_hot).sum(axis=-1)


def poly_loss_cross_entropy(
    logits: Any, labels: Any, *, epsilon: Any = 2.0, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return softmax_cross_entropy and epsilon times (1 - p) of the labels (arXiv:2204.12511)."""
    logits, labels = _errors("poly_loss_cross_entropy", logits, None), array(labels)
    p = _log_softmax(logits, axis, where).exp()
    return softmax_cross_entropy(logits, labels, axis, where) + epsilon * _sum(
        labels * (1 - p), axis, where
    )


def kl_divergence(log_predictions: Any, targets: Any, axis: Any = -1, where: Any = None) -> Tensor:
    """Return the relative entropy of targets to exp(log_predictions) along an axis."""
    targets = array(targets)
    log = (targets == 0).where(0.0, (targets == 0).where(1.0, targets).log())
    return _sum(targets * (log - array(log_predictions)), axis, where)


def kl_divergence_with_log_targets(
    log_predictions: Any, log_targets: Any, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return kl_divergence of the logarithms of both distributions."""
    log_targets = array(log_targets)
    return _sum(log_targets.exp() * (log_targets - array(log_predictions)), axis, where)


def generalized_kl_divergence(
    log_predictions: Any, targets: Any, axis: Any = -1, where: Any = None
) -> Tensor:
    """Return kl_divergence for unnormalized arguments: plus the sum of predictions - targets."""
    more = _sum(array(log_predictions).exp() - array(targets), axis, where)
    return kl_divergence(log_predictions, targets, axis, where) + more


convex_kl_divergence = generalized_kl_divergence


def smooth_labels(labels: Any, alpha: Any, *, axis: Any = -1, where: Any = None) -> Tensor:
    """Return distributions mixed with the uniform one: (1 - alpha) * labels + alpha / classes."""
    labels = _errors("smooth_labels", labels, None)
    axes = (axis,) if isinstance(axis, int) else tuple(axis or range(len(labels.shape)))
    if where is None:
        classes: Any = math.prod(labels.shape[a] for a in axes)
    else:
        classes = array(where).expand(labels.shape).sum(axis=axes, keepdim=True)
    return labels * (1.0 - alpha) + alpha / classes


def triplet_margin_loss(
    anchors: Any,
    positives: Any,
    negatives: Any,
    axis: int = -1,
    norm_degree: Any = 2,
    margin: Any = 1.0,
    eps: Any = 1e-6,
) -> Tensor:
    """Return max(0, margin + distance to positives - distance to negatives)."""

    def distance(other: Any) -> Tensor:
        apart = (array(anchors) - other) ** norm_degree
        return (apart.sum(axis=axis) + eps) ** (1 / norm_degree)

    return (distance(array(positives)) - distance(array(negatives)) + margin).relu()


def ntxent(embeddings: Any, labels: Any, temperature: Any = 0.07) -> Tensor:
    """Return the contrastive loss of embeddings (Chen et al., arXiv:2002.05709).

    Embeddings with equal labels match; the loss is the mean over all matching pairs.
    """
    x, labels = _errors("ntxent", embeddings, None), array(labels)
    n = x.shape[0]
    if labels.shape[0] != n:
        raise ArgumentError(f"ntxent: labels: {labels.shape[0]}, expected {n} as embeddings")
    tiny = np.finfo(x.dtype).eps
    cosines = cosine_similarity(x.unsqueeze(0), x.unsqueeze(1), epsilon=tiny) / temperature
    same = labels.unsqueeze(1) == labels.unsqueeze(0)
    pairs = same & ~Tensor.eye(n).cast(dtypes.bool)
    low = -float("inf")
    others, matches = (~same).where(cosines, low), pairs.where(cosines, low)
    top = others.maximum(matches).max(axis=1, keepdim=True).detach()
    total = (others - top).exp().sum(axis=1, keepdim=True) + (matches - top).exp()
    return -pairs.where(matches - top - total.log(), 0.0).sum() / pairs.sum()


def ctc_loss_with_forward_probs(
    logits: Any,
    logit_paddings: Any,
    labels: Any,
    label_paddings: Any,
    *,
    blank_id: int = 0,
    log_epsilon: float = -1e5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return ctc_loss, and the log probabilities of all prefixes of the labels.

    For prefixes that end with a blank their shape is (time, batch, labels + 1), for prefixes that
    end with a label (time, batch, labels).
    """
    logits, labels = _errors("ctc_loss", logits, None), array(labels)
    pads, label_pads = array(logit_paddings), array(label_paddings)
    if len(logits.shape) != 3 or len(labels.shape) != 2 or labels.shape[0] != logits.shape[0]:
        raise ArgumentError(
            f"ctc_loss: logits {tuple(logits.shape)}, labels {tuple(labels.shape)}, expected "
            "(batch, time, classes) and (batch, labels)"
        )
    batch, length = labels.shape
    log_p = logits.log_softmax(-1)
    count = length - label_pads.sum(axis=1).cast(dtypes.int32)
    repeat = (labels[:, :-1] == labels[:, 1:]).cast(log_p.dtype).pad(((0, 0), (0, 1)))
    blank = log_p[:, :, blank_id : blank_id + 1].permute(1, 0, 2)
    one_hot = labels.one_hot(logits.shape[-1]).cast(log_p.dtype)
    emit = (log_p @ one_hot.transpose(1, 2)).permute(1, 0, 2)

    def add_to(phi: Tensor, more: Tensor) -> Tensor:
        return phi[:, :1].cat(np.logaddexp(phi[:, 1:], more), dim=-1)

    def step(carry: tuple[Tensor, Tensor], xs: tuple[Tensor, ...]) -> Any:
        phi, own = carry
        emits, blanks, pad = xs
        pad = pad.reshape(batch, 1)
        moved = add_to(phi, own + repeat * log_epsilon)
        new_own = np.logaddexp(moved[:, :-1] + emits, own + emits)
        new_phi = add_to(moved + blanks, own + blanks + (1.0 - repeat) * log_epsilon)
        new = (phi * pad + new_phi * (1.0 - pad), own * pad + new_own * (1.0 - pad))
        return new, new

    start = Tensor.full((batch, length), log_epsilon, dtype=log_p.dtype)
    first = Tensor.zeros(batch, 1, dtype=log_p.dtype).cat(start, dim=-1)
    xs = (emit, blank, pads.cast(log_p.dtype).permute(1, 0))
    (phi, own), (phis, owns) = lax.scan(step, (first, start), xs)
    last = add_to(phi, own)
    phis = phis[:-1].cat(last.unsqueeze(0), dim=0)
    loss = -(last * count.one_hot(length + 1).cast(last.dtype)).sum(axis=1)
    return loss, phis, owns


def ctc_loss(
    logits: Any,
    logit_paddings: Any,
    labels: Any,
    label_paddings: Any,
    *,
    blank_id: int = 0,
    log_epsilon: float = -1e5,
) -> Tensor:
    """Return the connectionist temporal classification loss of each example (Graves, 2006).

    logits are (batch, time, classes), labels (batch, labels); paddings are 1 where an element is
    padding. Impossible alignments have the log probability log_epsilon.
    """
    return ctc_loss_with_forward_probs(
        logits,
        logit_paddings,
        labels,
        label_paddings,
        blank_id=blank_id,
        log_epsilon=log_epsilon,
    )[0]
