"""Whether what is installed fits together: looked up and tried, whatever of it is broken."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.version import Version

NAME = "keras_transformer"
SHOWN = ("tensorflow", "tensorflow-text", "keras", "keras-nlp", "numpy", "sentencepiece")
OPTIONAL = ("tensorflow-datasets", "tensorflow-serving-api", "matplotlib", "torch", "transformers")
SAME_FILES = {
    "tensorflow": (
        *("tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "tensorflow-rocm"),
        *("tf-nightly", "tf-nightly-cpu", "intel-tensorflow"),
    ),
    "keras": ("keras-nightly",),
    "tensorflow-text": ("tensorflow-text-nightly",),
}
"""Packages that write the same files as another: of two, the later one has overwritten parts."""
OF_ITS_VERSION = ("tensorflow-text", "tensorflow-serving-api")
"""Packages that are made for one minor version of TensorFlow."""

TRIAL = """
import json, os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf
import tensorflow_text as text
import keras_transformer.tasks
gpus = tf.config.list_physical_devices("GPU")
with tf.device(gpus[0].name.replace("physical_device:", "") if gpus else "CPU:0"):
    tf.matmul(tf.ones([8, 8]), tf.ones([8, 8])).numpy()
assert text.WhitespaceTokenizer().tokenize(["a b"]).to_list() == [[b"a", b"b"]]
details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
print(json.dumps([found.get("device_name", "GPU") for found in details]))
"""
"""Imports everything, computes and tokenises; prints the GPUs."""


@dataclass
class Installation:
    """What is installed, and what is wrong with it."""

    versions: dict[str, str | None]
    """Of the packages in `SHOWN` and `OPTIONAL`; None for one that is not installed."""
    problems: list[str] = field(default_factory=list)
    """Sentences, each with what would be right."""
    gpus: list[str] | None = None
    """Those that TensorFlow sees; None where it cannot be imported, or was not tried."""


def examine(try_it: bool = True) -> Installation:
    """Looks up what is installed, and tries it in a process of its own.

    Args:
        try_it: import TensorFlow and compute with it, which takes some seconds.

    >>> "tensorflow" in examine(try_it=False).versions
    True
    """
    found = Installation({name: version(name) for name in (*SHOWN, *OPTIONAL)})
    found.problems += [
        *_twice(),
        *_requirements(),
        *_other_minor_versions(),
        *_settings(),
    ]
    if try_it:
        found.gpus, problem = _trial()
        found.problems += [problem] if problem else list(_unused_gpu(found.gpus))
    return found


def version(package: str) -> str | None:
    """The installed version of a package, as pip knows it; None without one.

    >>> version("no-such-package") is None
    True
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _twice() -> Iterator[str]:
    """Packages that overwrite each other's files."""
    for name, others in SAME_FILES.items():
        both = [other for other in (name, *others) if version(other)]
        if len(both) > 1:
            yield (
                f"{' and '.join(both)} are both installed and overwrite each other's files: "
                f"`pip uninstall {' '.join(both)}`, then `pip install {name}`."
            )


def _requirements() -> Iterator[str]:
    """What the package needs and does not have."""
    try:
        needed = importlib.metadata.requires(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        yield f"{NAME} is not installed, only found: `pip install -e .` in its folder."
        return
    for line in needed:
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        name, others = requirement.name, SAME_FILES.get(requirement.name, ())
        has = next(filter(None, map(version, (name, *others))), None)
        wanted = f"{name}{requirement.specifier}"
        if has is None:
            yield f'{name} is not installed: `pip install "{wanted}"`.'
        elif not requirement.specifier.contains(has, prereleases=True):
            need = requirement.specifier
            yield f'{name} is {has}, but {need} is needed: `pip install "{wanted}"`.'


def _other_minor_versions() -> Iterator[str]:
    tensorflow = next(filter(None, map(version, ("tensorflow", *SAME_FILES["tensorflow"]))), None)
    if tensorflow is None:
        return
    minor = Version(tensorflow).release[:2]
    for name in OF_ITS_VERSION:
        has = version(name)
        if has is not None and Version(has).release[:2] != minor:
            right = ".".join(map(str, minor))
            yield (
                f"{name} is {has} and tensorflow {tensorflow}; both must have the same two first "
                f'numbers: `pip install "{name}=={right}.*"`.'
            )


def _settings() -> Iterator[str]:
    """Environment variables that give the package another Keras."""
    if os.environ.get("TF_USE_LEGACY_KERAS", "0").lower() in ("1", "true"):
        yield "TF_USE_LEGACY_KERAS is set, which makes tf.keras Keras 2: unset it."
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        yield (
            f"KERAS_BACKEND is {backend}: there only layers and models work; unset it to train, "
            "and for everything with text."
        )


def _trial() -> tuple[list[str] | None, str | None]:
    """The GPUs, or what went wrong."""
    done = subprocess.run(
        [sys.executable, "-c", TRIAL], check=False, capture_output=True, encoding="utf-8"
    )
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1]), None
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return None, (
            f"TensorFlow ended with {name} when it was tried: with SIGILL the processor lacks "
            "AVX, which TensorFlow's packages need; else install it anew."
        )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return None, f"It does not work when tried: {lines[-1] if lines else 'nothing was said'}"


def _unused_gpu(gpus: list[str]) -> Iterator[str]:
    if not gpus and shutil.which("nvidia-smi") and os.path.exists("/proc/driver/nvidia/version"):
        yield (
            "There is an NVIDIA driver, but TensorFlow sees no GPU: `pip install "
            '"tensorflow[and-cuda]"` brings the CUDA libraries that it needs.'
        )
