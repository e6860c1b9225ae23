"""Checkpoint files that were cut, damaged or could not be written."""

import resource

import numpy as np
import pytest
import tiny

from keras_transformer.training import TrainingCheckpoint
from keras_transformer.training.checkpoint_folder import CheckpointFolder


def train(directory, epochs, keep=2):
    """Train, or go on; gives the model."""
    data, model = tiny.ClockedData(), tiny.tiny_model()
    checkpoint = TrainingCheckpoint(directory, clock=data, keep=keep)
    model.fit(
        data.dataset,
        initial_epoch=checkpoint.restore(model),
        epochs=epochs,
        verbose=0,
        shuffle=False,
        callbacks=[checkpoint],
    )
    return model


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def name(epoch):
    return f"epoch-{epoch:04d}-batch-00000000.npz"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The numbers after 4 epochs that nothing disturbed."""
    return tiny.weights(train(tmp_path_factory.mktemp("whole"), 4))


@pytest.fixture
def begun(tmp_path):
    """A training after 2 of them."""
    train(tmp_path, 2)
    return tmp_path


def test_files_have_the_mode_of_any_new_file(begun):
    (begun / "new").write_bytes(b"")
    assert (begun / name(2)).stat().st_mode == (begun / "new").stat().st_mode


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_file_that_was_cut_is_passed_over(share, begun, whole):
    newest = begun / name(2)
    content = newest.read_bytes()
    newest.write_bytes(content[: int(share * len(content))])
    with pytest.warns(UserWarning, match=f"{name(2)}: is not a whole .* The one before it counts"):
        tiny.assert_same_bits(train(begun, 4), whole)
    assert names(begun) == [name(3), name(4)]


@pytest.mark.parametrize("where", ["middle", "compression"])
def test_a_file_with_a_wrong_bit_is_passed_over(begun, whole, where):
    content = bytearray((begun / name(2)).read_bytes())
    if where == "middle":
        content[len(content) // 2] ^= 1
    else:  # the last file of the archive asks for a compression that does not exist
        content[content.rfind(b"PK\x01\x02") + 10] ^= 0x80
    (begun / name(2)).write_bytes(content)
    with pytest.warns(UserWarning, match="The one before it counts"):
        tiny.assert_same_bits(train(begun, 4), whole)


@pytest.mark.parametrize("content", [np.zeros(2), {"state": "[]"}, {"state": "{}"}])
def test_files_of_other_kinds_are_passed_over(begun, whole, content):
    with open(begun / name(2), "wb") as file:
        np.savez(file, **content) if isinstance(content, dict) else np.save(file, content)
    with pytest.warns(UserWarning, match=f"{name(2)}: is not a whole training checkpoint"):
        tiny.assert_same_bits(train(begun, 4), whole)


def test_a_damaged_file_does_not_displace_a_good_one(begun):
    """Those that come after it are older by name."""
    (begun / name(9)).write_bytes(b"")
    with pytest.warns(UserWarning, match="is not a whole"):
        train(begun, 4, keep=1)
    assert names(begun) == [name(4), name(9)]


def test_where_no_file_is_whole_nothing_is_resumed(begun):
    for path in begun.iterdir():
        path.write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="is not a whole"),
        pytest.raises(ValueError, match=f"holds no whole checkpoint: .*{name(2)}"),
    ):
        train(begun, 4)


def test_what_a_killed_write_left_is_no_checkpoint_and_goes_away(begun, whole):
    (begun / f".{name(3)}.abc12_x").write_bytes(b"half")
    (begun / ".another").write_bytes(b"not ours")
    assert [path.name for path in TrainingCheckpoint(begun).paths()] == [name(1), name(2)]
    tiny.assert_same_bits(train(begun, 4), whole)
    assert names(begun) == [".another", name(3), name(4)]


@pytest.fixture
def no_room(begun):
    """No file can grow beyond half a checkpoint."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    half = (begun / name(2)).stat().st_size // 2
    resource.setrlimit(resource.RLIMIT_FSIZE, (half, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_without_room_there_is_a_sentence_and_the_last_file_stays(begun, whole, no_room):
    sentence = (
        rf"{name(3)}: the checkpoint cannot be written: .*\. The last one, {name(2)}, is whole"
    )
    before = (begun / name(2)).read_bytes()
    with pytest.raises(OSError, match=sentence):
        train(begun, 4)
    assert names(begun) == [name(1), name(2)]
    assert (begun / name(2)).read_bytes() == before


def test_with_room_again_the_training_goes_on(begun, whole, request):
    request.getfixturevalue("no_room")
    with pytest.raises(OSError, match="cannot be written"):
        train(begun, 4)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tiny.assert_same_bits(train(begun, 4), whole)


def test_the_first_file_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("no folder")
    folder = CheckpointFolder(tmp_path / "file", keep=1)
    with pytest.raises(OSError, match="cannot be written: .*There is none yet"):
        folder.write(0, 1, {"model": [("a", np.ones(3))]}, {"best_file": None})
