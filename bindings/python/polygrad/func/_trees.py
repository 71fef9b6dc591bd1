"""Trees: tensors in nested dicts, lists, tuples, named tuples and dataclasses."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable

from polygrad._library import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

# For each registered class the functions flatten and unflatten: see register.
_registered: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register(
    cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]
) -> None:
    """Register a class as a container of trees.

    flatten(object) returns the children, a list or tuple, and the rest of the object, which must
    be comparable; unflatten(rest, children) makes an object of both.
    """
    _registered[cls] = (flatten, unflatten)


class Structure:
    """The structure of a tree: its containers and keys, without the leaves.

    >>> leaves, structure = flatten({"a": [1, 2], "b": None})
    >>> leaves, structure
    ([1, 2], {'a': [*, *], 'b': None})
    >>> structure.build([3, 4])
    {'a': [3, 4], 'b': None}
    """

    __slots__ = ("children", "kind", "names", "rest")

    def __init__(self, kind: Any, rest: Any, names: list[str], children: list[Structure]) -> None:
        self.kind, self.rest, self.names, self.children = kind, rest, names, children

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure)
            and self.kind is other.kind
            and self.rest == other.rest
            and self.children == other.children
        )

    def __hash__(self) -> int:
        return hash((self.kind, *self.children))

    def __repr__(self) -> str:
        """Return the structure as a tree with stars for leaves."""
        return "*" if self is LEAF else repr(self._make([_Star(c) for c in self.children]))

    def _make(self, values: list[Any]) -> Any:
        kind = self.kind
        if kind is None:
            return None
        if kind in _registered:
            return _registered[kind][1](self.rest, values)
        if issubclass(kind, dict):
            return dict(zip(self.rest, values))
        if dataclasses.is_dataclass(kind):
            made: Any = object.__new__(kind)  # type: ignore[arg-type]
            for (name, _), value in zip(self.rest, values):
                object.__setattr__(made, name, value)
            return made
        return kind(*values) if hasattr(kind, "_fields") else kind(values)

    def build(self, leaves: list[Any]) -> Any:
        """Build a tree of this structure from a list of leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self is LEAF:
            return next(leaves)
        return self._make([c._build(leaves) for c in self.children])

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self is LEAF else sum(c.size for c in self.children)

    def paths(self, name: str) -> Iterator[str]:
        """Return the path of each leaf as a Python expression.

        >>> list(flatten({"a": [1, 2]})[1].paths("params"))
        ["params['a'][0]", "params['a'][1]"]
        """
        if self is LEAF:
            yield name
        for place, child in zip(self.names, self.children):
            yield from child.paths(name + place)


class _Star:
    def __init__(self, of: Structure) -> None:
        self._of = of

    def __repr__(self) -> str:
        return repr(self._of)


LEAF = Structure(object, None, [], [])


def _children(tree: Any) -> tuple[list[Any], Any, list[str]] | None:
    """Return the children of a container, the rest of it and the children's names; None: a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, rest = _registered[kind][0](tree)
        return list(children), rest, [f"[{i}]" for i in range(len(children))]
    if isinstance(tree, dict):
        try:
            keys = sorted(tree)
        except TypeError:
            keys = list(tree)
        return [tree[k] for k in keys], keys, [f"[{k!r}]" for k in keys]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), None, [f".{name}" for name in tree._fields]
    if isinstance(tree, (list, tuple)):
        return list(tree), None, [f"[{i}]" for i in range(len(tree))]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = [(f.name, f.type) for f in dataclasses.fields(tree)]
        return [getattr(tree, n) for n, _ in fields], fields, [f".{n}" for n, _ in fields]
    return None


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a tree, and its structure. None is a tree without leaves."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return Structure(None, None, [], [])
    found = _children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    children, rest, names = found
    return Structure(type(tree), rest, names, [_flatten(c, leaves) for c in children])


def spread(prefix: Any, structure: Structure, name: str) -> list[Any]:
    """Expand a prefix tree to one value for each leaf: its leaves hold for all leaves below them.

    >>> spread((0, None), flatten(([1, 2], 3))[1], "in_axes")
    [0, 0, None]
    """
    if structure is LEAF or not isinstance(prefix, (dict, list, tuple)):
        return [prefix] * structure.size
    found = _children(prefix)
    children, rest, _ = found if found is not None else ([], None, [])
    if len(children) != len(structure.children) or (
        isinstance(prefix, dict) and rest != structure.rest
    ):
        raise ArgumentError(
            f"{name}: {prefix!r}, expected a tree like {structure!r}, or its beginning"
        )
    return [
        value
        for child, part, place in zip(children, structure.children, structure.names)
        for value in spread(child, part, name + place)
    ]
