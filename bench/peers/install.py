"""Install the frameworks that polygrad is compared with into a virtual environment.

python bench/peers/install.py FOLDER

On Linux PyPI's wheel of torch is built for CUDA, whose libraries are several gigabytes and of
no use here. It is installed without them; the loader finds stub libraries in their place, in
which every function reports that there is no device.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NO_DEVICE = 100  # cudaErrorNoDevice


def output(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries(folder: Path) -> list[Path]:
    """Return the shared libraries of a folder."""
    return sorted(p for p in folder.glob("*.so*") if p.is_file())


def needed(library: Path) -> set[str]:
    """Return the names of the shared libraries that a library needs (DT_NEEDED)."""
    lines = output("readelf", "-d", "-W", str(library)).splitlines()
    return {line.split("[")[1].split("]")[0] for line in lines if "(NEEDED)" in line}


def symbols(library: Path, kind: str) -> set[str]:
    """Return the symbols, name@version, that a library defines or leaves undefined."""
    lines = output("nm", "-D", "-P", f"--{kind}-only", "--with-symbol-versions", str(library))
    fields = (line.split() for line in lines.splitlines())
    return {f[0] for f in fields if f[1] not in "wv"}  # weak symbols may stay undefined


def versions(library: Path) -> dict[str, str]:
    """Return the library of each symbol version that a library needs."""
    found: dict[str, str] = {}
    file = ""
    for line in output("readelf", "-V", "-W", str(library)).splitlines():
        if "File: " in line:
            file = line.split("File: ")[1].split()[0]
        elif "Name: " in line and "Flags: " in line:
            found[line.split("Name: ")[1].split()[0]] = file
    return found


def system_has(name: str) -> bool:
    """Report whether the loader finds a library on the system."""
    return name.startswith("ld-linux") or name in output("/sbin/ldconfig", "-p")


def stand_in(folder: Path) -> list[str]:
    """Build stubs in a folder of the CUDA libraries that its libraries need but do not find."""
    found = libraries(folder)
    here = {p.name for p in found}
    wanted = set().union(*(needed(p) for p in found)) - here
    absent = sorted(name for name in wanted if name.startswith(("libcu", "libnv", "libnccl")))
    absent = [name for name in absent if not system_has(name)]
    if not absent:
        return []
    owner = {version: name for p in found for version, name in versions(p).items()}
    defined = {s.split("@")[0] for p in found for s in symbols(p, "defined")}
    # Symbols without a version may be defined in any stub.
    exports: dict[str, dict[str, set[str]]] = {name: {} for name in absent}
    for symbol in set().union(*(symbols(p, "undefined") for p in found)):
        name, _, version = symbol.partition("@")
        library = owner.get(version, "") if version else absent[0]
        if library in exports and name not in defined and not name.startswith(("Py", "_Py")):
            exports[library].setdefault(version, set()).add(name)
    for library, by_version in exports.items():
        build_stand_in(folder / library, by_version)
    return absent


def build_stand_in(path: Path, by_version: dict[str, set[str]]) -> None:
    """Compile a stub library whose functions all return cudaErrorNoDevice."""
    with tempfile.TemporaryDirectory() as work:
        source, script = Path(work) / "empty.c", Path(work) / "versions"
        names = set().union(*by_version.values())
        source.write_text("".join(f"long {n}(void) {{ return {NO_DEVICE}; }}\n" for n in names))
        options = ["-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{path.name}"]
        versioned = {v: names for v, names in by_version.items() if v}
        if versioned:
            script.write_text(
                "".join(f"{v} {{ {'; '.join(n)}; }};\n" for v, n in versioned.items())
            )
            options.append(f"-Wl,--version-script={script}")
        output("gcc", *options, str(source), "-o", str(path))


def environment(venv: Path, requirements: Path) -> str:
    """Make a virtual environment of requirements and torch, and return its Python."""
    output(sys.executable, "-m", "venv", "--clear", str(venv))
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    output(*pip, "-r", str(requirements))
    output(*pip, "--no-deps", "-r", str(HERE / "requirements-alone.txt"))
    where = output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    names = stand_in(Path(where) / "torch" / "lib")
    if names:
        print(f"torch runs without {', '.join(names)}")
    return python


def main() -> None:
    """Make the environment."""
    python = environment(Path(sys.argv[1]), HERE / "requirements.txt")
    output(python, "-c", "import numpy, jax, tinygrad, torch; torch.ones(2).sum().item()")


if __name__ == "__main__":
    main()
