"""The Tensor."""

from __future__ import annotations

import weakref
from contextlib import ContextDecorator
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polygrad import _autograd, _dlpack, _live, _trace, _views
from polygrad._base import call, size_node, view
from polygrad._display import Display
from polygrad._elementwise import Elementwise
from polygrad._exchange import Exchange
from polygrad._graph import CTX, Node, compute, describe, leaf
from polygrad._hashing import Hashing
from polygrad._indexing import Indexing, expression
from polygrad._job import Job
from polygrad._library import ArgumentError, ArgumentTypeError, fail, lib
from polygrad._linalg import Linalg
from polygrad._loss import Loss
from polygrad._movement import Movement, join
from polygrad._reduce import Reduce
from polygrad._sampling import Sampling
from polygrad._spatial import Spatial
from polygrad.device import Device
from polygrad.dtype import DType, DTypeLike, by_numpy, dtypes, need_held, to_dtype
from polygrad.variable import SymInt, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Tensor(
    Sampling,
    Elementwise,
    Movement,
    Indexing,
    Reduce,
    Linalg,
    Spatial,
    Loss,
    Hashing,
    Exchange,
    Display,
):
    """An array that is computed when its value is needed.

    data is a number, a nested list, an array, another tensor, None for no elements, or bytes: the
    memory of elements. A
    contiguous numpy array is used in place: the tensor and the array share memory, and so does a
    tensor of another library (see from_dlpack). Without dtype, floats become float32, integers
    int32, bools bool and bytes uint8; arrays keep their type.

    >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0).numpy()
    array([4., 6.], dtype=float32)

    Making tensors: Tensor(data), zeros, ones, full, eye, arange, linspace, rand, randn, uniform,
    randint, from_numpy, from_dlpack; tensors like another one: zeros_like, ones_like, rand_like.

    >>> Tensor.arange(6).reshape(2, 3).realize()
    Tensor([[0, 1, 2],
            [3, 4, 5]], shape=(2, 3), dtype=int32)

    Computing: every method returns a new tensor that knows how its values come about; nothing is
    computed before realize(), numpy(), tolist(), item() or backward() ask. Shapes and types are
    checked at once, shapes are broadcast, and integers meet floats, as in numpy.

    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> y = (x * 2 + 1).sqrt()
    >>> y
    Tensor(lazy, shape=(3,), dtype=float32)
    >>> y.realize()
    Tensor([1.7320508, 2.236068 , 2.6457512], shape=(3,), dtype=float32)

    Selecting: t[1], t[:, ::2], t[..., None], t[Tensor([2, 0])]; t[0] = 5 writes; masked_select.

    >>> t = Tensor([[1, 2, 3], [4, 5, 6]])
    >>> t[:, -1].tolist(), t[1, ::2].tolist()
    ([3, 6], [4, 6])

    Gradients: backward() adds to the .grad of tensors made with requires_grad=True; gradient()
    returns gradients and stores none.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0, 6.0]

    Values: numpy(), tolist(), item() for one number; np.asarray(t), memoryview(t.data()) and
    torch.from_dlpack(t) use the same memory. Printing shows the values of a tensor that has been
    computed and computes nothing.

    See also polygrad.nn (layers, optimizers, compiled steps), polygrad.viz (graphs, kernels, their
    times), polygrad.dtypes, polygrad.Device.
    """

    __slots__ = ()

    # Whether dropout drops: see train().
    training: ClassVar[bool] = False

    # numpy leaves `array + tensor` to the tensor.
    __array_ufunc__ = None

    def __init__(
        self,
        data: Any = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> None:
        if device is not None:
            Device.require(device)
        kind = None if dtype is None else to_dtype(dtype)
        self.grad: Tensor | None = None
        if isinstance(data, Tensor):
            source = data if kind is None else data.cast(kind)
            self._node = source._node
            if requires_grad:
                self._node = source.clone()._node
            elif requires_grad is False:
                self._node = source.detach()._node
        elif isinstance(data, (list, tuple)) and _has_tensors(data):
            joined = join("poly_stack", [_as_tensor(item) for item in data], 0)
            self._node = (joined if kind is None else joined.cast(kind))._node
        else:
            self._node = _leaf_of(data, kind)
        _live.watch(self)
        if requires_grad or (requires_grad is False and self._node.tracked is not False):
            self.requires_grad = requires_grad

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis.

        >>> Tensor([[1, 2, 3]]).shape
        (1, 3)
        """
        return describe(self._node)[0]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The data type: a string with a few attributes.

        >>> Tensor([1.0]).dtype == "float32", Tensor([1]).dtype
        (True, dtypes.int32)
        """
        return describe(self._node)[1]

    @property
    def device(self) -> str:
        """Where the tensor lives.

        >>> Tensor([1.0]).device
        'CPU'
        """
        return Device.DEFAULT

    def numel(self) -> int:
        """Return the number of elements.

        >>> Tensor.zeros(2, 3).numel()
        6
        """
        shape = self.shape
        if any(isinstance(n, SymInt) for n in shape):
            return prod(shape)
        count: int = lib.poly_numel(CTX, self._node.handle)
        if count < 0:
            fail()
        return count

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis.

        >>> Tensor.zeros(2, 3).size(), Tensor.zeros(2, 3).size(-1)
        ((2, 3), 3)
        """
        return self.shape if dim is None else self._size(dim)

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """Return the number of bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Tell whether the data type is a floating one."""
        return bool(dtypes.is_float(self.dtype))

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len of a tensor without axes")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise TypeError(
            "the truth of a tensor, which if, not, and, or and in ask for, is not defined: "
            "say item() for the value of one element, all() or any() for several"
        )

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if not dtypes.is_int(self.dtype) or self.shape:
            raise TypeError(
                f"a tensor of {self.dtype} and shape {self.shape} is not an index, expected an "
                "integer without axes"
            )
        return int(self.item())

    # Values

    @property
    def is_realized(self) -> bool:
        """Whether the tensor has been computed: its values, or those it is a view of, are there.

        >>> x = Tensor([1.0, 2.0])
        >>> x.is_realized, x[1:].is_realized, (x + 1).is_realized, (x + 1).realize().is_realized
        (True, True, False, True)
        """
        return self._node.data is not None or _views.is_there(self)

    def realize(self, *lst: Tensor, do_update_stats: bool = True) -> Tensor:
        """Compute this tensor (and others with it) and return it.

        No statistics are kept, so do_update_stats changes nothing: it is there for tinygrad's
        users.

        >>> (Tensor([1.0]) + 1).realize().tolist()
        [2.0]
        """
        if _trace.active():
            _store((self, *lst))
            return self
        todo = _to_compute((self, *lst))
        if todo:
            for node, made in zip(todo, compute(list(todo))):
                for tensor in todo[node]:
                    tensor._node = made
        return self

    def realize_async(self, *others: Tensor) -> Job:
        """Start to compute this tensor (and others with it) and return at once.

        >>> x = Tensor([1.0]) + 1
        >>> x.realize_async().wait(), x.tolist()
        (True, [2.0])
        """
        return Job(_to_compute((self, *others)))

    @property
    def _data(self) -> np.ndarray[Any, Any]:
        """The memory of the computed tensor; writes to it change the tensor.

        A view that numpy cannot express on its root's memory is a read-only copy.
        """
        if self._node.data is None:
            if _trace.active():
                raise _trace.value_needed()
            self.realize()
        array = self._node.data
        if array is None:
            array = compute([self._node])[0].data
            assert array is not None
            array.flags.writeable = False
        shape = self.shape
        if array.shape != shape and any(isinstance(n, SymInt) for n in shape):
            return array[tuple(slice(n) for n in values(shape))]
        return array

    def numpy(self) -> np.ndarray[Any, Any]:
        """Compute the tensor and return its values: the memory itself, not a copy.

        bfloat16 and fp8, which numpy does not have, come as float32. A view whose elements do not
        lie in regular steps comes as a copy that may not be written.

        >>> Tensor([1, 2]).numpy()
        array([1, 2], dtype=int32)
        """
        if self.dtype.numpy is None:
            return self.cast(dtypes.float32)._data
        return self._data

    def item(self) -> Any:
        """Return the value of a tensor with one element.

        >>> Tensor([[2.5]]).item()
        2.5
        """
        array = self.numpy()
        if array.size != 1:
            raise ValueError(f"item of a tensor of shape {array.shape}, expected one element")
        return array.item()

    def tolist(self) -> Any:
        """Return the values as a nested list (a number for a tensor without axes).

        >>> Tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.numpy().tolist()

    def contiguous(self) -> Tensor:
        """Return the tensor, to be computed into memory of its own rather than fused."""
        return call("poly_contiguous", self)

    def contiguous_backward(self) -> Tensor:
        """Return the tensor; its gradient is computed into memory of its own."""
        return call("poly_contiguous_backward", self)

    def detach(self) -> Tensor:
        """Return the tensor without its history: no gradient flows through it.

        >>> Tensor([1.0], requires_grad=True).detach().requires_grad
        False
        """
        tensor = view("poly_detach", self)
        tensor._node.data = self._node.data
        tensor._node.tracked = False
        return tensor

    def clone(self) -> Tensor:
        """Return a copy with memory of its own, which requires a gradient if self does.

        The gradient, if there is one, is copied too.

        >>> a = Tensor([1.0])
        >>> b = a.clone()
        >>> b._data[0] = 5
        >>> a.tolist()
        [1.0]
        """
        node = self._node
        if node.data is None or node.origin is not None or _trace.active():
            return self.contiguous()
        copy = _of(leaf(node.data.copy(), self.dtype, self.shape))
        copy.requires_grad = node.tracked
        if self.grad is not None:
            copy.grad = self.grad.clone()
        return copy

    # Devices

    def to(self, device: str | None) -> Tensor:
        """Return the tensor on a device.

        >>> Tensor([1.0]).to("cpu").device
        'CPU'
        """
        Device.require(device)
        return self

    def to_(self, device: str | None) -> Tensor:
        """Move the tensor to a device."""
        return self.replace(self.to(device))

    def cpu(self) -> Tensor:
        """Return to("cpu")."""
        return self.to("cpu")

    def cuda(self) -> Tensor:
        """Return to("cuda")."""
        return self.to("cuda")

    # Changing a tensor

    def assign(self, x: Any) -> Tensor:
        """Give the tensor new values, of its shape and type, in its memory.

        >>> t = Tensor([1.0, 2.0])
        >>> t.assign(t * 10).tolist()
        [10.0, 20.0]
        """
        x = self._fit(x, "assign")
        if _trace.active():
            _views.put(self, _value_of(x))
        elif x is not self:
            _views.write(self, x)
        return self

    def _fit(self, x: Any, name: str) -> Tensor:
        """Return a new value, which must have the tensor's type, in its shape."""
        shape, dtype = describe(self._node)
        if not isinstance(x, Tensor):
            x = Tensor(x, dtype=dtype)
        value: Tensor = x
        have, given = describe(value._node)
        if given is not dtype:
            raise ArgumentTypeError(
                f"{name} dtype mismatch: a value of {given.name}, "
                f"expected the tensor's {dtype.name}"
            )
        if have == shape:
            return value
        shared = zip(reversed(have), reversed(shape))
        if len(have) > len(shape) or any(n not in (1, to) for n, to in shared):
            raise ArgumentError(
                f"{name} shape mismatch: a value of shape {have} does not broadcast to {shape}"
            )
        return value.expand(shape)

    def sequential(self, ll: Iterable[Callable[[Tensor], Tensor]]) -> Tensor:
        """Call functions, each with the result of the one before.

        >>> Tensor([-1.0, 4.0]).sequential([Tensor.relu, Tensor.sqrt]).tolist()
        [0.0, 2.0]
        """
        x = self
        for function in ll:
            x = function(x)
        return x

    def replace(self, x: Tensor) -> Tensor:
        """Let the tensor stand for what x stands for; whether it requires a gradient stays.

        >>> w = Tensor([1.0], requires_grad=True)
        >>> w.replace(Tensor([2.0])).requires_grad, w.tolist()
        (True, [2.0])
        """
        if not isinstance(x, Tensor):
            raise TypeError(f"replace: x: a {type(x).__name__}, expected a tensor")
        owner = self._node.owner
        _trace.keep(self)
        self._node = x._node
        _live.watch(self)
        if owner is not None and owner() is self and not x._node.tracked:
            self.requires_grad = True
        return self

    def __setitem__(self, indices: Any, value: Any) -> None:
        alone = _views.alone(self)
        node = self._node
        dtype = describe(node)[1]
        tracked = node.tracked
        if isinstance(value, Tensor):
            if value.dtype is not dtype:
                raise ArgumentTypeError(
                    f"setitem dtype mismatch: a value of {value.dtype.name}, "
                    f"expected the tensor's {dtype.name}"
                )
            tracked = tracked or value._node.tracked
        if node.tracked and _views.root(node).owner is not None:
            raise NotImplementedError(
                "setitem: a tensor that requires a gradient cannot be changed in place"
            )
        if tracked or _trace.active():
            # Gradients and compiled steps see the change.
            _views.put(self, self._with_item(indices, value)._node)
            return
        base = node if alone else _views.settle_root(self)
        if dtype.numpy is None or not (alone or _views.show(self)):
            self.assign(self._with_item(indices, value))
            return
        array = self._node.data
        assert array is not None
        if isinstance(value, Tensor):
            value = value.numpy()
        if isinstance(value, np.ndarray):
            value = _apart(value, array)
        if type(indices) is not int:
            indices = _numpy_index(expression(indices), array)
        if not alone:
            _views.keep_readers((base,))
        array[indices] = value

    def __delitem__(self, indices: Any) -> None:
        raise TypeError("elements of a tensor cannot be deleted")

    def __iadd__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self + x)

    def __isub__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self - x)

    def __imul__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self * x)

    def __itruediv__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self / x)

    def __ifloordiv__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self // x)

    def __imod__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self % x)

    def __ipow__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self**x)

    def __imatmul__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self @ x)

    def __iand__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self & x)

    def __ior__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self | x)

    def __ixor__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self ^ x)

    def __ilshift__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self << x)

    def __irshift__(self, x: Any) -> Tensor:  # type: ignore[misc]
        return self._in_place(self >> x)

    def _in_place(self, result: Tensor) -> Tensor:
        """Write a result into memory, if there is some; else let the tensor stand for it."""
        node = self._node
        if describe(result._node) != describe(node):
            if node.shows:
                raise ArgumentTypeError(
                    f"in place: the result has shape {result.shape} and type {result.dtype.name}, "
                    f"expected those of the view, {self.shape} and {self.dtype.name}"
                )
            return self.replace(result)
        if _trace.active() or node.tracked or result._node.tracked:
            if node.owner is not None:
                return self.replace(result)
            _views.put(self, result._node)
        elif _views.find_memory(self).data is None:
            _views.put(self, result._node)
        else:
            _views.write(self, result)
        return self

    # Gradients

    @property
    def requires_grad(self) -> bool | None:
        """Whether backward gives this tensor, or one that it was computed from, a gradient.

        None means unset: an optimizer sets it to True, and leaves tensors with False alone.

        >>> x, w = Tensor([1.0]), Tensor([1.0], requires_grad=True)
        >>> x.requires_grad, w.requires_grad, (x * w).requires_grad, w.detach().requires_grad
        (None, True, True, False)
        """
        return self._node.tracked

    @requires_grad.setter
    def requires_grad(self, value: bool | None) -> None:
        node = self._node
        if not value:
            for n in (node, _autograd.lazy(node)):
                n.owner = None
                n.tracked = (n.tracked and any(s.tracked for s in n.source)) or value
            node.tracked = _autograd.lazy(node).tracked
            return
        shape, dtype = describe(node)
        if not dtypes.is_float(dtype):
            raise ArgumentTypeError(
                f"requires_grad: the tensor is {dtype}, expected a floating type"
            )
        if node.owner is not None and node.owner() is not self:
            # Another variable stands for the same node: this one needs memory of its own.
            node = self._node = leaf(self._data.copy(), dtype, shape)
        elif not node.tracked and node.data is None and not _trace.active():
            self.realize()
            node = self._node
        for n in (node, _autograd.lazy(node)):
            n.owner = weakref.ref(self)
            n.tracked = True

    def requires_grad_(self, requires_grad: bool | None = True) -> Tensor:
        """Set requires_grad and return the tensor."""
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Tensor | None = None) -> Tensor:
        """Compute the gradients of this tensor for all tensors that require one.

        They are added to .grad. Intermediate tensors that still exist get theirs, too. A tensor
        that is not a scalar needs its incoming gradient, of its own shape. Gradients can be
        differentiated again.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> loss = (x ** 3).sum().backward()
        >>> x.grad.tolist()
        [3.0, 12.0]
        """
        root = self._node
        if gradient is None and self.numel() != 1:
            raise ArgumentError(
                f"backward: the tensor has shape {self.shape}, expected one element or a gradient"
            )
        targets, below = _autograd.owners(root)
        if not targets:
            raise RuntimeError("backward: no tensor that this one depends on requires a gradient")
        wanted: dict[Node, dict[int, Tensor]] = {}
        for node in targets:
            owner = None if node.owner is None else node.owner()
            wanted[node] = {} if owner is None else {id(owner): owner}
        # What somebody still holds of the way: it gets its gradient too, and is computed with it,
        # else it would have to be computed again before an optimizer changes the parameters.
        held: Any = [t for t in _live.lazy() if t._node in below and t._node is not root]
        for tensor in held:
            if dtypes.is_float(tensor.dtype):
                wanted.setdefault(tensor._node, {})[id(tensor)] = tensor
        found = []
        grads = _autograd.differentiate(root, self._seed(gradient), list(wanted))
        for node, grad in zip(wanted, grads):
            if grad is None:
                continue
            for owner in wanted[node].values():
                tensor = _of(grad)
                found.append((owner, tensor if owner.grad is None else owner.grad + tensor))
        if not _trace.active():
            self.realize(*(tensor for _, tensor in found), *held)
        for owner, tensor in found:
            _trace.keep_gradient(owner)
            if owner.grad is None or _trace.active():
                owner.grad = tensor
            else:  # whoever holds the gradient sees the sum
                owner.grad.replace(tensor)
        return self

    def gradient(
        self, *targets: Tensor, gradient: Tensor | None = None, materialize_grads: bool = False
    ) -> list[Tensor]:
        """Return the gradients of this tensor with respect to targets, as lazy tensors.

        gradient is the incoming gradient, of this tensor's shape; one element needs none.
        Targets that the tensor does not depend on are an error, or with materialize_grads have
        gradients of zeros.

        >>> x = Tensor([1.0, 2.0])
        >>> (x ** 3).sum().gradient(x)[0].tolist()
        [3.0, 12.0]
        """
        if gradient is None and self.numel() != 1:
            raise ArgumentError(
                f"gradient: the tensor has shape {self.shape}, expected one element or a gradient"
            )
        seed = self._seed(gradient)
        nodes = [t._node for t in targets]
        grads = _autograd.differentiate(self._node, seed, nodes, everywhere=True)
        if not materialize_grads and None in grads:
            i = grads.index(None)
            raise RuntimeError(f"gradient: the tensor does not depend on target {i}")
        return [t.zeros_like() if g is None else _of(g) for t, g in zip(targets, grads)]

    def _seed(self, gradient: Tensor | None) -> Node | None:
        """Return the node of a gradient, in the shape of the tensor if both have one element."""
        if gradient is None:
            return None
        if gradient.shape != self.shape and gradient.numel() == self.numel() == 1:
            gradient = gradient.reshape(self.shape)
        return gradient._node

    # Modes

    class train(ContextDecorator):
        """A context in which Tensor.training is set, which dropout looks at; also a decorator.

        >>> with Tensor.train():
        ...     Tensor.training
        True
        """

        def __init__(self, mode: bool = True) -> None:
            self.mode = mode

        def __enter__(self) -> None:
            """Set the mode."""
            self.before = Tensor.training
            Tensor.training = self.mode

        def __exit__(self, *_: object) -> None:
            """Go back to the mode before."""
            Tensor.training = self.before


