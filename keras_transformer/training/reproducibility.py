"""One seed for everything that draws random numbers."""

import keras
import tensorflow as tf


def set_seed(seed: int, deterministic_ops: bool = False) -> None:
    """Make what follows repeatable: initial weights, dropout, and anything else that is random.

    Seeds Python, NumPy, TensorFlow and Keras. Call it before making the model and the data. On the
    CPU, two processes with the same seed then see the same losses to the last bit.

    Args:
        seed: from 0 to 2**32 - 1.
        deterministic_ops: also choose repeatable kernels on GPUs. Slower; turns XLA compilation
            by default off, and cannot be undone in the process.

    Raises:
        ValueError: for a seed out of range.

    >>> set_seed(1)
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must be from 0 to 2**32 - 1, got {seed}.")
    keras.utils.set_random_seed(seed)
    if deterministic_ops:
        tf.config.experimental.enable_op_determinism()
