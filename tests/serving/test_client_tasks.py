"""A client's answers are those of the task itself, for every task.

The server is a stub, but behind it runs the real SavedModel of a small task.
"""

import importlib.util
from contextlib import nullcontext

import numpy as np
import pytest
import small_exports
import small_translators
import tensorflow as tf
from serving_stub import RestStub, StubModel, functions_of, grpc_stub
from small_berts import MASKED, TEXTS
from small_generators import PROMPTS

from keras_transformer import tasks
from keras_transformer.serving import Client, client_answers
from keras_transformer.serving.client_requests import generation_columns
from keras_transformer.tasks import GenerationOptions
from keras_transformer.tasks.answers import NOTHING

HAS_GRPC = importlib.util.find_spec("tensorflow_serving") is not None


QUICK = ["translator"]
OTHERS = ["answerer", "fill_mask", "classifier", "regression", "tagger", "embedder", "characters"]
KINDS = [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def clients(kind):
    """A client for REST and, where its packages are, one for gRPC."""
    loaded = tf.saved_model.load(str(small_exports.export(kind)))
    model = StubModel(kind.replace(" ", "-"), {1: functions_of(loaded.signatures)})
    with RestStub(model) as stub, grpc_stub(model) if HAS_GRPC else nullcontext() as address:
        options = {"model": model.name, "batch_size": 3, "timeout": 600}
        addresses = [stub.url, *([address] if HAS_GRPC else [])]
        yield [Client(address, **options) for address in addresses]


def assert_like(found, expected):
    """Equal, numbers nearly so: a batch of another size is rounded otherwise."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            assert_like(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    else:
        assert found == expected and type(found) is type(expected)


def test_a_client_says_what_the_task_says(kind, clients):
    task = small_exports.task(kind)
    for client in clients:
        assert client.task() == type(task).__name__
        assert client.signatures().keys() == task.signatures().keys()
        ASK[type(task)](client, task)
    if HAS_GRPC:  # both ways exactly alike
        rest, grpc = clients
        signature = client.signatures()["serving_default"]
        inputs = dict.fromkeys(signature.inputs, TEXTS)
        one, other = (client.predict("serving_default", inputs) for client in (rest, grpc))
        assert one == other


def translator(client, task):
    # The functions that were exported: `task.translate` would trace others.
    found = small_translators.plain_outputs(task.n_best(tf.constant(TEXTS)))
    expected = [
        ([t for t, s in zip(texts, scores, strict=True) if s > NOTHING],
         [s for s in scores if s > NOTHING], cut)
        for texts, scores, cut in zip(*found.values(), strict=True)
    ]  # fmt: skip
    assert_like(client.translate(TEXTS, n_best=3), expected)
    first = client.translate(TEXTS)
    assert [translation.texts for translation in first] == [[text] for text in task(TEXTS)]
    assert_like(first, [(texts[:1], scores[:1], cut) for texts, scores, cut in expected])
    with pytest.raises(ValueError, match="gives 3 translations, not 4"):
        client.translate(["a"], n_best=4)


def fill_mask(client, task):
    assert_like(client.fill_mask(MASKED), task(MASKED))


def classifier(client, task):
    for columns in ([TEXTS], [TEXTS, TEXTS[::-1]]):
        expected = task.classify(*columns)
        if not task.is_regression:
            expected = [row._replace(scores=list(row.scores.values())) for row in expected]
        assert_like(client.classify(*columns), expected)


def tagger(client, task):
    assert_like(client.tag(TEXTS), task(TEXTS))


def answerer(client, task):
    assert_like(client.answer(TEXTS, TEXTS[::-1]), task.answer(TEXTS, TEXTS[::-1]))


def embedder(client, task):
    assert client.embed(TEXTS).dtype == np.float32
    assert_like(client.embed(TEXTS), task(TEXTS))
    assert_like(client.token_vectors(TEXTS), task.token_vectors(TEXTS))


def generator(client, task):
    def served(generations):  # what a server does not say is left out
        return [found._replace(tokens=None, finish_reason=None) for found in generations]

    asked = {"max_new_tokens": 5, "temperature": 0.5, "top_k": 7, "top_p": 0.9, "seed": 3}
    assert_like(client.generate(PROMPTS, **asked), served(task.generate(PROMPTS, **asked)))
    assert len(client.generate(PROMPTS[:1])) == 1
    scores, expected = client.score(PROMPTS), task.score(PROMPTS)
    assert_like(scores, expected)
    for one, other in zip(scores, expected, strict=True):
        assert one.perplexity == pytest.approx(other.perplexity, rel=1e-4, nan_ok=True)


ASK = {
    tasks.Translator: translator,
    tasks.FillMask: fill_mask,
    tasks.TextClassifier: classifier,
    tasks.TokenTagger: tagger,
    tasks.QuestionAnswerer: answerer,
    tasks.TextEmbedder: embedder,
    tasks.TextGenerator: generator,
}


def test_every_task_is_asked():
    exported = {task for task in vars(tasks).values() if isinstance(task, type)}
    exported = {task for task in exported if issubclass(task, tasks.Task)} - {tasks.Task}
    assert set(ASK) == exported
    assert set(client_answers.TASKS.values()) == {task.__name__ for task in exported}


def test_what_is_not_asked_for_is_as_the_options_have_it():
    columns = generation_columns(1, {})
    assert {name: [getattr(GenerationOptions(), name)] for name in columns} == columns
