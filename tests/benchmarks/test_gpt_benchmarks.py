"""The GPT benchmarks: contestants that are one model and do the same work, memory, growth."""

import dataclasses
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import gpt_generate, gpt_train, memory, report, timing
from benchmarks.memory import Memory
from benchmarks.peers.gpt_jobs import (
    GPT_PRESETS,
    GptGenerationJob,
    GptTrainingJob,
    count_new,
)
from benchmarks.timing import Contestant, Timings

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the system tells no peak of memory"
)


@pytest.fixture
def fake_library(monkeypatch):
    """Makes `fake_gpt_library` importable here and in the workers."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


# --- jobs


def test_training_blocks_are_full_and_labels_are_the_ids_after():
    ids, labels = GptTrainingJob("quick", 16, batch_size=3).batches()
    assert ids.shape == labels.shape == (4, 3, 16)
    assert ids.dtype == np.int32
    assert ids.min() > 2  # neither padding nor markers
    np.testing.assert_array_equal(labels[..., :-1], ids[..., 1:])


def test_a_prompt_has_the_wanted_shape_and_no_padding():
    prompts = GptGenerationJob("quick", 16).prompts(3, 5)
    assert prompts.shape == (3, 5)
    assert prompts.min() > 2


def test_jobs_refuse_an_unknown_preset():
    with pytest.raises(ValueError, match="Unknown preset 'huge': choose from quick, nano"):
        GptTrainingJob("huge", 16)


def test_texts_of_other_lengths_are_refused():
    assert count_new([4, 4], 4) == 8
    with pytest.raises(ValueError, match="exactly 4 new tokens.*from 3 to 4"):
        count_new([4, 3], 4)


@pytest.mark.parametrize("name", ["nano", "mini", "gpt2"])
def test_presets_are_those_of_the_package(name):
    from keras_transformer.models import GptConfig

    sizes = GPT_PRESETS[name]
    config = GptConfig.preset(name, vocab_size=sizes.vocab_size)
    assert dataclasses.asdict(sizes) == {
        field.name: getattr(config, field.name) for field in dataclasses.fields(sizes)
    }
    assert sizes.intermediate_size == config.inner_size


# --- the contestants are one model


@pytest.fixture(scope="module")
def gpt2_folder(tmp_path_factory):
    """Our model of the quick sizes, and its weights in a directory of Hugging Face's format."""
    from benchmarks.peers import ours_gpt
    from keras_transformer.checkpoints import save_huggingface

    folder = tmp_path_factory.mktemp("gpt2")
    model = ours_gpt.build(GptTrainingJob("quick", 24))
    generator = np.random.default_rng(0)
    # far from 0, so that different tokens get different scores
    model.set_weights([generator.normal(0, 0.3, w.shape).astype(w.dtype) for w in model.weights])
    save_huggingface(model, folder)
    return model, folder


def test_the_torch_model_is_the_model_that_we_train(gpt2_folder):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    from benchmarks.peers.torch_gpt import TorchGpt

    ours, folder = gpt2_folder
    theirs = TorchGpt(GPT_PRESETS["quick"], 24, dropout=0.1).eval()
    weights = load_file(folder / "model.safetensors")
    weights = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    for name in list(weights):  # GPT-2 keeps its kernels the other way round
        if name.startswith("h.") and weights[name].ndim == 2:
            weights[name] = weights[name].T
    theirs.load_state_dict(weights)
    ids = np.arange(4, 28)[None]
    with torch.no_grad():
        found = theirs.logits(torch.from_numpy(ids)).numpy()
    np.testing.assert_allclose(found, ours({"token_ids": ids}), atol=1e-3, rtol=1e-4)


def test_hugging_face_and_both_of_our_graphs_make_the_same_tokens(gpt2_folder):
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from benchmarks.peers import hugging_face_gpt2, ours_gpt

    model, folder = gpt2_folder
    job = GptGenerationJob("quick", 24, threads=1)
    theirs = hugging_face_gpt2.Generation(job)
    theirs.model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    expected = theirs.generate(batch_size=3, prompt_length=4, new_tokens=20).numpy()
    assert expected.shape == (3, 20)
    for peer in (ours_gpt.Generation(job), ours_gpt.CompiledGeneration(job)):
        assert peer.parameters == theirs.parameters
        peer.model.set_weights(model.get_weights())
        found = peer.generate(batch_size=3, prompt_length=4, new_tokens=20).ids.numpy()[:, 0]
        np.testing.assert_array_equal(found, expected)
        assert peer.run(batch_size=2, prompt_length=1, new_tokens=20, times=2) == 2 * 20 * 2


def test_all_train_a_model_of_one_size():
    pytest.importorskip("torch")
    pytest.importorskip("keras_hub")
    from benchmarks.peers import keras_hub_gpt2, ours_gpt, torch_gpt

    job = GptTrainingJob("quick", 8, batch_size=4, learning_rate=1e-2, threads=1)
    parameters = []
    for peer in (ours_gpt, torch_gpt, keras_hub_gpt2):
        training = peer.Training(job)
        first = training.run(steps=1)
        assert first == pytest.approx(np.log(500), abs=0.5)  # all ids are as likely
        assert training.run(steps=30) < first - 0.5
        parameters.append(training.parameters)
    assert parameters[0] == parameters[1] == parameters[2]


