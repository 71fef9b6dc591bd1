"""Install the libraries that results are compared with into a virtual environment of their own.

python tests/peers/install.py FOLDER

torch is installed as for the benchmark: without the libraries of CUDA, see bench/peers/install.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = HERE.parents[1] / "bench" / "peers"
# The conformance suite of the array API standard, and the standard.
SUITES = {
    "array-api-tests": ("https://github.com/data-apis/array-api-tests", "55fcc60"),
    "array-api-tests/array-api": ("https://github.com/data-apis/array-api", "main"),
}
sys.path.insert(0, str(BENCH))

from install import environment  # noqa: E402


def main() -> None:
    """Make the environment."""
    venv = Path(sys.argv[1])
    python = environment(venv, HERE / "requirements.txt")
    for folder, (address, version) in SUITES.items():
        at = str(venv / folder)
        cloned = subprocess.run(["git", "clone", "--quiet", address, at], check=False)
        if cloned.returncode:
            print(f"{address} cannot be reached: its tests are left out")
            break
        subprocess.run(["git", "-C", at, "checkout", "--quiet", version], check=True)
    subprocess.run(
        [python, "-c", "import torch, transformers, tokenizers; torch.ones(2).sum().item()"],
        check=True,
    )


if __name__ == "__main__":
    main()
