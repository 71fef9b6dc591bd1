"""Displays of progress: tqdm's; none where nobody looks."""

from __future__ import annotations

import sys

import pytest

from polygrad import Tensor
from polygrad.progress import track, trange


def test_quiet_without_a_terminal(capsys):
    loop = trange(3)
    for i in loop:
        loop.set(loss=i)
    assert list(track("ab", "letters")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def test_shown(capsys):
    loop = track(range(4), "fit", unit="epochs", show=True)
    assert len(loop) == 4
    for i in loop:
        loop.set(loss=i / 3, n=i)
    err = capsys.readouterr().err
    last = err.replace("\n", "\r").split("\r")
    assert any("fit: " in line and "4/4" in line and "epochs" in line for line in last)
    assert any("loss=1, n=3" in line for line in last)


def test_terminals_see_it(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(trange(2, "here")) == [0, 1]
    assert "here: " in capsys.readouterr().err
    assert list(trange(2, "here", show=False)) == [0, 1]
    assert capsys.readouterr().err == ""


def test_steps_that_were_begun_count(capsys):
    for i in track(range(5), show=True):
        if i == 2:
            break
    assert "3/5" in capsys.readouterr().err
    with pytest.raises(KeyError):
        for _ in track(range(5), show=True):
            raise KeyError
    assert "/5" in capsys.readouterr().err


def test_generators_have_no_length(capsys):
    loop = track((i for i in range(3)), show=True)
    with pytest.raises(TypeError, match="not known"):
        len(loop)
    assert list(loop) == [0, 1, 2]
    assert "3" in capsys.readouterr().err
    assert len(track((i for i in range(3)), total=3)) == 3


def test_tensors_are_computed_only_to_be_shown(capsys):
    loss = Tensor([0.125]).sum()
    trange(1).set(loss=loss)
    assert not loss.is_realized
    loop = trange(1, show=True)
    for _ in loop:
        loop.set(loss=loss)
    assert "loss=0.125" in capsys.readouterr().err


def test_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(trange(2)) == [0, 1]
    assert capsys.readouterr().err == ""
    with pytest.warns(UserWarning, match="pip install tqdm"):
        assert list(trange(2, show=True)) == [0, 1]
