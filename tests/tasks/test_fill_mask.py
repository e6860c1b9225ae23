"""Guesses at the first mask of a text."""

import numpy as np
import pytest
import small_berts

from keras_transformer.models import BertMaskedLM, BertPretraining
from keras_transformer.tasks import FillMask
from keras_transformer.text import CharacterTokenizer

CLS, SEP, MASK = 2, 3, 4


@pytest.fixture(scope="module")
def fill_mask():
    tokenizer = small_berts.wordpieces()
    return FillMask(small_berts.make_model(BertMaskedLM, tokenizer), tokenizer)


@pytest.fixture
def eager():
    with small_berts.eagerly():
        yield


def ids_of(fill_mask, text):
    return fill_mask.tokenizer.tokenize(text).numpy().tolist()


def expected(fill_mask, ids, place):
    """The five likeliest tokens at a place of ids that stand between [CLS] and [SEP]."""
    logits = fill_mask.model({"token_ids": np.array([[CLS, *ids, SEP]])})
    logits = logits.numpy()[0, place + 1]
    scores = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = [i for i in np.argsort(-scores, kind="stable") if i >= 5][:5]  # 0 to 4 are special
    tokens = [small_berts.VOCABULARY[i] for i in best]
    return tokens, pytest.approx(scores[best].tolist(), abs=1e-5)


def test_a_mask_typed_in_the_text_is_the_masks_id(fill_mask):
    for text, before, after in [
        ("the [MASK] runs", "the", "runs"),
        ("the[MASK]runs", "the", "runs"),
        ("[MASK]", "", ""),
        ("我[MASK]北京", "我", "北京"),
    ]:
        before, after = ids_of(fill_mask, before), ids_of(fill_mask, after)
        (found,) = fill_mask([text])
        wanted = expected(fill_mask, [*before, MASK, *after], len(before))
        assert (found.tokens, found.scores) == wanted
        assert not found.truncated


def test_of_several_masks_the_first_is_guessed_and_the_others_stay(fill_mask):
    (found,) = fill_mask(["the [MASK] sees [MASK]"])
    the, sees = ids_of(fill_mask, "the sees")
    assert (found.tokens, found.scores) == expected(fill_mask, [the, MASK, sees, MASK], 1)


def test_a_text_without_a_mask_gets_no_guess(fill_mask):
    for found in fill_mask(["the dog runs", "", " ", "[mask]", "[ MASK ]"]):
        assert found == ([], [], False)
    outputs = fill_mask.serving_default(small_berts.strings(["the dog runs"]))
    assert small_berts.rows_of(outputs) == [
        {"tokens": [""] * 5, "scores": [0.0] * 5, "truncated": False}
    ]


@pytest.mark.parametrize("before", [0, 3, 18, 19, 20, 40, 59, 60])
def test_of_a_long_text_the_part_around_the_mask_is_read(fill_mask, before):
    text = "dog " * before + "[MASK]" + " cat" * (60 - before)
    (found,) = fill_mask([text])
    dog, cat = ids_of(fill_mask, "dog cat")
    ids = [*[dog] * before, MASK, *[cat] * (60 - before)]
    start = min(max(before - 19, 0), 61 - 38)  # 38 tokens fit
    assert (found.tokens, found.scores) == expected(
        fill_mask, ids[start : start + 38], before - start
    )
    assert found.truncated


def test_control_tokens_and_the_unknown_one_are_never_guessed(eager):
    tokenizer = small_berts.wordpieces()
    model = small_berts.make_model(BertMaskedLM, tokenizer)
    bias = model.token_head.bias.numpy()
    bias[:5] = 50.0
    model.token_head.bias.assign(bias)
    fill_mask = FillMask(model, tokenizer, top_k=1000)
    assert fill_mask.top_k == tokenizer.vocab_size - 5  # all that may be guessed
    (found,) = fill_mask(["the [MASK] runs"])
    assert set(found.tokens) == set(small_berts.VOCABULARY[5:])
    assert sum(found.scores) < 0.01  # probabilities are those of all tokens


def test_a_model_of_both_tasks_of_pretraining_guesses_too(tmp_path, eager):
    tokenizer = small_berts.wordpieces()
    task = FillMask(small_berts.make_model(BertPretraining, tokenizer), tokenizer, top_k=2)
    before = task(["the [MASK] runs"])
    task.save(tmp_path)
    loaded = FillMask.load(tmp_path)
    assert type(loaded.model) is BertPretraining
    small_berts.assert_same([list(g) for g in loaded(["the [MASK] runs"])], [list(before[0])])


def test_chinese_by_characters_is_guessed(eager):
    tokenizer = CharacterTokenizer.train(["我住在北京喝茶"], mask=True)
    model = small_berts.make_model(BertMaskedLM, tokenizer)
    (found,) = FillMask(model, tokenizer, top_k=2)(["我[MASK]北京"])
    ids = [tokenizer.token_to_id(token) for token in "我北京"]
    inputs = np.array([[tokenizer.bos_id, ids[0], tokenizer.mask_id, *ids[1:], tokenizer.eos_id]])
    logits = model({"token_ids": inputs})[0, 2].numpy()
    logits[:5] = -np.inf  # special
    best = np.argsort(-logits)[:2]
    assert found.tokens == [tokenizer.id_to_token(int(index)) for index in best]


def test_a_tokenizer_without_a_mask_is_refused():
    vocabulary = [token for token in small_berts.VOCABULARY if token != "[MASK]"]
    tokenizer = type(small_berts.wordpieces())(vocabulary)
    with pytest.raises(ValueError, match="has no mask among its special tokens"):
        FillMask(small_berts.make_model(BertMaskedLM, tokenizer), tokenizer)


def test_no_guesses_at_all_are_refused():
    tokenizer = small_berts.wordpieces()
    with pytest.raises(ValueError, match="top_k must be at least 1, not 0"):
        FillMask(small_berts.make_model(BertMaskedLM, tokenizer), tokenizer, top_k=0)
