"""What is shown as attention is what the models use, of every task and of cached decoding."""

import dataclasses

import numpy as np
import pytest
import small_berts
import small_generators
import small_translators
import tensorflow as tf

from keras_transformer.inspection import attention_of
from keras_transformer.inspection.cached_steps import FEW_STEPS
from keras_transformer.layers import capture_attention
from keras_transformer.tasks import TranslationOptions

TEXT = "the dog sees [MASK] house. 我住"
GREEDY = TranslationOptions(
    beam_size=1, n_best=1, max_source_length=20, max_target_length=10, length_offset=8
)
BEAM = dataclasses.replace(GREEDY, beam_size=2, max_target_length=5)
LLAMA_LIKE = {
    "positions": "rotary",
    "norm": "rms_norm",
    "norm_first": False,
    "use_bias": False,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
    "encoder_layers": 1,
    "decoder_layers": 1,
}


def texts_of(tokens) -> list[str]:
    return [token.text for token in tokens]


def assert_rows_sum_to_one(shown) -> None:
    for kind, part in shown.maps.items():
        layers, heads, queries, keys = part.weights.shape
        assert part.weights.dtype == np.float32 and layers and heads
        assert (queries, keys) == (len(part.queries), len(part.keys)), kind
        np.testing.assert_allclose(part.weights.sum(-1), 1, atol=1e-5)
        if kind == "decoder":  # exactly 0, not nearly
            assert not np.triu(part.weights, 1).any()


@pytest.fixture(scope="module")
def berts():
    return {
        kind: small_berts.make(kind)
        for kind in ("fill_mask", "classifier", "tagger", "answerer", "embedder")
    }


@pytest.mark.parametrize("kind", ["fill_mask", "classifier", "tagger", "embedder"])
def test_a_bert_attends_to_what_its_task_reads(berts, kind):
    (shown,) = attention_of(berts[kind], [TEXT])
    assert list(shown.maps) == ["encoder"] and shown.windows == 1 and not shown.truncated
    tokens = texts_of(shown.maps["encoder"].keys)
    assert tokens[:4] == ["[CLS]", "the", "dog", "sees"] and tokens[-2:] == ["住", "[SEP]"]
    assert ("[MASK]" in tokens) == (kind == "fill_mask")  # others read it as text
    assert [t.special for t in shown.maps["encoder"].keys][:2] == [True, False]
    assert_rows_sum_to_one(shown)


def test_weights_of_a_task_are_those_of_its_whole_pass(berts):
    """The task's own call, in a batch with padding, run eagerly and looked at."""
    task = berts["classifier"]
    with small_berts.eagerly(), capture_attention() as captured:
        task(["the dog", "the cat sees a blue house."], ["a red house", "tea"])
    (shown,) = attention_of(task, ["the dog"], ["a red house"])
    weights = shown.maps["encoder"].weights  # [layers, heads, 8, 8]
    for layer, whole in enumerate(captured.values()):
        row = int(np.argmin(np.count_nonzero(whole.numpy()[:, 0, 0], axis=-1)))  # the short one
        np.testing.assert_allclose(whole.numpy()[row, :, :8, :8], weights[layer], atol=1e-6)
        assert not whole.numpy()[row, :, :, 8:].any()  # padding


def test_of_a_pair_each_token_says_its_text(berts):
    (shown,) = attention_of(berts["classifier"], ["the dog"], ["a cat"])
    assert [token.part for token in shown.maps["encoder"].keys] == [0, 0, 0, 0, 1, 1, 1]
    assert shown.text_pair == "a cat"
    (masked,) = attention_of(berts["fill_mask"], ["the [MASK]"], ["a cat"])
    assert texts_of(masked.maps["encoder"].keys)[:3] == ["[CLS]", "the", "[MASK]"]
    assert masked.maps["encoder"].keys[2].special


def test_of_a_long_context_each_window_can_be_seen(berts):
    question, context = "who lives?", "the dog lives in London. " * 5
    first, last = (
        attention_of(berts["answerer"], [question], [context], window=window)[0]
        for window in (0, 1)
    )
    assert first.windows == last.windows == 2
    for shown in (first, last):
        assert texts_of(shown.maps["encoder"].keys)[:5] == ["[CLS]", "who", "lives", "?", "[SEP]"]
    assert len(first.maps["encoder"].keys) == 32 > len(last.maps["encoder"].keys)
    with pytest.raises(ValueError, match="window must be from 0 to 1, not 2"):
        attention_of(berts["answerer"], [question], [context], window=2)
    with pytest.raises(ValueError, match="reads nothing of ' '"):
        attention_of(berts["answerer"], [question], [" "])


