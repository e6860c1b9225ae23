"""Prompts and completions: what is learned of them, what is cut or dropped, how they are read."""

import collections
import gzip
import json

import numpy as np
import pytest
import tensorflow as tf
from data.corpus_of_numbers import EOS, NumberWords

from keras_transformer.data import (
    TextPairs,
    load_pairs,
    prompt_batches,
    prompt_file,
    translation_prompts,
)
from keras_transformer.text import CharacterTokenizer
from keras_transformer.training import TokenCrossEntropy


def make_batches(*pairs, **options):
    prompts = TextPairs("some", lambda: iter(pairs))
    return prompt_batches(prompts, NumberWords(), **({"training": False} | options))


def numbers(first, count):
    return " ".join(map(str, range(first, first + count)))


def test_only_the_completion_and_the_end_marker_are_learned():
    ((features, labels),) = make_batches(("1 2 3", "10 11"), ("4", "12"), length_multiple=1).dataset
    assert features["token_ids"].numpy().tolist() == [[8, 16, 0, 0, 0], [5, 6, 7, 14, 15]]
    assert labels.numpy().tolist() == [[16, EOS, 0, 0, 0], [0, 0, 14, 15, EOS]]
    assert features["token_ids"].dtype == labels.dtype == tf.int32


def test_the_loss_does_not_depend_on_what_is_guessed_inside_of_the_prompt():
    ((_, labels),) = make_batches(("1 2 3", "10 11"), ("4", "12")).batches()
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(*labels.shape, 40)).astype(np.float32)
    other = np.where((labels == 0)[..., None], rng.normal(size=logits.shape), logits)
    loss = TokenCrossEntropy()
    assert float(loss(labels, logits)) == float(loss(labels, other.astype(np.float32)))
    steps = tf.nn.log_softmax(logits).numpy()
    expected = [-steps[row, i, labels[row, i]] for row, i in np.argwhere(labels)]
    assert len(expected) == 3 + 2
    assert float(loss(labels, logits)) == pytest.approx(np.mean(expected), rel=1e-5)


def test_a_prompt_that_is_too_long_is_cut_at_its_beginning_and_counted():
    batches = make_batches((numbers(0, 20), "50 51"), ("1", "52"), max_length=6)
    rows = {tuple(ids[ids != 0]) for x, _ in batches.batches() for ids in x["token_ids"]}
    assert rows == {(20, 21, 22, 23, 54, 55), (5, 56)}
    assert batches.report.texts.repaired == {"prompt cut to fit 6 ids": 1}
    assert (batches.report.texts.read, batches.report.texts.kept) == (2, 2)


def test_a_completion_is_never_cut_and_one_that_is_too_long_is_counted():
    pairs = [("1 2", numbers(50, 5)), ("1 2", numbers(50, 6)), ("1 2", numbers(50, 60))]
    with pytest.warns(UserWarning, match="some: read 3, kept 1, dropped 2"):
        batches = make_batches(*pairs, max_length=6)
    ((features, labels),) = batches.batches()
    assert features["token_ids"].tolist() == [[6, 54, 55, 56, 57, 58]]
    assert labels.tolist() == [[54, 55, 56, 57, 58, EOS]]
    assert batches.report.texts.dropped == {"completion too long for 6 ids": 2}


def test_what_is_too_long_can_be_dropped_instead():
    batches = make_batches(
        (numbers(0, 5), "50"), (numbers(0, 6), "50"), ("1", "2"), max_length=6, overlong="drop"
    )
    assert batches.count_examples == 2
    assert batches.report.texts.dropped == {"longer than 6 ids": 1}


def test_a_start_id_stands_first_and_is_never_cut():
    batches = make_batches((numbers(0, 9), "50"), max_length=5, start_id=1, length_multiple=1)
    ((features, labels),) = batches.batches()
    assert features["token_ids"].tolist() == [[1, 10, 11, 12, 54]]
    assert labels.tolist() == [[0, 0, 0, 54, EOS]]


def test_rows_of_similar_lengths_share_a_batch_and_all_come_once_an_epoch():
    rng = np.random.default_rng(0)
    pairs = [(numbers(n, int(rng.integers(1, 60))), str(9000 + n)) for n in range(400)]
    batches = make_batches(*pairs, batch_size=8, training=True, seed=3)
    epochs = [list(batches.batches(epoch)) for epoch in (0, 1, 1)]
    for epoch in epochs:
        learned = collections.Counter(int(i) for _, labels in epoch for i in labels[labels != 0])
        assert learned == {EOS: 400} | {9004 + n: 1 for n in range(400)}
    tf.nest.map_structure(np.testing.assert_array_equal, epochs[1], epochs[2])
    assert any(
        (a[1] != b[1]).any() for a, b in zip(*epochs[:2], strict=True) if a[1].shape == b[1].shape
    )
    assert batches.report.padding_share < 0.2


