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

from install import output, stand_in  # noqa: E402


def main() -> None:
    """Make the environment."""
    venv = Path(sys.argv[1])
    output(sys.executable, "-m", "venv", "--clear", str(venv))
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    output(*pip, "-r", str(HERE / "requirements.txt"))
    output(*pip, "--no-deps", "-r", str(BENCH / "requirements-alone.txt"))
    where = output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    for folder, (address, version) in SUITES.items():
        at = str(venv / folder)
        cloned = subprocess.run(["git", "clone", "--quiet", address, at], check=False)
        if cloned.returncode:
            print(f"{address} cannot be reached: its tests are left out")
            break
        subprocess.run(["git", "-C", at, "checkout", "--quiet", version], check=True)
    names = stand_in(Path(where) / "torch" / "lib")
    if names:
        print(f"torch runs without {', '.join(names)}")
    subprocess.run(
        [python, "-c", "import torch, transformers, tokenizers; torch.ones(2).sum().item()"],
        check=True,
    )


if __name__ == "__main__":
    main()