@pytest.mark.parametrize(
    "config", [{"encoder_layers": 1}, LLAMA_LIKE], ids=["2017", "rotary, grouped heads"]
)
def test_cached_steps_of_a_translation_equal_one_whole_pass(config):
    task = small_translators.make_translator(
        small_translators.subwords(),
        options=BEAM if config is LLAMA_LIKE else GREEDY,
        seed=5,
        **config,
    )
    text = "one cat"
    with small_berts.eagerly():
        (shown,) = attention_of(task, [text])
        source, written, _ = task.written_ids(text)
        assert shown.written == task([text])[0]
    if config is not LLAMA_LIKE:  # by steps that are traced, which nothing else needs to be
        (shown,) = attention_of(task, [text], [shown.written])
        source, written, _ = task.written_ids(text, shown.written)
        assert len(written) > FEW_STEPS
    ids = {"source": tf.constant([source]), "target": tf.constant([[1, *written[:-1]]])}
    with capture_attention() as captured:
        task.model(ids, training=False)
    for kind, place in (
        ("encoder", "encoder/layer_{}/self_attention"),
        ("decoder", "decoder/layer_{}/self_attention"),
        ("cross", "decoder/layer_{}/cross_attention"),
    ):
        for layer, weights in enumerate(shown.maps[kind].weights):
            whole = captured[f"transformer/{place.format(layer)}"].numpy()[0]
            np.testing.assert_allclose(weights, whole, atol=1e-6)
    assert sum(len(part.weights) for part in shown.maps.values()) == len(captured)
    assert_rows_sum_to_one(shown)
    decoder = shown.maps["decoder"]
    assert texts_of(decoder.queries) == ["<s>", *texts_of(decoder.predicted)[:-1]]


def test_a_translation_that_is_given_and_none():
    task = small_translators.make_translator(small_translators.subwords(), options=GREEDY)
    given, blank = attention_of(task, ["one cat", " "], ["rot", ""])
    assert "".join(texts_of(given.maps["cross"].predicted)).replace("␣", "") == "rot</s>"
    assert texts_of(blank.maps["decoder"].predicted) == ["</s>"]
    (encoder,) = attention_of(task, ["one cat"], translate=False)
    assert list(encoder.maps) == ["encoder"]
    np.testing.assert_allclose(
        encoder.maps["encoder"].weights, given.maps["encoder"].weights, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["characters", "subwords"])  # of the shapes of GPT-2 and Llama
@pytest.mark.parametrize("new", [0, 6])
def test_cached_steps_of_a_generation_equal_one_whole_pass(kind, new):
    task = small_generators.generator(kind)
    prompt, options = "a cat", {"temperature": 0, "max_new_tokens": new, "min_new_tokens": new}
    with small_berts.eagerly():
        (shown,) = attention_of(task, [prompt], **options)
        ids, written, truncated = task.written_ids(prompt, **options)
        text = task.generate([prompt], **options)[0].text
    assert len(written) == new and not truncated
    read = [*ids, *written[:-1]]
    with capture_attention() as captured:
        task.model({"token_ids": tf.constant([read])}, training=False)
    decoder = shown.maps["decoder"]
    np.testing.assert_allclose(
        decoder.weights, [w.numpy()[0] for w in captured.values()], atol=1e-6
    )
    assert_rows_sum_to_one(shown)
    assert [t.part for t in decoder.queries] == [0] * len(ids) + [1] * max(new - 1, 0)
    assert texts_of(decoder.predicted)[: len(read) - 1] == texts_of(decoder.queries)[1:]
    assert shown.written == (text or None)


def test_what_does_not_fit_into_the_window_is_said():
    task = small_generators.generator("characters")
    window = task.model.config.max_position_embeddings
    options = {"temperature": 0, "min_new_tokens": 8, "max_new_tokens": 8}
    with small_berts.eagerly():
        (shown,) = attention_of(task, ["a cat"], **options)
    assert shown.truncated and len(shown.maps["decoder"].queries) == window


def test_bytes_of_a_character_and_blanks_can_be_read():
    task = small_generators.generator("byte_pairs")
    (shown,) = attention_of(task, ["the dog 🙂\n"], max_new_tokens=0)
    tokens = shown.maps["decoder"].queries
    assert texts_of(tokens)[0] == "<|endoftext|>" and tokens[0].special
    assert texts_of(tokens)[-5:] == ["<F0>", "<9F>", "<99>", "<82>", "↵"]
    assert "␣dog" in texts_of(tokens)


def test_what_a_task_does_not_take_is_refused(berts):
    with pytest.raises(ValueError, match="TextClassifier takes no option 'temperature'"):
        attention_of(berts["classifier"], ["a"], temperature=0)
    with pytest.raises(ValueError, match="QuestionAnswerer reads a question and its context"):
        attention_of(berts["answerer"], ["a"])
    with pytest.raises(ValueError, match="TokenTagger reads one text"):
        attention_of(berts["tagger"], ["a"], ["b"])
    with pytest.raises(ValueError, match="TextGenerator reads a text in one window, 0, not -1"):
        attention_of(small_generators.generator("characters"), ["a"], window=-1)
    with pytest.raises(ValueError, match="max_new_tokens must be at least 0, not -1"):
        attention_of(small_generators.generator("characters"), ["a"], max_new_tokens=-1)
    with pytest.raises(ValueError, match="there are no text_pairs"):
        attention_of(small_generators.generator("characters"), ["a"], ["b"])
    with pytest.raises(ValueError, match="not one string"):
        attention_of(berts["classifier"], "a")
