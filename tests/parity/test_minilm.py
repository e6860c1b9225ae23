"""Real pretrained weights give the reference's sentence vectors, from text to vector."""

import gzip
import itertools
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from realdata import minilm, real_data

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from keras_transformer.checkpoints import load_huggingface, load_wordpiece  # noqa: E402
from keras_transformer.models import BertEmbedder  # noqa: E402
from keras_transformer.tasks import TextEmbedder  # noqa: E402

# The filter is for Keras' own dealings with NumPy, once for each weight.
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TOLERANCE = 1e-4
LINES = [
    "A man is playing a guitar.",
    "Someone makes music on a stringed instrument.",
    "The central bank left its interest rate where it was, to the surprise of most observers.",
    "Weather",
    "WEATHER, in LONDON!? (don't ask…)",
    "Ein Mädchen läuft über die Straße; die Größe stört.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Съешь ещё этих мягких французских булок.",
    "Η γρήγορη αλεπού",
    "她在吃一个绿苹果。",
    "日本語のテキストです",
    "한국어 텍스트",
    "हिन्दी में एक वाक्य।",
    "שלום עולם, مرحبا بالعالم",
    "emoji 🙂 e\u0301 \u00e9 ﬁ \u200b ##ing",
]


@pytest.fixture(scope="module")
def embedder():
    folder = minilm()
    with pytest.warns(UserWarning, match="bert.pooler.dense.weight, which a BertEmbedder does not"):
        model = load_huggingface(folder, BertEmbedder)
    assert (model.pooling, model.normalize) == ("mean", True)
    return TextEmbedder(model, load_wordpiece(folder))


def reference(texts):
    """Their tokenizer and encoder, the mean over the real tokens, length one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm())
    batch = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")
    with torch.no_grad():
        model = transformers.BertModel.from_pretrained(minilm()).eval()
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy()


def test_lines_of_many_scripts_get_the_references_vectors(embedder):
    vectors = embedder(LINES)
    assert_allclose(vectors, reference(LINES), atol=TOLERANCE)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3  # of like meaning: near


def real_lines():
    """Fifty, from a word to a text longer than the model takes."""

    def of(path, count, start=100):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            lines = (line.strip() for line in file)
            return list(itertools.islice((line for line in lines if line), start, start + count))

    lines = [
        line
        for language in ("en", "de", "fr", "cs")
        for line in of(real_data("multi30k") / f"val.{language}.gz", 8)
    ]
    for language in ("en", "de", "zh"):
        path = real_data("xquad") / f"xquad.{language}.json"
        (paragraph, *_) = json.loads(path.read_text(encoding="utf-8"))["data"][7]["paragraphs"]
        lines += [paragraph["context"], paragraph["qas"][0]["question"]]
    lines += of(real_data("classics_zh") / "hongloumeng.txt.gz", 6)
    lines += of(real_data("chnsenticorp") / "dev.tsv", 5)
    return [*lines, " ".join(lines)]


def test_real_lines_get_the_references_vectors_alone_and_in_a_batch(embedder):
    lines = real_lines()
    assert len(lines) == 50
    together = embedder(lines)
    assert_allclose(together, reference(lines), atol=TOLERANCE)
    alone = np.concatenate([embedder([line]) for line in lines])
    assert_allclose(alone, together, atol=1e-5)
