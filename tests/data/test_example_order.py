"""Which examples share a batch: all at once, or a pool of those that come."""

import numpy as np
import pytest

from keras_transformer.data.example_order import BATCHES_SORTED, example_order


def lengths_of(count, seed=0):
    return np.random.default_rng(seed).integers(1, 100, count).tolist()


def order(count, batch_size=2, seed=1, hold=None):
    rng = None if seed is None else np.random.default_rng(seed)
    return list(example_order(iter(lengths_of(count)), batch_size, rng, hold))


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("hold", [None, 1, 128, 10**6])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 129, 192, 1000, 1001])
def test_every_example_comes_once_in_batches_of_one_size_but_one(count, hold, seed):
    batches = order(count, hold=hold, seed=seed)
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    sizes = sorted(map(len, batches))
    assert sizes == sorted([2] * (count // 2) + [1] * (count % 2))


@pytest.mark.parametrize("seed", [None, 1])
def test_a_pool_that_holds_all_gives_the_same_as_no_pool(seed):
    for count in (5, 127, 128):  # 128 are two times 32 batches
        one, other = order(count, seed=seed), order(count, seed=seed, hold=100)
        assert [rows.tolist() for rows in one] == [rows.tolist() for rows in other]


def test_rows_of_a_batch_have_similar_lengths_and_batches_come_mixed():
    lengths = np.array(lengths_of(5000))
    for hold in (None, 512):
        batches = order(5000, batch_size=8, hold=hold)
        spread = np.mean([np.ptp(lengths[rows]) for rows in batches if len(rows) == 8])
        assert spread < 6
        means = [lengths[rows].mean() for rows in batches]
        assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.2


def test_no_more_lengths_are_asked_for_than_the_pool_holds_and_32_batches():
    asked = 0

    def lengths():
        nonlocal asked
        for length in lengths_of(4000):
            asked += 1
            yield length

    given = 0
    for rows in example_order(lengths(), 2, np.random.default_rng(0), hold=256):
        assert asked - given <= 256 + 2 * BATCHES_SORTED
        given += len(rows)
    assert given == asked == 4000


def test_the_order_is_that_of_the_seed():
    def flat(**options):
        return np.concatenate(order(1000, hold=128, **options)).tolist()

    assert flat() == flat() != flat(seed=2)
