"""Windows over long texts: nothing is left out, and words stay whole."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.windows import best_window, stride_windows, word_windows


def columns(windows):
    return zip(*(part.numpy().tolist() for part in windows), strict=True)


def ragged(sizes):
    return tf.RaggedTensor.from_row_lengths(
        np.array([size for row in sizes for size in row], np.int64),
        np.array([len(row) for row in sizes], np.int64),
    )


# Strides -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 3, 7, 100])
def test_strides_leave_no_token_out_and_end(stride):
    lengths = list(range(60))
    windows = stride_windows(tf.constant(lengths, tf.int64), 7, stride)
    spans = {row: [] for row in lengths}
    for row, start, end in columns(windows[:3]):
        spans[row].append((start, end))
    for row, length in enumerate(lengths):
        assert {t for start, end in spans[row] for t in range(start, end)} == set(range(length))
        assert all(0 < end - start <= 7 for start, end in spans[row])
        assert all(start == i * min(stride, 7) for i, (start, _) in enumerate(spans[row]))
        assert len({end for _, end in spans[row]}) == len(spans[row])  # none is part of another
    assert windows.counts.numpy().tolist() == [len(spans[row]) for row in lengths]


def test_each_text_may_have_a_room_of_its_own():
    rooms = [7, 1, 3, 5]
    together = stride_windows(tf.fill([4], tf.constant(9, tf.int64)), np.array(rooms), 3)
    for row, room in enumerate(rooms):
        alone = stride_windows(tf.constant([9], tf.int64), room, 3)
        own = [(start, end) for r, start, end in columns(together[:3]) if r == row]
        assert own == [(start, end) for _, start, end in columns(alone[:3])]


@pytest.mark.parametrize("room", [1, 2, 3, 7, 8])
def test_every_token_is_in_the_window_that_answers_for_it(room):
    for stride in range(1, room + 1):
        for length in range(1, 30, 4):
            windows = stride_windows(tf.constant([length], tf.int64), room, stride)
            places = np.arange(length)
            own = best_window(tf.constant(places), room, stride, windows.counts[0]).numpy()
            starts, ends = windows.starts.numpy()[own], windows.ends.numpy()[own]
            assert np.all(starts <= places) and np.all(places < ends)


def test_a_stride_that_does_not_move_on_is_refused():
    with pytest.raises(ValueError, match="stride must be at least 1, not 0"):
        stride_windows(tf.constant([5], tf.int64), 3, 0)


# Words -------------------------------------------------------------------------------------------


def words_one_by_one(sizes, room, overlap):
    """The windows of one text, found a word at a time."""
    sizes = [min(size, room) for size in sizes]
    spans, start, end = [], 0, 0
    while end < len(sizes):
        while end < len(sizes) and sum(sizes[start : end + 1]) <= room:
            end += 1
        spans.append((start, end))
        if end < len(sizes):
            most, start = min(overlap, room - sizes[end]), end
            while start > spans[-1][0] + 1 and sum(sizes[start - 1 : end]) <= most:
                start -= 1
    middles = [(second[0] + first[1]) // 2 for first, second in zip(spans, spans[1:], strict=False)]
    return [
        (*span, first, last)
        for span, first, last in zip(spans, [0, *middles], [*middles, len(sizes)], strict=False)
    ]


@pytest.mark.parametrize("room", [1, 2, 5, 17])
def test_windows_of_a_batch_are_those_of_each_text(room):
    rng = np.random.default_rng(room)
    for overlap in {0, room // 4, room // 2, room - 1}:
        lengths = rng.permutation([0, 0, 1, 2, *rng.integers(3, 40, 12)])
        sizes = [rng.integers(1, 8, length).tolist() for length in lengths]
        expected, before = [], 0
        for row, its in enumerate(sizes):
            for window in words_one_by_one(its, room, overlap):
                expected.append((row, *(before + word for word in window)))
            before += len(its)
        assert list(columns(word_windows(ragged(sizes), room, overlap))) == expected


@pytest.mark.parametrize("room", [1, 2, 5, 17])
def test_every_word_is_answered_for_once_and_windows_fit(room):
    rng = np.random.default_rng(room)
    sizes = [rng.integers(1, 8, rng.integers(0, 40)).tolist() for _ in range(100)]
    flat = [min(size, room) for row in sizes for size in row]
    answered = []
    for _, start, end, first, last in columns(word_windows(ragged(sizes), room, room // 2)):
        assert start <= first <= last <= end
        assert sum(flat[start:end]) <= room
        answered += range(first, last)
    assert answered == list(range(len(flat)))


@pytest.mark.parametrize("sizes", [[], [[]], [[], []]])
def test_without_words_there_are_no_windows(sizes):
    assert [part.shape for part in word_windows(ragged(sizes), 3, 1)] == [(0,)] * 5


@pytest.mark.parametrize(("room", "overlap"), [(0, 0), (3, 3), (3, -1)])
def test_an_overlap_that_leaves_nothing_new_is_refused(room, overlap):
    with pytest.raises(ValueError, match="overlap must be 0 or more, and less than the window"):
        word_windows(ragged([[1]]), room, overlap)
