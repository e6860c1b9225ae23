"""TensorFlow is imported here, first and without its greeting.

Its libraries write some lines about the processor to the standard error when they are loaded,
before any setting can keep them from it.
"""

import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DEBUG = "--debug"

GREETING = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog|[IW]\d{4} [\d:.]+ |"
    rb"To enable the following instructions:|E\d{4} .*Unable to register cu\w+ factory|"
    rb"E\d{4} .*failed call to cuInit: .*\(303\)"
)
"""Lines that tell of no fault: CUDA's libraries are registered twice, or there is no driver."""


@contextmanager
def without_greeting() -> Iterator[None]:
    """Holds back what is written to the standard error, and leaves out the greeting of it."""
    try:
        own = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            with suppress(OSError, AttributeError):
                sys.stderr.flush()
            os.dup2(own, 2)
            os.close(own)
            held.seek(0)
            for line in held:
                if not GREETING.match(line):
                    os.write(2, line)


def import_tensorflow() -> None:
    """Imports TensorFlow and its text ops, or says in a sentence why that fails."""
    # It reads this when it is imported; errors are still shown.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    program = Path(sys.argv[0]).name
    if importlib.util.find_spec("keras_transformer") is None:
        sys.exit(
            f"{program}: the package keras_transformer is not installed for {sys.executable}: run "
            "`pip install -e .` in its folder, in a virtual environment."
        )
    try:
        with without_greeting():
            import tensorflow as tf
            import tensorflow_text  # noqa: F401

            tf.config.list_physical_devices()  # looks for a driver
    except Exception as error:  # whatever a broken installation raises
        reason = str(error).strip().partition("\n")[0]
        sys.exit(
            f"{program}: TensorFlow cannot be imported ({type(error).__name__}: {reason}). "
            "`python -m keras_transformer --check` says what does not fit together."
        )


# With --debug everything is shown as it comes.
if DEBUG not in sys.argv and "tensorflow_text" not in sys.modules:
    import_tensorflow()
