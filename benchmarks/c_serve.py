"""The runner of SavedModels without Python, c_serve, as an object: build once, then ask."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class CServe:
    """A built c_serve with the op libraries of this environment's tensorflow-text.

    Each call starts a process that loads the model through TensorFlow's C API, without XLA, as a
    server does by default.

    Args:
        program: the executable that `build` gave.
    """

    def __init__(self, program: Path):
        root = find_spec("tensorflow_text").submodule_search_locations[0]
        libraries = sorted(Path(root, "python", "ops").glob("_*.so"))
        self._command = [str(program), "-x", *(f for file in libraries for f in ("-l", str(file)))]

    @classmethod
    def build(cls, sources: Path, folder: Path) -> "CServe":
        """Builds c_serve with gcc against this environment's TensorFlow.

        Args:
            sources: the folder of c_serve, with its `build.sh`.
            folder: where the executable goes.
        """
        program = folder / "c_serve"
        command = ["sh", str(sources / "build.sh"), sys.executable, str(program)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
        return cls(program)

    def ask(
        self, model: Path, signature: str, requests: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Answers of a signature to requests of inputs by name, each request in one call.

        Returns:
            For each request its outputs by name.
        """
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        return self.ask_lines(model, signature, lines)

    def ask_lines(self, model: Path, signature: str, lines: str) -> list[dict[str, Any]]:
        """The same for requests that are JSON already, one a line."""
        answers = self._run([str(model), signature, "-j", "-"], lines)
        for answer in answers:
            if "error" in answer:
                raise RuntimeError(f"{model}, {signature}: {answer['error']}")
        return [answer["outputs"] for answer in answers]

    def ask_alone(self, model: Path, signature: str, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Answers of a signature with one text input, each text in a call of its own."""
        if any("\n" in text for text in texts):
            raise ValueError("A text that goes to c_serve as a line must not hold a line feed.")
        lines = "".join(text + "\n" for text in texts)
        answers = self._run(["-s", str(model), signature, "-"], lines)
        return [answer["outputs"] for answer in answers]

    def _run(self, arguments: list[str], lines: str) -> list[dict[str, Any]]:
        command = [*self._command, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, input=lines.encode())
        if done.returncode not in (0, 3):  # 3: a request failed, and its answer says why
            raise RuntimeError(f"c_serve failed: {done.stderr.decode(errors='replace')[-2000:]}")
        return [json.loads(line) for line in done.stdout.decode("utf-8").split("\n") if line]