@pytest.mark.slow
def test_the_compiled_torch_model_has_the_loss_of_the_eager_one():
    pytest.importorskip("torch")
    from benchmarks.peers import torch_gpt

    job = GptTrainingJob("quick", 8, batch_size=4, dropout=0.0, learning_rate=1e-2, threads=1)
    eager, compiled = torch_gpt.Training(job), torch_gpt.CompiledTraining(job)
    for _ in range(3):
        assert compiled.run(steps=2) == pytest.approx(eager.run(steps=2), abs=1e-4)


# --- memory


@needs_proc
def test_a_watch_sees_what_is_held_meanwhile_and_not_what_was_before():
    size = 100_000_000
    held = b"x" * size
    del held
    watch = memory.Watch()
    assert watch.memory().peak - watch.memory().before < size / 2
    held = b"x" * size
    del held
    before, peak = watch.memory()
    assert size * 0.9 < peak - before < size * 1.5


@needs_proc
def test_a_worker_tells_the_memory_of_its_own_process(fake_library):
    generating = Contestant("generating", "fake_gpt_library:Generation", ())
    job = SimpleNamespace(threads=1, sizes=GPT_PRESETS["quick"])
    with timing.workers([generating], job) as running:
        worker = running["generating"]
        worker.wait_until_ready()
        worker.watch_memory()
        worker.run(batch_size=1, prompt_length=1, new_tokens=80, times=1)
        before, peak = worker.memory()
        worker.watch_memory()
        worker.run(batch_size=1, prompt_length=1, new_tokens=1, times=1)
        later = worker.memory()
    assert 72_000_000 < peak - before < 120_000_000
    assert later.peak - later.before < 40_000_000


def test_the_table_has_the_memory_before_and_what_came_on_top():
    timings = Timings({"ours": [1.0]}, {})
    (row,) = report.rows(
        "tiny", timings, 3000.0, {"ours": 12}, ["ours"], {"ours": Memory(500_000_000, 512_300_000)}
    )
    head, _, line = report.table([row]).splitlines()
    assert head.endswith("| MB before | MB more |")
    assert line.endswith("|       500 |      12 |")


# --- the commands


def test_a_contestant_without_its_compiler_is_left_out_with_the_reason():
    compiled = Contestant("compiled", "nowhere:Nothing", (), programs=("no-such-compiler",))
    chosen, sentence = timing.choose([compiled], None)
    assert chosen == []
    assert sentence == "Left out compiled: not found are the programs no-such-compiler."


def test_the_training_command_runs_through(fake_library, monkeypatch, tmp_path, capsys):
    training = Contestant("ours", "fake_gpt_library:Training", ())
    monkeypatch.setattr(gpt_train, "CONTESTANTS", (training,))
    rows = gpt_train.main(["--quick", "--threads", "1", "--json", str(tmp_path / "rows.json")])
    assert [(row.setting, row.name) for row in rows] == [("quick, 4 x 16", "ours")]
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][0]["parameters"] == 500 * 32
    assert "| quick, 4 x 16 |" in capsys.readouterr().out


def test_a_loss_that_is_no_number_is_refused(fake_library, monkeypatch):
    diverging = Contestant("diverging", "fake_gpt_library:Diverging", ())
    monkeypatch.setattr(gpt_train, "CONTESTANTS", (diverging,))
    with pytest.raises(RuntimeError, match="The loss of diverging is nan"):
        gpt_train.main(["--quick", "--threads", "1"])


def test_the_generation_command_runs_through(fake_library, monkeypatch, tmp_path, capsys):
    generating = Contestant("ours", "fake_gpt_library:Generation", ())
    monkeypatch.setattr(gpt_generate, "CONTESTANTS", (generating,))
    rows = gpt_generate.main(["--quick", "--threads", "1", "--json", str(tmp_path / "rows.json")])
    assert [row.setting for row in rows] == [
        "quick, batch 1",
        "quick, batch 16",
        "quick, 8 tokens",
        "quick, 16 tokens",
    ]
    out = capsys.readouterr().out
    assert "| library | preset | new tokens |" in out
    if Path("/proc/self/clear_refs").exists():
        assert all(row.memory.peak >= row.memory.before > 0 for row in rows)
        assert "MB more" in out


def test_lengths_can_be_left_out(fake_library, monkeypatch, capsys):
    generating = Contestant("ours", "fake_gpt_library:Generation", ())
    monkeypatch.setattr(gpt_generate, "CONTESTANTS", (generating,))
    rows = gpt_generate.main(
        ["--presets", "quick", "--threads", "1", "--rounds", "1", "--batch-sizes", "2", "--lengths"]
    )
    assert [row.setting for row in rows] == ["quick, batch 2"]
    assert "times the cost" not in capsys.readouterr().out


def test_growth_compares_the_cost_of_a_token_with_the_length_before():
    rows = [
        report.Row(gpt_generate.length_setting("mini", length), "ours", 1, 1.0, {}, seconds)
        for length, seconds in ((64, (0.128, 9.0, 0.1)), (1024, (6.144,)))  # medians: 2 and 6 ms
    ]
    assert gpt_generate.growth(rows, "mini", [64, 1024]).splitlines()[2:] == [
        "| ours    | mini   |         64 |       2.00 |               |                |",
        "| ours    | mini   |      1,024 |       6.00 |         16.00 |           3.00 |",
    ]
