"""Labels and numbers for texts and pairs of texts."""

import numpy as np
import pytest
import small_berts
import tensorflow as tf

from keras_transformer.models import BertClassifier
from keras_transformer.tasks import TextClassifier

CLS, SEP = 2, 3
LABELS = ["bad", "good", "né"]


def make(num_labels=3, tokenizer=None, **options):
    tokenizer = tokenizer or small_berts.wordpieces()
    model = small_berts.make_model(BertClassifier, tokenizer, num_labels=num_labels)
    return TextClassifier(model, tokenizer, **options)


@pytest.fixture(scope="module")
def classifier():
    return make(labels=LABELS)


def test_a_classifier_that_reads_all_tokens_comes_back(tmp_path):
    tokenizer = small_berts.wordpieces()
    model = small_berts.make_model(BertClassifier, tokenizer, num_labels=3, pooling="mean")
    task = TextClassifier(model, tokenizer, labels=LABELS)
    again = small_berts.assert_comes_back(
        task, tmp_path, text=["a value", "the values"], text_pair=["", "a"]
    )
    assert again.model.pooling == "mean"


@pytest.fixture
def eager():
    with small_berts.eagerly():
        yield


def ids_of(task, text):
    return task.tokenizer.tokenize(text).numpy().tolist()


def logits_of(task, first, second=None):
    ids = [CLS, *first, SEP]
    segments = [0] * len(ids)
    if second is not None:
        ids += [*second, SEP]
        segments += [1] * (len(second) + 1)
    inputs = {"token_ids": np.array([ids]), "segment_ids": np.array([segments])}
    return task.model(inputs).numpy()[0]


def check(found, logits, truncated=False):
    scores = tf.nn.softmax(logits).numpy()
    assert list(found.scores) == LABELS
    assert list(found.scores.values()) == pytest.approx(scores.tolist(), abs=1e-5)
    assert found.label == LABELS[int(np.argmax(logits))]
    assert found.score == pytest.approx(scores.max(), abs=1e-5)
    assert found.truncated is truncated


def test_scores_are_the_probabilities_of_the_labels(classifier):
    texts = ["the dog runs", "茶 and tea!"]
    for text, found in zip(texts, classifier.classify(texts), strict=True):
        check(found, logits_of(classifier, ids_of(classifier, text)))
    assert classifier(texts) == [c.label for c in classifier.classify(texts)]


def test_the_texts_of_a_pair_are_segments(classifier):
    found = classifier.classify(["the dog", "a"], ["runs in london", ""])
    first, second = ids_of(classifier, "the dog"), ids_of(classifier, "runs in london")
    check(found[0], logits_of(classifier, first, second))
    check(found[1], logits_of(classifier, ids_of(classifier, "a"), []))
    assert classifier(["the dog"], ["runs in london"]) == [found[0].label]


def test_a_text_over_the_limit_is_cut_and_reported(classifier):
    ids = ids_of(classifier, "dog cat " * 30)
    exact, cut = classifier.classify(["dog cat " * 19, "dog cat " * 30])
    check(exact, logits_of(classifier, ids[:38]))
    check(cut, logits_of(classifier, ids[:38]), truncated=True)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (50, 50, (19, 18)),
        (50, 5, (32, 5)),
        (5, 50, (5, 32)),
        (19, 18, (19, 18)),
        (18, 50, (18, 19)),
    ],
)
def test_of_a_pair_over_the_limit_the_longer_text_is_cut_first(classifier, first, second, kept):
    dog, cat = ids_of(classifier, "dog cat")
    (found,) = classifier.classify(["dog " * first], ["cat " * second])
    logits = logits_of(classifier, [dog] * kept[0], [cat] * kept[1])
    check(found, logits, truncated=first + second > 37)


def test_a_blank_text_has_no_label_and_half_a_pair_has_one(classifier):
    assert classifier(["", " "]) == ["", ""]
    assert classifier.classify([""])[0] == ("", 0, dict.fromkeys(LABELS, 0), False)
    whole, half = classifier(["", ""], [" ", "dog"])
    assert whole == "" and half in LABELS


def test_one_label_is_a_number(eager):
    task = make(num_labels=1)
    (found,) = task.classify(["the dog"])
    assert found.score == pytest.approx(logits_of(task, ids_of(task, "the dog"))[0], abs=1e-5)
    assert task(["the dog", ""]) == pytest.approx([found.score, 0.0], abs=1e-6)
    assert task.classify(["the dog"], ["cat " * 50])[0].truncated


def test_chinese_by_characters_is_classified(eager):
    task = make(tokenizer=small_berts.characters(), labels=LABELS)
    ids = [1, *ids_of(task, "我住在北京"), 2]  # BOS and EOS stand for [CLS] and [SEP]
    (found,) = task.classify(["我住在北京"])
    check(found, task.model({"token_ids": np.array([ids])}).numpy()[0])


@pytest.mark.parametrize(
    ("count", "labels", "words"),
    [
        (3, None, "labels must name the 3 labels of the model"),
        (3, ["a", "b"], "There are 2 labels, but the model has 3"),
        (3, ["a", "b", "a"], "holds 'a' twice, as 0 and 2"),
        (3, ["a", "b", 3], r"labels\[2\] must be a name, not 3"),
        (1, ["a"], "num_labels=1.*has no labels"),
    ],
)
def test_labels_that_cannot_be_the_models_are_refused(count, labels, words):
    with pytest.raises(ValueError, match=words):
        make(count, labels=labels)


def test_pairs_of_unequal_number_are_refused(classifier):
    with pytest.raises(ValueError, match="texts and text_pairs must be of one length, not 2 and 1"):
        classifier(["a", "b"], ["c"])
    with pytest.raises(tf.errors.InvalidArgumentError):
        classifier.pair(small_berts.strings(["a", "b"]), small_berts.strings(["c"]))
