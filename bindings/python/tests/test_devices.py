"""Devices of tensors."""

from __future__ import annotations

import pytest
from numeric import GPU

from polygrad import Device, Tensor


def test_devices():
    assert ("WEBGPU" if GPU else "CPU") == Device.DEFAULT
    assert "CPU" in Device.available()
    t = Tensor([1.0]).to("cpu")
    assert t.device == "CPU"
    assert Device.canonicalize("cpu:0") == "CPU"
    with pytest.raises(ValueError, match="unknown"):
        t.to("abacus")
    if not Device.cuda_available():
        with pytest.raises(RuntimeError, match="CUDA is not available"):
            t.cuda()


@pytest.mark.skipif("WEBGPU" not in Device.available(), reason="no WebGPU here: POLY_WEBGPU")
def test_tensors_on_a_gpu():
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], device="webgpu", requires_grad=True)
    loss = (x * w).sum()
    loss.backward()
    usual = Device.DEFAULT
    assert (x.device, w.device, loss.device, w.grad.device) == (usual, *["WEBGPU"] * 3)
    assert (loss.item(), w.grad.tolist()) == (11, [1, 2])
    with pytest.raises(ValueError, match="operands are on the devices webgpu and cpu"):
        w + x.clone().to_("cpu")
    assert w.cpu().device == x.clone().to("webgpu").to_("cpu").device == "CPU"
    Device.DEFAULT = "webgpu"
    try:
        assert (x.device, (x + 1).tolist(), w.cpu().device) == ("WEBGPU", [2, 3], "CPU")
    finally:
        Device.DEFAULT = usual
    assert x.device == Device.DEFAULT == usual
