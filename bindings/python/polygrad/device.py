"""Devices that run kernels."""

from __future__ import annotations

import sys
from typing import Any

from polygrad import _prototypes as c
from polygrad._graph import CTX
from polygrad._library import caller, check, fail, lib, need, need_error, wrong

_names: list[str] = [lib.poly_device_name(i).decode() for i in range(lib.poly_device_count())]


def wgpu(argument: str, given: Any, kind: str) -> tuple[Any, int]:
    """Return wgpu's module of native functions, and the native handle of one of its objects."""
    native = sys.modules.get("wgpu.backends.wgpu_native")
    if native is None or not isinstance(given, getattr(native, kind)):
        raise need_error(argument, given, f"a {kind} of the package wgpu")
    return native, int(native.ffi.cast("intptr_t", given._internal))


class _Device:
    """The devices of the library.

    >>> Device.DEFAULT
    'CPU'
    """

    gpu: Any = None  # wgpu's GPUDevice that WEBGPU uses, if the program gave one

    @property
    def DEFAULT(self) -> str:
        """The device of tensors that were put on none: CPU, or WEBGPU."""
        return str(_names[lib.poly_ctx_device(CTX)])

    @DEFAULT.setter
    def DEFAULT(self, device: str) -> None:
        check(lib.poly_ctx_set_device(CTX, self.require(device)), RuntimeError)

    def init(self, name: str, device: Any = None) -> str:
        """Open a device and return its name.

        For webgpu, device may be a GPUDevice of the package wgpu, with the limits of its adapter:
        then tensors and the program can share buffers, see Tensor.gpu_buffer. Values that are only
        on the previous device are lost.
        """
        upper = self.canonicalize(need(str, "device", name, "the name of one"))
        given: tuple[Any, ...] = (None, 0, 0)
        if device is not None:
            if upper != "WEBGPU":
                raise wrong("device", device, f"None for {upper}")
            native, gpu = wgpu("device", device, "GPUDevice")
            given = native.lib_path.encode(), wgpu("device", device.adapter, "GPUAdapter")[1], gpu
        if upper == "WEBGPU":
            check(lib.poly_webgpu_init(*given), RuntimeError)
            self.gpu = device
        self.require(upper)
        return upper

    def canonicalize(self, device: str | None) -> str:
        """Return the name of a device as Tensor.device has it; None means the default.

        >>> Device.canonicalize("quantum")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
          ...
        polygrad._library.ArgumentError: Device.canonicalize: device: 'quantum' is unknown, ...
        """
        if device is None:
            return self.DEFAULT
        upper = str(device).upper().partition(":")[0]
        if upper not in ("CPU", "CUDA", "WEBGPU"):
            raise wrong("device", f"{device!r} is unknown", "one of CPU, CUDA, WEBGPU")
        return upper

    def require(self, device: str | None) -> int:
        """Return the number of a device; an error if it is not available."""
        name = self.canonicalize(device)
        if name != "CPU" and name not in self.available():
            raise RuntimeError(f"{caller()}: device: {name} is not available in this process")
        return self.number(name)

    def _move(self, array: int, device: str | None) -> None:
        """Put an array of the library on a device."""
        check(lib.poly_array_move(array, self.require(device)), RuntimeError)

    def _of(self, array: int) -> str:
        """Return the name of the device of an array of the library."""
        return str(_names[lib.poly_array_device(array)])

    def cuda_available(self) -> bool:
        """Return whether kernels can run on an NVIDIA GPU."""
        return "CUDA" in self.available()

    def number(self, device: str) -> int:
        """Return the library's number of a device or back end.

        >>> Device.number("cpu")
        1
        """
        upper = str(device).upper()
        if upper not in _names:
            raise wrong("device", f"{device!r} is unknown", f"one of {', '.join(_names)}")
        return _names.index(upper)

    @property
    def backend(self) -> str:
        """What runs kernels of the CPU: "native", "wasm", "interp", "clang" or "reference"."""
        if not (address := lib.poly_backend_get(c.POLY_DEVICE_CPU)):
            fail(RuntimeError)
        return str(c.PolyBackendDesc.from_address(address).runs_on.decode())

    def available(self) -> list[str]:
        """Return the names of the devices and back ends that can run kernels here.

        >>> "CPU" in Device.available()
        True
        """
        return [name for i, name in enumerate(_names) if lib.poly_device_available(i)]


Device = _Device()
