"""The scripts with `model.fit` on our models run: a little of each, and with `slow` all of it."""

import runpy
from itertools import islice

import pytest

from keras_transformer.data import LabelledTexts, TextPairs, builtin_reviews
from keras_transformer.tasks import TextClassifier, TextGenerator, Translator

NARROW = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
SCRIPTS = ("translate_pairs", "classify_reviews", "write_help")


def test_translate_pairs(load_example):
    pairs = TextPairs(
        "fruits", lambda: iter([("一个苹果", "an apple"), ("一个桃子", "a peach")] * 8)
    )
    sizes = NARROW | {"encoder_layers": 1, "decoder_layers": 1}
    translator = load_example("translate_pairs").train(pairs, epochs=1, vocab_size=300, **sizes)
    assert isinstance(translator, Translator) and translator.model.optimizer.iterations == 1
    assert translator.source_tokenizer.detokenize([translator.source_tokenizer.tokenize("苹果")])


def test_classify_reviews(load_example):
    example = load_example("classify_reviews")
    rows = [("a row", *row) for row in islice(builtin_reviews("train"), 16)]
    texts = LabelledTexts("a few", lambda: iter(rows))
    sizes = NARROW | {"num_hidden_layers": 1}
    classifier = example.train(texts, epochs=1, vocab_size=150, **sizes)
    assert isinstance(classifier, TextClassifier)
    assert classifier.labels == ["negative", "positive"]
    assert classifier.model.optimizer.iterations == 1


def test_write_help(load_example):
    sizes = NARROW | {"num_hidden_layers": 1, "max_position_embeddings": 16}
    texts = ["A list is a row of values. " * 20, "A name stands for a value. " * 20]
    generator = load_example("write_help").train(texts, epochs=1, vocab_size=300, **sizes)
    assert isinstance(generator, TextGenerator) and generator.model.optimizer.iterations > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_it_learns_what_the_page_shows(name, load_example, tmp_path, monkeypatch, capsys):
    """The whole script, as a reader runs it."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(load_example(name).__file__, run_name="__main__")
    said = capsys.readouterr().out
    assert list(tmp_path.glob("saved_models/*/1/saved_model.pb"))
    if name == "translate_pairs":
        assert "['This is an apple.', 'She is eating a green apple.']" in said
    if name == "classify_reviews":
        assert float(said.split("accuracy on new reviews: ")[1].split()[0]) > 0.9
    if name == "write_help":
        assert float(said.split("perplexity of a token: ")[1].split()[0]) < 60
