"""Devices that run kernels."""

from __future__ import annotations

from polygrad import _prototypes as c
from polygrad._library import caller, fail, lib, wrong


class _Device:
    """What the library can compute on.

    >>> Device.DEFAULT
    'CPU'
    >>> Device.cuda_available()
    False
    """

    DEFAULT = "CPU"

    def canonicalize(self, device: str | None) -> str:
        """Return the name of a device as Tensor.device has it; None means the default.

        >>> Device.canonicalize("cpu")
        'CPU'
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

    def require(self, device: str | None) -> str:
        """Return the name of a device, which must be there."""
        name = self.canonicalize(device)
        if name != "CPU" and name not in self.available():
            raise RuntimeError(f"{caller()}: device: {name} is not available in this process")
        return name

    def cuda_available(self) -> bool:
        """Return whether kernels can run on an NVIDIA GPU."""
        return "CUDA" in self.available()

    def number(self, device: str) -> int:
        """Return the library's number of a device or back end.

        >>> Device.number("cpu")
        1
        """
        names = self._names()
        upper = str(device).upper()
        if upper not in names:
            raise wrong("device", f"{device!r} is unknown", f"one of {', '.join(names)}")
        return names.index(upper)

    @property
    def backend(self) -> str:
        """What runs kernels of the CPU: "native", "wasm", "interp", "clang" or "reference"."""
        address = lib.poly_backend_get(c.POLY_DEVICE_CPU)
        if not address:
            fail(RuntimeError)
        return str(c.PolyBackendDesc.from_address(address).runs_on.decode())

    def available(self) -> list[str]:
        """Return the names of the devices and back ends that can run kernels here.

        >>> "CPU" in Device.available()
        True
        """
        return [name for i, name in enumerate(self._names()) if lib.poly_device_available(i)]

    def _names(self) -> list[str]:
        names = (lib.poly_device_name(i) for i in range(lib.poly_device_count()))
        return [name.decode() for name in names]


Device = _Device()
