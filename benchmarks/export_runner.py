"""The program of `serving/c`, which runs exports without Python, as an object."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

SOURCES = Path(__file__).resolve().parent.parent / "serving" / "c"

Columns = Mapping[str, Sequence[Any]]  # inputs by name, a value for each row


class ExportRunner:
    """A built program.

    Args:
        program: the executable that `build` gave.
    """

    def __init__(self, program: Path):
        self.program = program

    @classmethod
    def build(cls, folder: Path, python: str = sys.executable) -> Self:
        """Builds the program.

        Args:
            folder: where the executable goes.
            python: an environment with tensorflow and tensorflow-text.

        Raises:
            RuntimeError: with what the compiler says, when it fails.
        """
        program = folder / "run_export"
        command = ["sh", str(SOURCES / "build.sh"), python, str(program)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
        return cls(program)

    def load(self, model: Path, threads: int = 1, xla: bool = False) -> RunningExport:
        """A process that has loaded an export.

        Args:
            model: the folder of a version of it.
            threads: requests that it answers at the same time.
            xla: whether signatures may be compiled by XLA, as a server can be told to allow.
        """
        options = ["-t", str(threads), *(["-x"] if xla else [])]
        return RunningExport([str(self.program), *options, str(model)])


class RunningExport:
    """A process that holds a model, in a `with` statement.

    Every method raises a RuntimeError, with the end of what the process said, when it has died,
    and a TimeoutError when it takes too long.
    """

    def __init__(self, command: list[str]):
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said
        )
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def ask(self, signature: str, columns: Columns, seconds: float = 300) -> dict[str, Any]:
        """What a signature answers: `{"outputs": ...}` or `{"error": ...}`.

        Args:
            signature: its name.
            columns: values of its inputs; texts may be bytes.
            seconds: time for the answer.
        """
        (answer,) = self.ask_all([(signature, columns)], seconds)
        return answer

    def ask_all(
        self, requests: Iterable[tuple[str, Columns]], seconds: float = 300
    ) -> list[dict[str, Any]]:
        """The same for many requests, which are all written before the first answer is read."""
        lines = [request_line(*request) for request in requests]
        written, answers = memoryview(b"".join(lines)), []
        to, back = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(to, False)
        while len(answers) < len(lines):
            ready, writable, _ = select.select([back], [to] if written else [], [], seconds)
            if not ready and not writable:
                raise TimeoutError(f"There is no answer after {seconds} s.")
            if writable:
                written = written[self._write(to, written) :]
            if ready:
                answers += self._read(back)
        return [json.loads(line) for line in answers]

    def resident_bytes(self) -> int:
        """The memory that the process has."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _write(self, to: int, written: memoryview) -> int:
        try:
            return os.write(to, written[: 2**16])
        except BrokenPipeError:
            raise self._died() from None

    def _read(self, back: int) -> list[str]:
        """The lines that are complete; UTF-8, or a UnicodeDecodeError."""
        some = os.read(back, 2**20)
        if not some:
            raise self._died()
        *lines, self._unread = (self._unread + some).split(b"\n")
        return [line.decode("utf-8") for line in lines]

    def _died(self) -> RuntimeError:
        status = self._process.wait()
        self._said.seek(0)
        said = self._said.read()[-2000:].decode(errors="replace")
        return RuntimeError(f"The process ended with status {status}: {said}")


def request_line(signature: str, columns: Columns) -> bytes:
    """A request as the program reads it.

    >>> request_line("n_best", {"text": ["a", b"\\xff"], "seed": [1, 2]})
    b'{"signature_name": "n_best", "inputs": {"text": ["a", {"b64": "/w=="}], "seed": [1, 2]}}\\n'
    """
    inputs = {name: [_json(value) for value in values] for name, values in columns.items()}
    return json.dumps({"signature_name": signature, "inputs": inputs}).encode() + b"\n"


def _json(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}
