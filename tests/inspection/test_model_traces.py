"""What is shown of a model is what it computes: the shapes of its layers, and its best tokens."""

import numpy as np
import pytest
import small_berts
import small_generators
import small_translators
import tensorflow as tf

from keras_transformer.inspection import record_calls, shapes_topic
from keras_transformer.inspection.model_inputs import model_inputs
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks import TranslationOptions, Translator

TEXT = "the dog sees the red house."


@pytest.fixture(scope="module")
def embedder():
    return small_berts.make("embedder")


@pytest.fixture(scope="module")
def fill_mask():
    return small_berts.make("fill_mask")


def rows(topic, step):
    """Layer, shape and weights of each row."""
    return {
        (cells[0], cells[1].split(" ")[0]): (cells[2], cells[4])
        for cells in topic.step(step).matrix.cells()
    }


def test_the_shapes_of_a_translator():
    tokenizer = small_translators.CharacterTokenizer.train([TEXT, "rot"])
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=24,
        encoder_layers=3,
        decoder_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=40,
        positions="rotary",
    )
    task = Translator(Transformer(config), tokenizer)
    topic = shapes_topic(task, "red dog", "rot")
    encoder = rows(topic, "Encoder, layer 0 of 3")
    assert encoder["self_attention/query", "queries"] == ("[1, 4, 8, 6]", "24×24 + 24")
    assert encoder["self_attention/key", "keys"] == ("[1, 2, 8, 6]", "24×12 + 12")
    assert encoder["self_attention", "weights"] == ("[1, 4, 8, 8]", "")
    assert encoder["feed_forward/input_dense", "x"] == ("[1, 8, 40]", "24×40 + 40")
    decoder = rows(topic, "Decoder, layer 0 of 2")
    assert decoder["cross_attention/value", "values"][0] == "[1, 2, 8, 6]"  # of the source
    assert decoder["cross_attention", "weights"][0] == "[1, 4, 4, 8]"
    ((logits, weights),) = rows(topic, "Logits").values()
    assert (logits, weights) == (f"[1, 4, {tokenizer.vocab_size}]", "the same as before")
    assert [cell for cell, _ in topic.step("Tokens: target").matrix.values] == ["<s>", *"rot"]
    assert f"{task.model.count_params():,} parameters" in topic.sentence


def test_the_rows_of_a_model_hold_all_its_parameters():
    generator = small_generators.generator("characters")  # learned positions
    topic = shapes_topic(generator, "the dog")
    counted = {}
    for step in topic.steps:
        if step.matrix.columns[-1:] == ("parameters",):
            numbers = [int(row[5].replace(",", "") or 0) for row in step.matrix.values]
            counted[step.title] = sum(numbers)
    layers = generator.model.config.num_hidden_layers
    counted[f"Decoder, layer 0 of {layers}"] *= layers
    assert sum(counted.values()) == generator.model.count_params()


def test_probabilities_are_the_models():
    generator = small_generators.generator("characters")
    topic = shapes_topic(generator, "the dog")
    read = model_inputs(generator, "the dog")
    weights = tf.nn.softmax(generator.model(read.inputs)[0, -1]).numpy()
    best = topic.step("Probabilities").matrix.values[0]
    assert int(best[1]) == weights.argmax() and float(best[3]) == round(float(weights.max()), 4)


def test_a_translator_is_given_the_tokens_that_it_wrote():
    options = TranslationOptions(1, 1, max_source_length=20, max_target_length=5)
    task = small_translators.make_translator(small_translators.subwords(), options=options)
    with small_berts.eagerly():
        written = task.written_ids("one dog").written
        read = model_inputs(task, "one dog").inputs["target"].tolist()
    assert read == [[task.model.config.bos_token_id, *written[:-1]]]
    with pytest.raises(ValueError, match="The target has .* tokens, its end counted; .* are read"):
        model_inputs(task, "one dog", "zwei Hunde " * 100)


def test_blanks_and_breaks_of_lines_can_be_told_apart():
    topic = shapes_topic(small_generators.generator("characters"), "a\n b")
    assert [row[0] for row in topic.step("Tokens: token_ids").matrix.values][1:] == [*"a↵␣b"]


def test_the_shapes_of_a_bert_and_its_mask(fill_mask):
    task = fill_mask
    topic = shapes_topic(task, "the dog sees [MASK].")
    assert topic.step("Embedding: token_ids").matrix.rows == ()
    assert len(topic.step("Embedding: token_ids").matrix.values) == 4
    assert "at the mask" in topic.step("Probabilities").sentence
    with small_berts.eagerly():
        (guesses,) = task(["the dog sees [MASK]."])
    found = {row[0]: float(row[3]) for row in topic.step("Probabilities").matrix.values}
    both = set(found) & set(guesses.tokens)
    assert both and all(
        found[token] == pytest.approx(score, abs=1e-4)
        for token, score in zip(guesses.tokens, guesses.scores, strict=True)
        if token in both
    )


def test_nothing_is_guessed_without_a_mask(fill_mask):
    topic = shapes_topic(fill_mask, "the dog.")
    assert topic.steps[-1].title == "Logits"


def test_recording_leaves_a_model_as_it_was(embedder):
    read = model_inputs(embedder, TEXT)
    expected = embedder.model(read.inputs)
    with record_calls(embedder.model) as calls:
        recorded = embedder.model(read.inputs)
    count = len(calls)
    assert np.array_equal(recorded, expected)
    assert np.array_equal(embedder.model(read.inputs), expected) and len(calls) == count > 20
    layers = embedder.model._flatten_layers(include_self=False)
    assert all("call" not in vars(layer) for layer in layers)


def test_recording_ends_when_a_model_fails(embedder):
    with pytest.raises(ValueError, match="missing"), record_calls(embedder.model):
        embedder.model({"nothing": np.ones((1, 2))})
    assert all("call" not in vars(layer) for layer in embedder.model._flatten_layers())


@pytest.mark.parametrize(
    ("text", "message"),
    [(" ", "The text is blank"), ("dog " * 60, "The text is longer than the 40 tokens")],
)
def test_texts_that_a_model_cannot_be_given_are_refused(embedder, text, message):
    with pytest.raises(ValueError, match=message):
        shapes_topic(embedder, text)


def test_a_question_is_read_with_its_context():
    answerer = small_berts.make("answerer")
    read = model_inputs(answerer, "who lives?", "the dog lives.")
    tokens = read.tokens["token_ids"]
    assert tokens.count("[SEP]") == 2 and tokens.index("dog") > tokens.index("[SEP]")
    segments = read.inputs["segment_ids"][0]
    assert segments[tokens.index("dog")] == 1 and segments[0] == 0
    with pytest.raises(ValueError, match="reads a question and its context: give both"):
        model_inputs(answerer, "who lives?")


def test_too_long_a_text_for_a_generator_is_refused():
    with pytest.raises(ValueError, match="longer than the 12 tokens"):
        shapes_topic(small_generators.generator("characters"), "the dog sees the red house")
