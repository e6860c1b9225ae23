"""Which code this is: the versions of what computes, and the commit of the package itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import keras
import tensorflow as tf
import tensorflow_text

import keras_transformer


def versions_in_use() -> dict[str, str]:
    """The versions of the packages that a model's numbers hang on.

    >>> sorted(versions_in_use())
    ['keras', 'keras_transformer', 'tensorflow', 'tensorflow-text']
    """
    return {
        "tensorflow": tf.__version__,
        "tensorflow-text": tensorflow_text.__version__,
        "keras": keras.__version__,
        "keras_transformer": keras_transformer.__version__,
    }


def commit_of_this_code() -> str | None:
    """The commit that this package is of; None where it was installed without a repository.

    "-dirty" behind it marks changes that are not committed.
    """
    here = Path(keras_transformer.__file__).parent

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(here), *arguments]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
        except OSError:  # there is no git
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # The environment that it is installed in may itself lie in somebody's repository.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
