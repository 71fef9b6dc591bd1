"""Gradients: which nodes they are asked for, and how they cross computed nodes.

A computed node stands in the graph as a leaf and remembers the lazy node that it came from. So
the graph below a loss may be in pieces. The gradient with respect to such a leaf is the seed for
the piece that it came from, and the chain rule is applied from piece to piece.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from polygrad._graph import CTX, Node, handles
from polygrad._library import fail, lib
from polygrad._prototypes import POLY_ADD

if TYPE_CHECKING:
    from collections.abc import Sequence


def lazy(node: Node) -> Node:
    """Return the node that a computed node came from, or the node itself."""
    return node if node.origin is None else node.origin


def owners(root: Node) -> tuple[list[Node], set[Node]]:
    """Return the nodes below root with respect to which a living tensor wants a gradient.

    With them come all nodes through which gradients flow.
    """
    found: dict[Node, None] = {}
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.owner is not None and node.owner() is not None:
            found[lazy(node)] = None
        below = node.source if node.origin is None else (node.origin,)
        for other in below:
            if other.tracked and other not in seen:
                seen.add(other)
                stack.append(other)
    return list(found), seen


def differentiate(
    root: Node, seed: Node | None, targets: Sequence[Node], everywhere: bool = False
) -> list[Node | None]:
    """Return the gradients of the sum of root, weighted by seed, with respect to targets.

    They are lazy nodes; a target that root does not depend on gets None. With everywhere, the
    way to a target may lead through nodes that are not tracked.
    """
    wanted = {lazy(t) for t in targets}
    total: dict[Node, Node] = {}
    seeds: dict[Node, Node] = {}
    if seed is not None:
        seeds[root] = seed
    for piece in _pieces(root, everywhere):
        start = lazy(piece)
        at = [n for n in _visible(start, everywhere) if n in wanted or n.origin is not None]
        if not at:
            continue
        for node, gradient in zip(at, _gradients(start, seeds.get(piece), at)):
            if node in wanted:
                _accumulate(total, node, gradient)
            if node.origin is not None:
                _accumulate(seeds, node, gradient)
    return [total.get(lazy(t)) for t in targets]


def _pieces(root: Node, everywhere: bool) -> list[Node]:
    """Return root and the computed nodes that it depends on, each before those it depends on."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            inputs = _visible(lazy(node), everywhere)
            stack += [(n, False) for n in inputs if n.origin is not None]
    return order[::-1]


def _visible(start: Node, everywhere: bool) -> list[Node]:
    """Return the nodes of the piece that ends in start; computed nodes are its leaves."""
    seen = {start: None}
    stack = [start]
    while stack:
        for node in stack.pop().source:
            if (node.tracked or everywhere) and node not in seen:
                seen[node] = None
                stack.append(node)
    return list(seen)


def _gradients(root: Node, seed: Node | None, targets: list[Node]) -> list[Node]:
    out = (ctypes.c_void_p * len(targets))()
    weight = None if seed is None else seed.handle
    if lib.poly_grad_many(CTX, root.handle, weight, handles(targets), len(targets), out) != 0:
        fail()
    source = (root,) if seed is None else (root, seed)
    gradients: list[int] = list(out)
    return [Node(handle, source, None, True) for handle in gradients]


def _accumulate(sums: dict[Node, Node], node: Node, gradient: Node) -> None:
    known = sums.get(node)
    if known is not None:
        handle = lib.poly_binary(CTX, POLY_ADD, known.handle, gradient.handle)
        if handle is None:
            fail()
        gradient = Node(handle, (known, gradient), None, True)
    sums[node] = gradient