def _to_compute(tensors: Iterable[Tensor]) -> dict[Node, list[Tensor]]:
    """Return the nodes that have no value yet, with the tensors that stand for them."""
    todo: dict[Node, list[Tensor]] = {}
    for tensor in tensors:
        if tensor._node.data is None and not (tensor._node.shows and _views.is_there(tensor)):
            todo.setdefault(tensor._node, []).append(tensor)
    if todo and _trace.active():
        raise _trace.value_needed()
    return todo


def _store(tensors: Iterable[Tensor]) -> None:
    """Let a program that is being traced compute tensors into memory of their own."""
    for tensor in tensors:
        node = tensor._node
        if not (node.data is not None or node.is_input or node.shows or _trace.is_outside(node)):
            _views.stand_for(node, tensor.contiguous()._node)


def assign(targets: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Give tensors that have memory of their own new values, all computed from those before.

    The values are not used otherwise.
    """
    for target, value in zip(targets, values):
        if value.shape != target.shape:
            raise ValueError(
                f"assign: a value of shape {value.shape}, expected the tensor's {target.shape}"
            )
    if _trace.active():
        for target, value in zip(targets, values):
            _views.put(target, _value_of(value.cast(target.dtype)))
        return
    for target in targets:
        settle(target)
    _views.overwrite(targets, values)


def _value_of(tensor: Tensor) -> Node:
    """Return a node that has the value of a tensor, but neither its history nor its memory."""
    node = call("poly_detach", tensor)._node
    node.tracked = False
    return node


def settle(tensor: Tensor) -> None:
    """Make a tensor a leaf: computed, without history, with memory of its own."""
    node = tensor.realize()._node
    if node.source:
        tensor._node = leaf(tensor._data.copy(), tensor.dtype, tensor.shape)
    else:
        _views.cut_history(node)


def _numpy_index(indices: Any, target: np.ndarray[Any, Any]) -> Any:
    """Return an index expression of target with arrays instead of tensors."""
    if isinstance(indices, Tensor):
        indices = indices.numpy()
    if isinstance(indices, np.ndarray):
        return _apart(indices, target)
    if isinstance(indices, (tuple, list)):
        return type(indices)(_numpy_index(item, target) for item in indices)
    return indices


def _apart(array: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array that does not change while target is written.

    numpy looks out for that only where both are written and read by slices.
    """
    return array.copy() if np.may_share_memory(array, target) else array


def _of(node: Node) -> Tensor:
    tensor = Tensor.__new__(Tensor)
    tensor._node = node
    tensor.grad = None
    _live.watch(tensor)
    return tensor


def _has_tensors(data: Any) -> bool:
    return any(
        isinstance(item, Tensor) or (isinstance(item, (list, tuple)) and _has_tensors(item))
        for item in data
    )


def _as_tensor(item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else Tensor(item)


def _leaf_of(data: Any, kind: DType | None) -> Node:
    """Make a leaf of numbers, in place where that is possible."""
    if data is None:
        data = []
    if isinstance(data, SymInt):
        node = size_node(data)
        return (
            node if kind is None else Node(lib.poly_cast_by_id(CTX, node.handle, kind.id), (node,))
        )
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, bytes) for d in data):
        rows = [np.frombuffer(row, np.uint8) for row in data]
        if len({row.size for row in rows}) > 1:
            raise ArgumentError("Tensor: bytes of several lengths, expected one length")
        data = np.stack(rows)
    if isinstance(data, (bytes, bytearray)):
        given = kind or dtypes.uint8
        return leaf(np.frombuffer(data, given.storage).copy(), given)
    if _dlpack.is_foreign(data):
        shared, own = _dlpack.load(data, None)
        node = leaf(shared, own)
        return node if kind is None or kind is own else compute([_of(node).cast(kind)._node])[0]
    if isinstance(data, np.ndarray):
        array = data
        known = by_numpy(array.dtype)
        if known is not None and (kind is None or kind is known) and array.flags.carray:
            return leaf(array, known)
    else:
        array = np.asarray(data)
    if array.dtype == object or array.dtype.kind in "USVmMc":
        raise TypeError(f"Tensor: data of type {array.dtype} are not numbers of a tensor")
    if kind is not None:
        given = kind
        if array.size and array.dtype.kind == "f" and not hasattr(data, "__array__"):
            # whole numbers wrap around, which C leaves undefined for others
            ends = array.min(), array.max()
            need_held("Tensor: data", kind, *(np.trunc(end).item() for end in ends))
    elif isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__"):
        given = to_dtype(array.dtype.newbyteorder("="))
    elif array.dtype.kind == "f":
        given = dtypes.default_float
    elif array.dtype == np.int64 and _fits_int32(array):
        given = dtypes.default_int
    else:
        given = to_dtype(array.dtype)
    if given.numpy is None:
        wide = leaf(np.require(array, np.float32, ["C", "A", "W"]), dtypes.float32)
        handle = lib.poly_cast_by_id(CTX, wide.handle, given.id)
        if handle is None:
            fail()
        return compute([Node(handle, (wide,))])[0]
    return leaf(np.require(array, given.numpy, ["C", "A", "W"]), given, array.shape)


def _fits_int32(array: np.ndarray[Any, Any]) -> bool:
    limits = np.iinfo(np.int32)
    return array.size == 0 or bool(array.min() >= limits.min and array.max() <= limits.max)
