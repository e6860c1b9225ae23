import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.generation.top_k import wide_top_k


@pytest.mark.parametrize(
    ("width", "k"), [(1, 1), (9, 2), (9, 8), (64, 1), (997, 2), (997, 8), (1000, 8), (4096, 8)]
)
@pytest.mark.parametrize("distinct", [2, 40, 10**6])
def test_it_equals_top_k_with_all_ties(width, k, distinct):
    rng = np.random.default_rng(width + k)
    values = rng.integers(0, distinct, [5, width]).astype(np.float32)
    values[1] = -np.inf
    values[2, : width // 2] = -np.inf
    found, indices = wide_top_k(tf.constant(values), k)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(values, expected, 1))
