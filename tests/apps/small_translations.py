"""A small corpus, and runs of the commands on it."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import command_line
import h5py
import numpy as np

APPS = Path(command_line.__file__).parent
MODEL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "num_attention_heads": 2,
}


def write_corpus(folder: Path) -> None:
    """Pairs of made-up sentences: each word has one translation."""
    draw = random.Random(1)
    words = {"dog": "hund", "cat": "katze", "sees": "sieht", "big": "gross", "red": "rot"}
    for split, count in (("train", 200), ("valid", 6), ("test", 6)):
        sentences = [draw.choices(list(words), k=draw.randint(1, 6)) for _ in range(count)]
        lines = (f"{' '.join(s)}\t{' '.join(words[w] for w in s)}\n" for s in sentences)
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")


def flags(folder: Path, name: str, steps: int) -> list[str]:
    return [
        "--dataset", f"tsv:{folder}/{{split}}.tsv", "--model", json.dumps(MODEL),
        "--vocab-size", "300", "--batch-tokens", "240", "--max-target-length", "40", "--ema", "0",
        "--score-every", "1000", "--warmup-steps", "10", "--beam-size", "2",
        "--max-steps", str(steps), "--output", str(folder / name),
        "--export", str(folder / "models" / name),
    ]  # fmt: skip


def in_new_process(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, str(APPS / "translate_train.py"), *arguments],
        check=False,  # the assertion shows what it said
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(APPS.parent)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def here(monkeypatch, module: str, arguments: list[str]) -> None:
    """Runs a script's `main` in this process."""
    monkeypatch.setattr(sys, "argv", [f"{module}.py", *arguments])
    command_line.run(__import__(module).main)


def weights(run: Path) -> dict[str, np.ndarray]:
    found = {}
    with h5py.File(run / "model.weights.h5") as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found
