"""The benchmarks: fair turns, right counts and ratios, and contestants that do the same work."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import report, timing
from benchmarks.peers.jobs import BOS, EOS, PAD, PRESETS, DecodingJob, EncoderJob, TrainingJob
from benchmarks.timing import Contestant, Timings

SLEEPER = Contestant("sleeper", "fake_library:Sleeper", ())


@pytest.fixture
def fake_library(monkeypatch):
    """Makes `fake_library` importable here and in the workers."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


# --- choosing contestants


def test_choose_leaves_out_what_is_not_installed_and_says_so_in_one_sentence():
    absent = Contestant("other", "nowhere:Nothing", ("no_such_package",))
    chosen, sentence = timing.choose([SLEEPER, absent], None)
    assert chosen == [SLEEPER]
    assert sentence == (
        "Left out other: not installed are no_such_package; "
        '`pip install -e ".[bench]"` brings them.'
    )


def test_choose_says_nothing_when_all_are_installed():
    assert timing.choose([SLEEPER], None) == ([SLEEPER], "")


def test_choose_refuses_a_name_that_is_wanted_but_not_installed():
    absent = Contestant("other", "nowhere:Nothing", ("no_such_package",))
    with pytest.raises(ValueError, match="not installed are no_such_package"):
        timing.choose([SLEEPER, absent], ["other"])


def test_choose_refuses_an_unknown_name():
    with pytest.raises(ValueError, match="Unknown contestant 'nobody': choose from sleeper"):
        timing.choose([SLEEPER], ["nobody"])


def test_more_threads_than_cores_are_refused():
    cores = len(timing.usable_cores())
    timing.check_threads(cores)
    with pytest.raises(ValueError, match=f"--threads is {cores + 1}, but {cores} cores"):
        timing.check_threads(cores + 1)


# --- taking turns


class Recorder:
    """A worker that writes down its turns and takes the seconds it was told."""

    def __init__(self, name, seconds, turns):
        self.name, self.seconds, self.turns = name, iter(seconds), turns

    def run(self, **work):
        self.turns.append((self.name, work))
        return next(self.seconds), 0.0


def test_interleave_gives_turns_in_rounds_and_does_not_count_the_warm_up():
    turns = []
    running = {"a": Recorder("a", [9, 1, 2], turns), "b": Recorder("b", [9, 3, 8], turns)}
    timings = timing.interleave(running, {"steps": 5}, rounds=2, pause=0)
    assert [name for name, _ in turns] == ["a", "b"] * 3
    assert all(work == {"steps": 5} for _, work in turns)
    assert timings.seconds == {"a": [1, 2], "b": [3, 8]}


def test_interleave_refuses_to_measure_nothing():
    with pytest.raises(ValueError, match="rounds is 0"):
        timing.interleave({}, {}, rounds=0)


def test_ratios_pair_the_turns_of_a_round():
    timings = Timings({"a": [1.0, 10.0], "b": [2.0, 20.0]}, {})  # the machine slowed down
    assert timings.ratios("a", "b") == [2.0, 2.0]


def test_worker_times_its_turns_in_a_process_of_its_own_with_the_wanted_threads(
    fake_library, capfd
):
    before = os.environ.get("OMP_NUM_THREADS")
    job = SimpleNamespace(threads=1, parameters=12)
    with timing.workers([SLEEPER], job) as running:
        assert running["sleeper"].wait_until_ready() == 12
        seconds, threads = running["sleeper"].run(seconds=0.05)
    assert threads == 1
    assert 0.05 <= seconds < 5
    assert os.environ.get("OMP_NUM_THREADS") == before
    assert capfd.readouterr().out == ""  # a library's own words stay out of the table


def test_worker_passes_on_an_error_with_the_name_and_the_trace(fake_library):
    failing = Contestant("failing", "fake_library:Failing", ())
    with timing.workers([failing], SimpleNamespace(threads=1, parameters=0)) as running:
        running["failing"].wait_until_ready()
        with pytest.raises(RuntimeError, match=r"(?s)failing failed:.*ValueError: out of words"):
            running["failing"].run(seconds=0)


def test_a_worker_that_dies_is_an_error_with_its_last_words_and_no_endless_wait(fake_library):
    dying = Contestant("dying", "fake_library:Dying", ())
    with timing.workers([dying], SimpleNamespace(threads=1)) as running:
        with pytest.raises(RuntimeError, match=r"(?s)dying ended with exit code 7.*out of memory"):
            running["dying"].wait_until_ready()


