"""Rotary positions and bucket numbers equal those of Hugging Face's Llama and T5."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")
llama = pytest.importorskip("transformers.models.llama.modeling_llama")
t5 = pytest.importorskip("transformers.models.t5.modeling_t5")

from keras_transformer.layers import BucketedPositionBias, RotaryPositions  # noqa: E402

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (32, 20), (16, 64), (64, 1000)])
def test_bucket_numbers_of_t5(bidirectional, buckets, max_distance):
    distances = np.arange(-1500, 1501)
    expected = t5.T5Attention._relative_position_bucket(
        torch.from_numpy(distances), bidirectional, buckets, max_distance
    )
    ours = BucketedPositionBias(1, buckets, max_distance, bidirectional)
    assert_array_equal(ours.bucket(keras.ops.convert_to_tensor(distances, "int32")), expected)


@pytest.mark.parametrize("theta", [10000.0, 500000.0])
@pytest.mark.parametrize(
    ("dtype", "farthest", "tolerance"), [("float32", 20, 1e-5), ("float64", 5000, 1e-10)]
)
def test_rotation_of_llama(theta, dtype, farthest, tolerance):
    random = np.random.default_rng(0)
    query = random.normal(size=(2, 4, 6, 8)).astype(dtype)
    key = random.normal(size=(2, 2, 6, 8)).astype(dtype)
    positions = np.array([[0, 1, 2, 3, 4, 5], [7, 8, 9, 10, 15, farthest]])
    frequencies = theta ** (-np.arange(0, 8, 2) / 8)
    angles = np.concatenate([positions[..., None] * frequencies] * 2, axis=-1)
    cos, sin = (torch.from_numpy(f(angles).astype(dtype)) for f in (np.cos, np.sin))
    expected = llama.apply_rotary_pos_emb(torch.from_numpy(query), torch.from_numpy(key), cos, sin)
    layer = RotaryPositions(theta, dtype=dtype)
    assert_allclose(layer(query, positions=positions), expected[0], atol=tolerance)
    assert_allclose(layer(key, positions=positions), expected[1], atol=tolerance)
