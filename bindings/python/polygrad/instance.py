"""Models with memory of their own: forward, training and saving without Tensors."""

from __future__ import annotations

import ctypes
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polygrad._graph import Memory
from polygrad._library import ArgumentTypeError, c_text, check, fail, lib, need, taken, wrong
from polygrad._prototypes import PolyIOBinding
from polygrad._tokenizer import Tokenizer
from polygrad.device import Device

FloatArray = npt.NDArray[np.float32]

_ROLES = ("param", "input", "target", "output", "aux")
_OPTIMIZERS = {"none": 0, "sgd": 1, "adam": 2, "adamw": 3}
MAX_DIMS = 8


class _Owner:
    """Frees an instance of the library when neither the Instance nor an array of it is left.

    Arrays refer to this, not to the Instance: reference cycles through numpy arrays are not freed.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self, _free: Any = lib.poly_instance_free) -> None:
        _free(self.handle)


class Instance:
    """A model that owns its parameters, inputs, outputs and optimizer.

    Arrays of the model (params, buffers) are views of its memory: writes to them change the model.
    A GPU keeps arrays that were never asked for as a view, and copies the others for each run.

    >>> net = Instance.mlp(layers=[2, 8, 1], loss="mse", seed=1)
    >>> sorted(net.params)
    ['layers.0.bias', 'layers.0.weight', 'layers.1.bias', 'layers.1.weight']
    >>> net.set_optimizer("adam", lr=0.05)
    >>> losses = [net.train_step(x=[[1.0, 2.0]], y=[[3.0]]) for _ in range(100)]
    >>> losses[-1] < 0.01 * losses[0]
    True
    >>> net.forward(x=[[1.0, 2.0]])["output"].shape
    (1, 1)
    """

    def __init__(self, handle: int | None, error: type[Exception] = RuntimeError) -> None:
        if handle is None:
            fail(error)
        if not isinstance(handle, int) or (count := lib.poly_instance_ends(handle, None, 0)) < 0:
            expected = "what mlp, from_bundle and others make"
            raise wrong("handle", repr(handle), expected, ArgumentTypeError)
        self._handle = handle
        self._owner = _Owner(handle)
        self._kinds: dict[str, str] = {}
        # For language models: generators that generate reuses, and the folder of the model.
        self._generators: dict[int, Any] = {}
        self._folder: Path | None = None
        ends = (ctypes.c_int32 * count)()
        lib.poly_instance_ends(handle, ends, len(ends))
        #: The end-of-text tokens in the configuration of a language model.
        self.eos_token_ids: tuple[int, ...] = tuple(ends)
        self._shapes: dict[str, tuple[int, ...]] = {}
        for i in range(lib.poly_instance_buf_count(handle)):
            name = lib.poly_instance_buf_name(handle, i).decode()
            dims = (ctypes.c_int64 * MAX_DIMS)()
            n = lib.poly_instance_buf_shape(handle, i, dims, MAX_DIMS)
            self._shapes[name] = tuple(dims[:n])
            self._kinds[name] = _ROLES[lib.poly_instance_buf_role(handle, i)]

    # Where instances come from

    @classmethod
    def mlp(cls, **config: Any) -> Instance:
        """Make a multi-layer perceptron.

        layers is [inputs, …, outputs]; activation relu, gelu, silu, tanh, sigmoid or none; bias;
        loss mse, cross_entropy or none; batch_size; seed.
        """
        return cls._from_config(lib.poly_mlp_instance, config)

    @classmethod
    def tabm(cls, **config: Any) -> Instance:
        """Make an ensemble of perceptrons that share weights; n_ensemble is their number."""
        return cls._from_config(lib.poly_tabm_instance, config)

    @classmethod
    def nam(cls, **config: Any) -> Instance:
        """Make a neural additive model: n_features, hidden_sizes, activation, n_outputs, …."""
        return cls._from_config(lib.poly_nam_instance, config)

    @classmethod
    def _from_config(cls, make: Any, config: dict[str, Any]) -> Instance:
        text = json.dumps(config).encode()
        return cls(make(text, len(text)))

    @classmethod
    def from_ir(cls, ir: bytes, weights: bytes | None = None) -> Instance:
        """Load a model from the bytes of export_ir and of export_weights (None: zeros)."""
        need(bytes, "ir", ir, "bytes")
        given = b"" if weights is None else need(bytes, "weights", weights, "bytes or None")
        return cls(lib.poly_instance_from_ir(ir, len(ir), given or None, len(given)))

    @classmethod
    def from_bundle(cls, data: bytes) -> Instance:
        """Load a model from the bytes of save_bundle.

        >>> net = Instance.mlp(layers=[2, 3])
        >>> same = Instance.from_bundle(net.save_bundle())
        >>> (same.params["layers.0.weight"] == net.params["layers.0.weight"]).all()
        np.True_
        """
        need(bytes, "data", data, "bytes")
        return cls(lib.poly_instance_from_bundle(data, len(data)))

    # What it holds

    @property
    def params(self) -> dict[str, FloatArray]:
        """The parameters by name."""
        return self._with_role("param")

    @property
    def buffers(self) -> dict[str, FloatArray]:
        """All named arrays by name."""
        return self._with_role(*_ROLES)

    @property
    def roles(self) -> dict[str, str]:
        """The role of each array: param, input, target, output or aux."""
        return dict(self._kinds)

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer, if hf.load_hf found a tokenizer.json beside the model, else None."""
        file = self._folder and self._folder / "tokenizer.json"
        return Tokenizer(file) if file and file.is_file() else None

    def _with_role(self, *roles: str) -> dict[str, FloatArray]:
        out: dict[str, FloatArray] = {}
        for i, (name, shape) in enumerate(self._shapes.items()):
            if self._kinds[name] in roles:
                address = lib.poly_instance_buf_data(self._handle, i, None)
                memory = Memory(self._owner, address, shape, np.dtype(np.float32))
                out[name] = np.asarray(memory) if address else np.empty(shape, np.float32)
        return out

    # Running

    def _do(
        self,
        function: Any,
        first: list[Any],
        arrays: dict[str, Any],
        *last: Any,
        partial: bool = False,
    ) -> None:
        """Call a function of the library with named arrays.

        partial allows arrays that are smaller than the model's.
        """
        unknown = [n for n in arrays if self._kinds.get(n) not in ("input", "target")]
        if unknown:
            takes = [n for n, kind in self._kinds.items() if kind in ("input", "target")]
            raise wrong(unknown[0], "is not an input of the model", f"one of {takes}")
        held = []
        for name, value in arrays.items():
            try:
                array = np.ascontiguousarray(value, dtype=np.float32)
            except (TypeError, ValueError):
                raise wrong(name, repr(value), "an array of numbers", ArgumentTypeError) from None
            if array.shape != self._shapes[name]:
                array = _fit(name, array, self._shapes[name], partial)
            held.append(array)
        bindings = (PolyIOBinding * len(held))()
        for binding, name, array in zip(bindings, arrays, held):
            binding.name = name.encode()
            binding.data = array.ctypes.data
        if function(self._handle, *first, bindings, len(held), *last) != 0:
            fail(RuntimeError)

    def forward(self, **inputs: Any) -> dict[str, FloatArray]:
        """Run the model on named inputs and return copies of its outputs by name.

        Inputs that are not given keep their last value. An input may be smaller than the
        model's (fewer rows, fewer tokens): it fills the front of each axis, the rest is 0.
        """
        return self._run("forward", inputs, partial=True)

    def call(self, entry: str, **arrays: Any) -> dict[str, FloatArray]:
        """Run an entry point on named inputs and targets; return copies of the outputs.

        >>> net = Instance.mlp(layers=[2, 1], loss="mse", seed=1)
        >>> float(net.call("loss", x=[[0.0, 0.0]], y=[[2.0]])["loss"][0])
        4.0
        """
        return self._run(entry, arrays, partial=False)

    def _run(self, entry: str, arrays: dict[str, Any], partial: bool) -> dict[str, FloatArray]:
        self._do(lib.poly_instance_call, [c_text("entry", entry)], arrays, partial=partial)
        return {n: a.copy() for n, a in self._with_role("output").items()}

    def value_and_grad(
        self, entry: str = "loss", **arrays: Any
    ) -> tuple[float, dict[str, FloatArray]]:
        """Return the loss and copies of its gradients by parameter; parameters stay.

        >>> net = Instance.mlp(layers=[2, 1], loss="mse", seed=1)
        >>> loss, grads = net.value_and_grad(x=[[1.0, 2.0]], y=[[0.0]])
        >>> grads["layers.0.weight"].shape
        (1, 2)
        """
        loss = ctypes.c_float()
        first = [c_text("entry", entry)]
        self._do(lib.poly_instance_value_and_grad, first, arrays, ctypes.byref(loss))
        grads = {}
        for i, name in enumerate(n for n, kind in self._kinds.items() if kind == "param"):
            grad = np.empty(self._shapes[name], np.float32)
            if address := lib.poly_instance_param_grad(self._handle, i, None):
                ctypes.memmove(grad.ctypes.data, address, grad.nbytes)
            grads[name] = grad
        return loss.value, grads

    def set_device(self, device: str) -> None:
        """Set the device that runs the kernels of the model, one of Device.available()."""
        check(lib.poly_instance_set_device(self._handle, Device.number(device)), ValueError)

    def set_optimizer(
        self,
        kind: str,
        lr: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        """Set the optimizer of train_step: none, sgd, adam or adamw."""
        if kind not in list(_OPTIMIZERS):
            raise wrong("kind", repr(kind), f"one of {', '.join(_OPTIMIZERS)}")
        given = (lr, beta1, beta2, eps, weight_decay)
        done = lib.poly_instance_set_optimizer(self._handle, _OPTIMIZERS[kind], *given)
        check(done, RuntimeError)

    def train_step(self, **arrays: Any) -> float:
        """Do one step of the optimizer on named inputs and targets; return the loss before it."""
        loss = ctypes.c_float()
        self._do(lib.poly_instance_train_step, [], arrays, ctypes.byref(loss))
        return loss.value

    # Bytes

    def _bytes(self, export: Any) -> bytes:
        length = ctypes.c_int()
        address = export(self._handle, ctypes.byref(length))
        return taken(address, length.value, RuntimeError)

    def export_ir(self) -> bytes:
        """Return the graph as bytes."""
        return self._bytes(lib.poly_instance_export_ir)

    def export_weights(self) -> bytes:
        """Return the parameters as a safetensors file."""
        return self._bytes(lib.poly_instance_export_weights)

    def save_bundle(self) -> bytes:
        """Return graph, parameters and the state of the optimizer, if one is set, as bytes."""
        return self._bytes(lib.poly_instance_save_bundle)

    def import_weights(self, data: bytes, strict: bool = True) -> None:
        """Read parameters from a safetensors file of float32.

        With strict, every tensor must fit and every parameter must be there, or nothing is
        changed; otherwise mismatches are left out and listed in notes.
        """
        need(bytes, "data", data, "bytes")
        read = lib.poly_instance_load_weights if strict else lib.poly_instance_import_weights
        if read(self._handle, data, len(data)) != 0:
            fail(RuntimeError)

    @property
    def notes(self) -> list[str]:
        """Warnings about the weights that were read last: missing, unknown, or of another shape."""
        text = check(lib.poly_instance_notes(self._handle), RuntimeError)
        lines: list[str] = text.decode().splitlines()
        return lines


def _fit(name: str, array: FloatArray, shape: tuple[int, ...], partial: bool) -> FloatArray:
    """Reshape an array; if partial, pad a smaller one with zeros at the end of each axis."""
    if array.size == np.prod(shape):
        return array.reshape(shape)
    if not partial:
        raise wrong(name, f"shape {array.shape}", shape)
    if array.ndim != len(shape) or any(a > s for a, s in zip(array.shape, shape)):
        raise wrong(name, f"shape {array.shape}", f"at most {shape}")
    filled = np.zeros(shape, np.float32)
    filled[tuple(slice(n) for n in array.shape)] = array
    return filled
