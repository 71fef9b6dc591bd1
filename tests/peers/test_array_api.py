"""The conformance suite of the array API standard on polygrad.numpy, and what uses such arrays.

array_api.tsv lists the tests that fail, with the reasons; that one of them passes is an error.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from polygrad import Tensor
from polygrad import numpy as pnp

HERE = Path(__file__).resolve().parent
SUITE = Path(os.environ.get("POLY_ARRAY_API_TESTS", Path(sys.prefix) / "array-api-tests"))


@pytest.mark.skipif(not SUITE.exists(), reason="the suite is not there: see install.py")
def test_conformance(tmp_path: Path) -> None:
    known = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "polygrad.numpy",
        "ARRAY_API_TESTS_VERSION": "2024.12",
    }
    report = tmp_path / "report.xml"
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "--max-examples=20"]
    options += ["--hypothesis-seed=0", "--hypothesis-disable-deadline", f"--junitxml={report}"]
    run = [sys.executable, "-m", "pytest", "array_api_tests", *options]
    done = subprocess.run(run, cwd=SUITE, env=known, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    with (HERE / "array_api.tsv").open() as lines:
        reasons = [re.compile(row["pattern"]) for row in csv.DictReader(lines, delimiter="\t")]
    passed, failed, listed = 0, [], 0
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        broken = case.find("failure") if case.find("failure") is not None else case.find("error")
        known_to_fail = any(r.search(name) for r in reasons)
        if broken is not None and not known_to_fail:
            failed.append(f"{name}: {broken.get('message', '')[:200]}")
        elif broken is None and known_to_fail:
            failed.append(f"{name} passes, and array_api.tsv says why it fails")
        passed += broken is None and case.find("skipped") is None
        listed += broken is not None
    assert not failed, "\n".join(failed)
    assert passed > 1200
    assert listed == 31, "a test of the list is gone"


def test_estimators() -> None:
    """scikit-learn asks for a setting of SciPy that is read when that is imported."""
    run = [sys.executable, "-W", "ignore", str(HERE / "estimators.py")]
    env = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_example() -> None:
    """examples/clusters.py: PCA of scikit-learn on tensors, and k-means as good as its own."""
    example = HERE.parent.parent / "examples" / "clusters.py"
    run = [sys.executable, "-W", "ignore", str(example)]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout

    def number(text: str) -> float:
        found = re.search(rf"^{re.escape(text)}: (\d\.\d+)$", out, re.MULTILINE)
        assert found, out
        return float(found.group(1))

    assert number("variance that 20 of 64 axes keep") == pytest.approx(0.894, abs=1e-3)
    mine, theirs = number("mean squared distance"), number("scikit-learn's k-means")
    assert mine <= theirs * 1.01
    assert number("purity") > 0.75


def test_compatibility() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert compat.array_namespace(x, x) is pnp
    assert compat.is_array_api_obj(x)
    assert compat.size(x) == 4
    assert compat.to_device(x, compat.device(x)) is x


def test_einops() -> None:
    einops = pytest.importorskip("einops.array_api")
    x = np.arange(24.0).reshape(2, 3, 4)
    got = einops.rearrange(Tensor(x), "a b (c d) -> c (b a) d", d=2)
    assert isinstance(got, Tensor)
    want = x.reshape(2, 3, 2, 2).transpose(2, 1, 0, 3).reshape(2, 6, 2)
    np.testing.assert_array_equal(got.numpy(), want)
    got = einops.reduce(Tensor(x), "a b c -> b", "mean")
    np.testing.assert_allclose(got.numpy(), x.mean((0, 2)))


@pytest.mark.parametrize(
    ("types", "want"),
    [
        (("int8", "uint8"), "int16"),
        (("uint32", "int32"), "int64"),
        (("float32", "float64"), "float64"),
        (("int32", 1), "int32"),
        (("float32", 2), "float32"),
    ],
)
def test_promotion(types: tuple[Any, ...], want: str) -> None:
    assert pnp.result_type(*types) == want
    values: list[Any] = [t if isinstance(t, int) else pnp.ones(2, dtype=t) for t in types]
    add: Callable[..., Tensor] = pnp.add
    assert add(*values).dtype == want
    assert add(*reversed(values)).dtype == want
