"""Generators of the other tokenizers, exported, say without Python what they say here."""

import numpy as np
import pytest
import tensorflow as tf
from saved_model_files import devices, nodes
from small_generators import PROMPTS, generator

PROMPTS = [*PROMPTS, "👩‍👩‍👧" * 20, "<|endoftext|></s><unk>", "\0\r\n", "é" * 40]
COLUMNS = {
    "prompt": PROMPTS,
    "max_new_tokens": [20] * len(PROMPTS),
    "temperature": [0.0, 0.7, 1.3] * 4 + [1.0],
    "top_k": [0, 0, 7, 10**6] * 3 + [1],
    "top_p": [1.0, 0.9] * 6 + [0.0],
    "seed": list(range(len(PROMPTS))),
}
TYPES = {"prompt": tf.string, "temperature": tf.float32, "top_p": tf.float32}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["characters", "byte_pairs"])
def test_without_python_they_say_the_same(kind, c_serve, tmp_path):
    made = generator(kind)
    exported = made.export(tmp_path)
    columns = {name: tf.constant(v, TYPES.get(name, tf.int32)) for name, v in COLUMNS.items()}
    expected = made.serving_generate(**columns)
    texts = [text.decode() for text in expected["text"].numpy()]
    assert len(set(texts)) > 8
    few = {name: values[3:5] for name, values in COLUMNS.items()}
    together, part = c_serve.ask(exported, "generate", [COLUMNS, few])
    assert together["text"] == texts and part["text"] == texts[3:5]
    np.testing.assert_allclose(together["score"], expected["score"], atol=1e-3)
    (scores,) = c_serve.ask(exported, "score", [{"text": PROMPTS}])
    expected = made.serving_score(tf.constant(PROMPTS))
    assert scores["tokens"] == expected["tokens"].numpy().tolist()
    np.testing.assert_allclose(scores["log_probability"], expected["log_probability"], atol=1e-3)
    operations = {node.op for node in nodes(exported)}
    for part in ("Xla", "PyFunc", "HashTable", "Mutable"):
        assert not [name for name in operations if part in name]
    assert devices(exported) == set()