# --- reporting

TIMINGS = Timings({"ours": [1.0, 2.0, 1.0], "torch": [2.0, 3.0, 3.0]}, {})
ROWS = report.rows("tiny", TIMINGS, 3000.0, {"ours": 12345, "torch": 12400}, ["ours"])


def test_rows_hold_median_tokens_per_second_and_the_median_of_the_paired_ratios():
    ours, torch = ROWS
    assert (ours.tokens_per_second, ours.faster) == (3000.0, {"ours": (1.0, 1.0, 1.0)})
    assert (torch.tokens_per_second, torch.faster) == (1000.0, {"ours": (2.0, 1.5, 3.0)})


def test_table_is_markdown_with_aligned_columns():
    assert report.table(ROWS).splitlines() == [
        "| setting | library | parameters | tokens/s |     ours is faster by |",
        "| ------- | ------- | ---------: | -------: | --------------------: |",
        "| tiny    | ours    |     12,345 |    3,000 |                     1 |",
        "| tiny    | torch   |     12,400 |    1,000 | 2.00 x (1.50 to 3.00) |",
    ]


def test_write_json_leaves_the_whole_file_and_nothing_else(tmp_path):
    report.write_json(tmp_path / "new" / "numbers.json", {"machine": report.machine(2, 0.1)})
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["numbers.json"]
    about = json.loads((tmp_path / "new" / "numbers.json").read_text())["machine"]
    assert about["threads"] == 2
    assert about["processor"]
    assert about["versions"]["keras"] in report.describe(about)


def test_a_busy_machine_is_named_under_the_table():
    assert "busy" not in report.describe(report.machine(2, 0.1))
    assert "busy (load 5.2 at the start)" in report.describe(report.machine(2, 5.2))


# --- the work is the same for all


def test_training_batches_are_shifted_padded_and_counted_by_real_tokens():
    job = TrainingJob("quick", batch_size=8, length=16)
    source, target, labels = job.batches()
    assert source.shape == target.shape == labels.shape == (4, 8, 16)
    assert source.dtype == np.int32
    lengths = (target != PAD).sum(-1)
    assert lengths.min() >= 12
    assert (target[..., 0] == BOS).all()
    for row in np.ndindex(4, 8):
        length = lengths[row]
        assert labels[row][length - 1] == EOS
        np.testing.assert_array_equal(labels[row][: length - 1], target[row][1:length])
        assert not labels[row][length:].any()
    real = np.count_nonzero(source) + np.count_nonzero(target)
    assert job.tokens() == real / 4 < 2 * 8 * 16


def test_jobs_refuse_an_unknown_preset():
    with pytest.raises(ValueError, match="Unknown preset 'huge': choose from"):
        _ = TrainingJob("huge").sizes


def test_jobs_refuse_lengths_without_room_for_a_sentence():
    with pytest.raises(ValueError, match="length is 3; a sentence needs at least 4"):
        TrainingJob("quick", length=3)
    with pytest.raises(ValueError, match="source_length is 1; it must be at least 2"):
        DecodingJob("quick", source_length=1)


def test_decoding_refuses_texts_of_other_lengths():
    with pytest.raises(ValueError, match="exactly 32 tokens.*from 3 to 32"):
        DecodingJob("tiny").check([32, 3])


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_presets_are_those_of_the_package(name):
    from keras_transformer.models import TransformerConfig

    sizes = vars(PRESETS[name])
    config = TransformerConfig.preset(name, vocab_size=sizes["vocab_size"])
    assert sizes == {field: getattr(config, field) for field in sizes}


def test_ours_trains():
    from benchmarks.peers import ours

    training = ours.Training(TrainingJob("quick", batch_size=8, length=8, learning_rate=1e-2))
    first = training.run(steps=4)
    assert training.run(steps=30) < first - 0.5


@pytest.mark.parametrize("beam_size", [1, 4])
def test_ours_decodes_exactly_the_wanted_number_of_tokens(beam_size):
    from benchmarks.peers import ours

    decoding = ours.Decoding(DecodingJob("quick", source_length=5, new_tokens=4))
    assert decoding.run(batch_size=3, beam_size=beam_size, times=2) == 3 * 4 * 2


