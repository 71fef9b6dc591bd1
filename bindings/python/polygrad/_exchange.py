"""Tensor methods that share memory with other libraries, and pickling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polygrad import _dlpack
from polygrad._base import Base, describe, made, share
from polygrad._graph import CTX, dims, several
from polygrad._library import check, integer, lib, need, wrong
from polygrad.device import Device, wgpu
from polygrad.dtype import DTypeLike, to_dtype

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T", bound="Exchange")


class Exchange(Base):
    """Memory shared with numpy, with libraries that know DLPack, and with other processes.

    Nothing is copied: what one side writes, the other reads. The memory lives as long as one of
    them needs it.
    """

    __slots__ = ()

    # To others

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is None or array.dtype == dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"__array__: copy is False, but {array.dtype} is not {dtype}")
        return array.astype(dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as numpy describes it.

        >>> t = Tensor([1.0, 2.0])
        >>> np.asarray(t)[0] = 5
        >>> t.tolist()
        [5.0, 2.0]
        """
        array = self.numpy()
        if not array.flags.c_contiguous:
            raise AttributeError("__array_interface__ is for contiguous memory: use __array__")
        # "data" keeps the array itself alive: the tensor may have other memory by then.
        return {**array.__array_interface__, "data": array}

    def __buffer__(self, flags: int) -> memoryview:
        """Return the memory for memoryview(tensor), which Python 3.12 and later understand."""
        return self.data()

    def data(self) -> memoryview:
        """Compute the tensor and return its memory.

        >>> Tensor([1, 2, 3]).data()[1]
        2
        """
        return self.numpy().data

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return the memory as a DLPack capsule: torch.from_dlpack(t), np.from_dlpack(t).

        >>> t = Tensor([1.0, 2.0])
        >>> shared = np.from_dlpack(t)  # numpy before 2.1 does not write to it
        >>> t.numpy()[1] = 7
        >>> shared.tolist()
        [1.0, 7.0]
        """
        dtype, array = describe(self)[1], self._data
        if not array.flags.writeable:  # a copy, made of a view without regular steps
            if copy is False:
                raise BufferError("__dlpack__: copy: False of a view without regular steps")
            array = array.copy()
        return _dlpack.export(array, dtype, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's number of the device that the memory is on."""
        return _dlpack.CPU

    # From others

    @classmethod
    def from_dlpack(cls, x: Any, copy: bool | None = None) -> Self:
        """Return a tensor on the memory of another library's tensor, or of a DLPack capsule.

        All data types come as they are, bfloat16 and fp8 too. Memory that may not be written, or
        is not contiguous, is copied; with copy=False that is a BufferError, and with copy=True
        memory is never shared. Memory from a version of DLPack before 1.0, which has no flag for
        read-only memory, counts as writable, as in torch.

        >>> array = np.arange(3)
        >>> t = Tensor.from_dlpack(array)
        >>> array[0] = 9
        >>> t.tolist()
        [9, 1, 2]
        """
        return share(cls, *_dlpack.load(x, copy))

    @classmethod
    def from_numpy(cls, x: np.ndarray[Any, Any]) -> Self:
        """Return Tensor(x) for an array, whose memory is shared if it is contiguous.

        >>> array = np.zeros(2, "float32")
        >>> t = Tensor.from_numpy(array)
        >>> array[:] = 3
        >>> t.tolist()
        [3.0, 3.0]
        """
        return cls(need(np.ndarray, "x", x, "a numpy array"))  # type: ignore[call-arg]

    # With the package wgpu

    def gpu_buffer(self) -> Any:
        """Compute the tensor and return its memory as a GPUBuffer of the package wgpu.

        It belongs to the device that Device.init was given, may be larger than the tensor, and
        shares memory with it until the tensor moves or is freed: then it is the program's alone.
        """
        native, _ = wgpu("the device of Device.init", Device.gpu, "GPUDevice")
        number = check(lib.poly_array_gpu_buffer(self._handle) or None, RuntimeError)
        buffer, c = native.ffi.cast("WGPUBuffer", number), native.lib
        c.wgpuBufferAddRef(buffer)
        facts = c.wgpuBufferGetSize(buffer), c.wgpuBufferGetUsage(buffer), "unmapped"
        return native.GPUBuffer("", buffer, Device.gpu, *facts)

    @classmethod
    def from_gpu_buffer(
        cls, buffer: Any, shape: Any = None, dtype: DTypeLike = "float32", offset: int = 0
    ) -> Self:
        """Return a tensor on a GPUBuffer of the device that Device.init was given.

        Both share memory. The buffer's usage must include STORAGE, COPY_SRC and COPY_DST. offset, a
        multiple of 256 bytes, is where the elements begin; without shape, all that follow count.
        """
        wgpu("the device of Device.init", Device.gpu, "GPUDevice")
        (_, number), kind = wgpu("buffer", buffer, "GPUBuffer"), to_dtype(dtype)
        if buffer.map_state != "unmapped":
            raise wrong("buffer", f"it is {buffer.map_state}", "an unmapped one")
        room = buffer.size - integer("offset", offset)
        given = max(room, 0) // kind.itemsize if shape is None else shape
        s = [integer("shape", size) for size in several(given)]
        where = number, offset, room
        return made(cls, lib.poly_array_of_gpu_buffer(CTX, kind.id, dims(s), len(s), *where))

    # To files and other processes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values, without history and gradient.

        With protocol 5 and a buffer_callback, the memory is handed over as it is.
        """
        values = (type(self), self._data, describe(self)[1].name)
        # A subclass of Tensor may have attributes of its own.
        return _restore, (*values, self.requires_grad), getattr(self, "__dict__", None)

    def __copy__(self) -> Self:
        """Return a tensor with memory of its own and the same values."""
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a tensor with memory of its own and the same values."""
        name = describe(self)[1].name
        made = _restore(type(self), self._data.copy(), name, self.requires_grad)
        vars_of = getattr(self, "__dict__", None)
        if vars_of:
            made.__dict__.update(vars_of)
        memo[id(self)] = made
        return made


def _restore(
    cls: type[T], array: np.ndarray[Any, Any], dtype: str, requires_grad: bool | None
) -> T:
    """Return the tensor that was pickled; read-only memory is copied."""
    tensor: Any = share(cls, np.require(array, requirements=["C", "A", "W"]), to_dtype(dtype))
    if requires_grad is not None:
        tensor.requires_grad = requires_grad
    made: T = tensor
    return made
