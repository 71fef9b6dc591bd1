"""Texts of tensors: repr, format, HTML, completion."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polygrad import Tensor, dtypes
from polygrad.dtype import ALL


class Named(Tensor):
    """A class of one's own."""


def test_repr_shows_values():
    assert repr(Tensor([1.0, 2.5])) == "Tensor([1. , 2.5], shape=(2,), dtype=float32)"
    assert repr(Tensor(3)) == "Tensor(3, shape=(), dtype=int32)"
    assert repr(Tensor([])) == "Tensor([], shape=(0,), dtype=float32)"
    assert repr(Tensor([True])) == "Tensor([ True], shape=(1,), dtype=bool)"
    assert str(Named([1])) == "Named([1], shape=(1,), dtype=int32)"
    text = "Tensor([1.], shape=(1,), dtype=float32, requires_grad=True)"
    assert repr(Tensor([1.0], requires_grad=True)) == text
    assert (
        repr(Tensor([[1, 2], [3, 4]])).splitlines()[1]
        == "        [3, 4]], shape=(2, 2), dtype=int32)"
    )
    assert repr(Tensor([1.0]) * 2) == "Tensor(lazy, shape=(1,), dtype=float32)"


@pytest.mark.parametrize("dtype", [d for d in ALL if not d.startswith("complex")])
def test_repr_of_each_type(dtype):
    values = [0, 1] if dtype == "bool" else [1, 0, 2]
    t = Tensor(values, dtype=dtype).realize()
    shown = re.findall(r"True|False|[\d.]+", repr(t).partition("]")[0])
    assert [eval(text) for text in shown] == values


def test_repr_computes_nothing():
    t = Tensor([1.0]) + 1
    t.__repr__(), t._repr_html_(), f"{t}", dir(t)
    assert not t.is_realized


@pytest.mark.parametrize(
    "shape", [(5000,), (40, 50), (7, 150), (2, 3, 400), (1001, 1), (7, 7, 7, 7)]
)
@pytest.mark.parametrize("dtype", ["int32", "bfloat16"])
def test_large_tensors_are_shown_as_numpy_shows_them(shape, dtype):
    array = np.arange(np.prod(shape)).reshape(shape) % 256
    t = Tensor(array, dtype=dtype).realize()
    shown = np.array2string(t.numpy(), separator=", ", prefix="Tensor(")
    assert repr(t).startswith(f"Tensor({shown}, shape=")


def test_numpy_options_count():
    with np.printoptions(precision=2, threshold=4, edgeitems=1):
        assert repr(Tensor([1.23456])).startswith("Tensor([1.23]")
        assert repr(Tensor.arange(9).realize()).startswith("Tensor([0, ..., 8]")


@pytest.mark.parametrize("dtype", [dtypes.fp8e4m3, dtypes.fp8e5m2, dtypes.bfloat16])
def test_types_that_numpy_lacks_show_their_values(dtype):
    t = Tensor([1.5, -2.0]).cast(dtype).realize()
    assert repr(t) == f"Tensor([ 1.5, -2. ], shape=(2,), dtype={dtype.name})"
    many = Tensor.ones(2000).cast(dtype).realize()
    assert "[1., 1., 1., ..., 1., 1., 1.]" in repr(many)


def test_format():
    loss = (Tensor([1.0, 2.0]) / 3).sum()
    assert f"{loss:.3f}" == "1.000"
    assert f"{Tensor([[7]]):5d}" == "    7"
    assert f"{Tensor([1, 2])}" == repr(Tensor([1, 2]))
    with pytest.raises(TypeError, match=r"shape \(2,\), expected one element"):
        f"{Tensor([1.0, 2.0]):.3f}"


def test_html_of_matrices():
    html = Tensor([[1.5, 2.0], [3.0, 4.0]])._repr_html_()
    assert "<pre>[[1.5, 2. ],\n [3. , 4. ]]</pre>" in html
    for fact in ("(2, 2)", "float32", "16 bytes", "computed"):
        assert f"<b>{fact}</b>" in html
    assert "<pre>[ True, False]</pre>" in Tensor([True, False])._repr_html_()


def test_html_is_small():
    t = Tensor.arange(10**6).reshape(1000, 1000).realize()
    html = t._repr_html_()
    assert len(html) < 1000
    assert "[     0,      1,      2, ...,    997,    998,    999]" in html
    assert "..., 999997, 999998, 999999]]</pre>" in html


def test_html_of_others():
    assert "lazy" in (Tensor([1.0]) + 1)._repr_html_()
    assert "<pre>3.5</pre>" in Tensor(3.5)._repr_html_()
    assert "<pre>[[[1]]]</pre>" in Tensor([[[1]]])._repr_html_()
    assert "<pre>[]</pre>" in Tensor([])._repr_html_()
    x = Tensor([1.0], requires_grad=True)
    assert "gradient <b>required</b>" in x._repr_html_()
    (x * 2).sum().backward()
    assert "gradient <b>computed</b>" in x._repr_html_()


def test_completion():
    names = dir(Tensor([1]))
    assert {"relu", "sum", "grad", "__add__"} <= set(names)
    assert not [n for n in names if n.startswith("_") and not n.startswith("__")]


def test_help_teaches():
    for topic in ("Making tensors", "Computing", "Selecting", "Gradients", "Values", "See also"):
        assert f"{topic}" in Tensor.__doc__
    missing = [
        name
        for name in dir(Tensor)
        if not name.startswith("_")
        and callable(getattr(Tensor, name))
        and not getattr(Tensor, name).__doc__
    ]
    assert not missing