@pytest.mark.slow
def test_keras_hub_trains_at_our_size():
    pytest.importorskip("keras_hub")
    from benchmarks.peers import keras_hub_transformer, ours

    job = TrainingJob("quick", batch_size=8, length=8, learning_rate=1e-2)
    training = keras_hub_transformer.Training(job)
    positions = job.length * job.sizes.hidden_size  # learned by KerasHub
    ours_model = ours.build(job.sizes, job.length, job.dropout)
    ours_model.build()
    assert training.parameters - positions == ours_model.count_params()
    first = training.run(steps=4)
    assert training.run(steps=30) < first - 0.5


def test_keras_hub_does_not_see_padding():
    pytest.importorskip("keras_hub")
    from benchmarks.peers import keras_hub_transformer

    model = keras_hub_transformer.build(PRESETS["quick"], 8, dropout=0.1)
    alone = {"source": np.array([[5, 6, 2]]), "target": np.array([[1, 7, 8]])}
    padded = {"source": np.array([[5, 6, 2, 0, 0]]), "target": np.array([[1, 7, 8, 0]])}
    np.testing.assert_allclose(model(padded)[:, :3], model(alone), atol=1e-5)


def test_torch_trains_at_our_size_and_does_not_see_padding():
    torch = pytest.importorskip("torch")
    from benchmarks.peers import ours, torch_transformer

    job = TrainingJob("quick", batch_size=8, length=8, learning_rate=1e-2, threads=1)
    training = torch_transformer.Training(job)
    ours_model = ours.build(job.sizes, job.length, job.dropout)
    ours_model.build()
    assert training.parameters == ours_model.count_params()
    first = training.run(steps=1)
    assert training.run(steps=30) < first - 0.5

    model = torch_transformer.TorchTranslator(job.sizes, 8, dropout=0.1).eval()
    source, target = torch.tensor([[5, 6, 2, 0, 0]]), torch.tensor([[1, 7, 8, 0]])
    with torch.no_grad():
        alone, padded = model(source[:, :3], target[:, :3]), model(source, target)
    torch.testing.assert_close(padded[:, :3], alone, atol=1e-5, rtol=0)


def test_the_smoothed_losses_of_all_libraries_are_one_loss():
    torch = pytest.importorskip("torch")
    pytest.importorskip("keras_hub")
    from benchmarks.peers.keras_hub_transformer import smoothed_cross_entropy
    from keras_transformer.training import TokenCrossEntropy

    logits = np.random.default_rng(0).normal(size=(2, 3, 7)).astype(np.float32)
    labels = np.array([[3, 2, 0], [4, 5, 2]], np.int32)
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(logits).flatten(0, 1),
        torch.from_numpy(labels).long().flatten(),
        ignore_index=PAD,
        label_smoothing=0.1,
    ).item()
    ours = TokenCrossEntropy(label_smoothing=0.1)(labels, logits)
    keras_hub = smoothed_cross_entropy(0.1)(labels, logits)
    assert float(ours) == pytest.approx(expected, abs=1e-5)
    assert float(keras_hub) == pytest.approx(expected, abs=1e-5)


def test_ctranslate2_decodes_what_hugging_face_decodes():
    for package in ("torch", "transformers", "ctranslate2"):
        pytest.importorskip(package)
    from benchmarks.peers import ctranslate2_marian, hugging_face_marian

    job = DecodingJob("quick", source_length=5, new_tokens=4, threads=1)
    hugging_face, ctranslate2 = hugging_face_marian.Decoding(job), ctranslate2_marian.Decoding(job)
    assert hugging_face.parameters == ctranslate2.parameters
    for beam_size in (1, 4):
        expected = hugging_face.translate(2, beam_size).tolist()
        found = ctranslate2.translate(2, beam_size)
        assert [[int(token) for token in row] for row in found] == expected


@pytest.mark.slow
def test_a_compiled_search_decodes_exactly_the_wanted_number_of_tokens():
    from benchmarks.peers import ours

    decoding = ours.CompiledDecoding(DecodingJob("quick", source_length=5, new_tokens=4))
    assert decoding.run(batch_size=3, beam_size=2, times=1) == 3 * 4


@pytest.mark.slow
def test_bert_classifiers_have_one_size_and_work():
    pytest.importorskip("keras_hub")
    from benchmarks.peers import keras_hub_bert, ours_bert

    job = EncoderJob("quick", batch_size=4, length=8)
    peers = [ours_bert.Classifier(job), keras_hub_bert.Classifier(job)]
    assert peers[0].parameters == peers[1].parameters
    for peer in peers:
        assert np.isfinite(peer.run(steps=2, training=True))
        assert np.isfinite(peer.run(steps=1, training=False))