def test_where_padding_means_the_end_of_a_text_ignored_labels_have_another_id():
    class PadsWithEnd(NumberWords):
        pad_id = bos_id = eos_id = 2
        special_ids = (2,)

    prompts = TextPairs("some", lambda: iter([("1 2", "3"), ("4", "5")]))
    ((features, labels),) = prompt_batches(
        prompts, PadsWithEnd(), training=False, length_multiple=1
    ).batches()
    assert labels.tolist() == [[9, EOS, -1], [-1, 7, EOS]]
    assert features["token_ids"].tolist() == [[8, 9, EOS], [5, 6, 7]]


def test_when_nothing_is_kept_the_error_says_so():
    with pytest.raises(
        ValueError, match=r"some: read 7, kept 0, dropped 7 .*raise max_length \(4\)"
    ):
        make_batches(*[("1", numbers(0, 9))] * 7, max_length=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 1}, "max_length must be at least 2, not 1"),
        ({"max_length": 2, "start_id": 1}, "max_length must be at least 3, not 2"),
        ({"overlong": "truncate"}, "overlong is 'truncate'; right are"),
        ({"start_id": 60_000}, "start_id is 60000; ids are 0 to 59999"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_impossible_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_batches(("1", "2"), **options)


# Files.


def write(path, *records):
    content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def test_prompts_are_read_from_json_lines_with_their_blanks(tmp_path):
    write(
        tmp_path / "a.jsonl",
        {"prompt": "Q: 2\nA:", "completion": " 3\n"},
        {"prompt": " ", "completion": "x"},
    )
    write(tmp_path / "b.jsonl.gz", {"prompt": "问", "completion": "答"})
    prompts = prompt_file(tmp_path)
    assert list(prompts) == list(prompts) == [("Q: 2\nA:", " 3\n"), ("问", "答")]
    assert str(prompts.report) == (
        f"jsonl:{tmp_path} (2 files): read 3, kept 2, dropped 1 (blank source: 1)"
    )
    other = write(tmp_path / "c.jsonl", {"q": "a", "a": {"text": "b"}})
    assert list(prompt_file(other, prompt="q", completion="a.text")) == [("a", "b")]


def test_a_bad_line_is_named_by_file_and_line(tmp_path):
    write(tmp_path / "a.jsonl", {"prompt": "a", "completion": "b"}, {"prompt": "a"})
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2: no field 'completion'"):
        prompt_file(tmp_path).check()
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl: there is no such file"):
        prompt_file(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="the prompt field must be a name"):
        prompt_file(tmp_path, prompt=3)
    with pytest.raises(ValueError, match="give at least one"):
        prompt_file()


# Translation.


def test_pairs_become_prompts_and_blank_ones_are_still_counted():
    pairs = TextPairs("two", lambda: iter([("你{source}好", "Hello"), (" ", "x"), ("a", "")]))
    prompts = translation_prompts(pairs, "Chinese: {source}\nEnglish:")
    assert list(prompts) == [("Chinese: 你{source}好\nEnglish:", "Hello")]
    assert prompts.report.dropped == {"blank source": 1, "blank target": 1}
    assert prompts.name == "two as prompts"
    for wrong in ("English:", "{source} {source}"):
        with pytest.raises(ValueError, match="must hold {source} once"):
            translation_prompts(pairs, wrong)


def test_the_built_in_translations_are_learned_as_continuations():
    prompts = translation_prompts(load_pairs("builtin", split="valid"))
    tokenizer = CharacterTokenizer.train(text for pair in prompts for text in pair)
    batches = prompt_batches(prompts, tokenizer, training=False)
    found = []
    for features, labels in batches.batches():
        wholes = tokenizer.detokenize(features["token_ids"]).numpy()
        completions = tokenizer.detokenize(labels).numpy()
        for whole, completion in zip(wholes, completions, strict=True):
            assert whole.endswith(b"\n" + completion)
            found.append((whole.removesuffix(completion).decode(), completion.decode()))
        assert ((labels == EOS).sum(axis=1) == 1).all()  # [rows]
    assert sorted(found) == sorted(prompts)
    assert not batches.report.texts.dropped and not batches.report.texts.repaired
