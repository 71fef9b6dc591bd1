"""Runs a page of the tutorial as a reader does.

A block of code whose fence names a file (```python train.py) is written to that file; blocks with
the same name follow each other. The lines of all ```sh blocks are run in one shell, in the folder
of the files, and a block of ```text behind one is what it prints. Other blocks are only read.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
END = "--- end of block ---"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return int(s.getsockname()[1])


def run(page: Path, folder: Path, environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Run a page in a folder; return what each shell block printed, and what the page says."""
    text = page.read_text().replace("8000", str(free_port()))
    script, expected, after_shell = "", [], False
    for language, name, code in BLOCK.findall(text):
        if name:
            (folder / name).parent.mkdir(exist_ok=True)
            with (folder / name).open("a") as file:
                file.write(code)
        if language == "text" and after_shell:
            expected[-1] = code
        after_shell = language == "sh" and not name
        if after_shell:
            script += f"{code}echo '{END}'\n"
            expected.append("")
    errors = folder / "errors"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            ["bash", "-e", "-c", script],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,  # servers that the page starts end with the test
        ) as shell,
    ):
        assert shell.stdout is not None
        printed = ""
        try:
            while printed.count(END) < len(expected):
                line = shell.stdout.readline()
                if not line:
                    break
                printed += line
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    parts = printed.split(f"{END}\n")[:-1]
    assert len(parts) == len(expected), f"{page.name}\n{printed}\n{errors.read_text()}"
    return list(zip(parts, expected))
