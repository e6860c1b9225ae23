"""Eight threads with one loaded model get the answers that one gets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import many_texts
import numpy as np
import pytest
import small_exports
import tensorflow as tf
from small_exports import OTHERS, QUICK, inputs_of

THREADS = 8


def requests_of(kind: str) -> list[tuple[str, dict[str, list]]]:
    """Requests to all signatures, of one to five rows, those of a signature far apart."""
    texts = many_texts.texts(40, long=0)
    requests = []
    for number, size in enumerate([1, 5, 2, 3, 4, 1, 5, 3]):
        rows = texts[5 * number :][:size]
        for name, function in small_exports.signatures_of(kind).items():
            requests.append((name, many_texts.columns(inputs_of(function), rows)))
    return requests


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*QUICK, *OTHERS])
def test_without_python_eight_threads_say_what_one_says(kind):
    requests = requests_of(kind)
    answers = []
    for threads in (1, THREADS):
        with small_exports.runner().load(small_exports.export_of_all(kind), threads) as served:
            answers.append(served.ask_all(requests))
    assert all("outputs" in answer for answer in answers[0])
    assert answers[1] == answers[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUICK)
def test_in_python_eight_threads_say_what_one_says(kind):
    functions = small_exports.signatures_of(kind)
    loaded = tf.saved_model.load(str(small_exports.export_of_all(kind)))

    def ask(request):
        name, columns = request
        specs = {spec.name: spec for spec in functions[name].input_signature}
        inputs = {key: tf.constant(rows, specs[key].dtype) for key, rows in columns.items()}
        outputs = loaded.signatures[name](**inputs)
        return {key: value.numpy() for key, value in outputs.items()}

    requests = requests_of(kind)
    expected = [ask(request) for request in requests]
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(ask, 3 * requests))
    for one, other in zip(found, 3 * expected, strict=True):
        assert one.keys() == other.keys()
        for key, value in one.items():
            check = np.testing.assert_array_equal
            if value.dtype == np.float32:
                check = partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-6)
            check(value, other[key])
