"""Long arrays: the same in memory and in a file, which leaves nothing behind."""

import tempfile

import numpy as np
import pytest

from keras_transformer.data.stored_array import StoredArray

CHUNKS = [np.arange(start, start + size) for start, size in ((0, 5), (5, 0), (5, 40), (45, 3))]


@pytest.mark.parametrize("hold", [0, 20, 10**6])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_slices_are_the_same_in_memory_and_in_a_file(hold, dtype):
    array = StoredArray(dtype, hold)
    for number, chunk in enumerate(CHUNKS):
        array.append(chunk)
        assert len(array) == sum(map(len, CHUNKS[: number + 1]))
        assert array[:].tolist() == list(range(len(array)))  # reading between two chunks
    assert array.is_held == (hold == 10**6)
    expected = list(range(48))
    for part in (slice(None), slice(3, 9), slice(44, 46), slice(-5, None), slice(9, 3)):
        assert array[part].tolist() == expected[part]
        assert array[part].dtype == dtype
    assert array[40:100].tolist() == expected[40:]
    with pytest.raises(ValueError, match="must have no step, but its step is 2"):
        array[::2]


def test_an_array_without_numbers_is_empty():
    assert StoredArray(np.int32)[:].tolist() == []


def test_the_file_has_no_name_and_is_closed_with_the_array(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = StoredArray(np.int32, hold=0)
    array.append([1, 2, 3])
    file = array._file
    assert array[1:].tolist() == [2, 3]
    assert list(tmp_path.iterdir()) == []  # a killed process leaves nothing
    del array
    assert file.closed


def test_a_full_disk_gives_a_sentence(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    array = StoredArray(np.int64, hold=0)
    with pytest.raises(OSError, match="No space left .* 8,000,000 bytes .* let TMPDIR name a"):
        array.append(np.arange(1_000_000))
