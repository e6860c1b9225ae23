"""Our BERT gives what Hugging Face's gives, from its directories and back into them."""

import json
import warnings

import numpy as np
import pytest
import tensorflow as tf
from models import berts
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from keras_transformer.checkpoints import load_huggingface, save_huggingface  # noqa: E402
from keras_transformer.models import Bert  # noqa: E402

# The filter is for Keras' own dealings with NumPy, once for each weight.
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TOLERANCE = 1e-5
SIZES = {
    "vocab_size": 31,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "type_vocab_size": 3,
}
CLASSES = {
    "bert": "BertModel",
    "pretraining": "BertForPreTraining",
    "masked_lm": "BertForMaskedLM",
    "classifier": "BertForSequenceClassification",
    "tagger": "BertForTokenClassification",
    "span_qa": "BertForQuestionAnswering",
}
OUTPUTS = {
    "bert": {"output": "last_hidden_state"},
    "pretraining": {
        "masked_tokens": "prediction_logits",
        "next_sentence": "seq_relationship_logits",
    },
    "span_qa": {"start": "start_logits", "end": "end_logits"},
}


def theirs(kind, **options):
    """A model of theirs with weights that matter."""
    labels = {"classifier": 3, "tagger": 5}.get(kind, 2)
    config = transformers.BertConfig(**SIZES | {"num_labels": labels} | options)
    torch.manual_seed(0)
    model = getattr(transformers, CLASSES[kind])(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            torch.nn.init.normal_(weight, float(name.endswith("LayerNorm.weight")), 0.25)
    return model


def compare(kind, ours, model):
    """Compares all outputs, at padding none."""
    inputs = berts.batch()
    ids = inputs["token_ids"]
    with torch.no_grad():
        expected = model(
            input_ids=torch.from_numpy(ids).long(),
            token_type_ids=torch.from_numpy(inputs["segment_ids"]).long(),
            attention_mask=torch.from_numpy(ids != 0).long(),
        )
    found = berts.outputs_of(ours, inputs)
    for name, their_name in OUTPUTS.get(kind, {"output": "logits"}).items():
        values, wanted = found[name].numpy(), expected[their_name].numpy()
        assert values.shape == wanted.shape
        if values.shape[:2] == ids.shape:
            values, wanted = values[ids != 0], wanted[ids != 0]
        assert_allclose(values, wanted, atol=TOLERANCE)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_directory_of_theirs(kind, tmp_path):
    model = theirs(kind)
    model.save_pretrained(tmp_path)
    if kind == "bert":  # it alone has a pooler that no task of ours trains
        with pytest.warns(UserWarning, match="pooler.dense.bias, bert.pooler.dense.weight.* left"):
            ours = load_huggingface(tmp_path)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            ours = load_huggingface(tmp_path)
    assert type(ours).__name__ == type(berts.built(kind)).__name__
    compare(kind, ours, model)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_directory_of_ours(kind, tmp_path):
    ours = berts.built(kind)
    save_huggingface(ours, tmp_path)
    options = {"add_pooling_layer": False} if kind == "bert" else {}
    model, report = getattr(transformers, CLASSES[kind]).from_pretrained(
        tmp_path, output_loading_info=True, **options
    )
    for what, names in report.items():
        assert not names, (what, names)
    assert type(transformers.AutoConfig.from_pretrained(tmp_path)) is transformers.BertConfig
    compare(kind, ours, model.eval())


def test_a_directory_goes_through_us_unchanged(tmp_path):
    model = theirs("classifier", id2label={0: "a", 1: "b", 2: "c"}, hidden_act="gelu_new")
    model.save_pretrained(tmp_path / "theirs")
    save_huggingface(load_huggingface(tmp_path / "theirs"), tmp_path / "ours", ["a", "b", "c"])
    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours")
    for (name, weight), (other, expected) in zip(
        again.state_dict().items(), model.state_dict().items(), strict=True
    ):
        assert name == other and torch.equal(weight, expected), name
    before = json.loads((tmp_path / "theirs" / "config.json").read_text())
    after = json.loads((tmp_path / "ours" / "config.json").read_text())
    other = {name for name, value in after.items() if before.get(name) != value}
    # Of the default kind of positions theirs says nothing; its numbers of labels may be missing.
    assert other <= {"position_embedding_type", "label2id"}
    assert again.config.id2label == {0: "a", 1: "b", 2: "c"}


@pytest.mark.parametrize(
    "act",
    ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "leaky_relu", "tanh"],
)
def test_activations(act, tmp_path):
    model = theirs("masked_lm", hidden_act=act)
    model.save_pretrained(tmp_path)
    compare("masked_lm", load_huggingface(tmp_path), model)


def test_other_sizes(tmp_path):
    other = {"layer_norm_eps": 1e-3, "type_vocab_size": 4, "num_attention_heads": 2}
    model = theirs("tagger", num_hidden_layers=3, **other)
    model.save_pretrained(tmp_path)
    compare("tagger", load_huggingface(tmp_path), model)


def test_several_files(tmp_path):
    model = theirs("pretraining")
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    compare("pretraining", load_huggingface(tmp_path), model)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype, tmp_path):
    model = theirs("span_qa").to(dtype)
    model.save_pretrained(tmp_path)
    compare("span_qa", load_huggingface(tmp_path), model.float())


def test_gradients_of_a_classifier_are_theirs(tmp_path):
    model = theirs("classifier")
    model.save_pretrained(tmp_path)
    ours = load_huggingface(tmp_path)
    inputs, labels = berts.batch(), np.array([0, 2, 1])
    model(
        input_ids=torch.from_numpy(inputs["token_ids"]).long(),
        token_type_ids=torch.from_numpy(inputs["segment_ids"]).long(),
        attention_mask=torch.from_numpy(inputs["token_ids"] != 0).long(),
        labels=torch.from_numpy(labels),
    ).loss.backward()
    kernels = [
        (ours.classifier.kernel, model.classifier.weight),
        (ours.pooler.dense.kernel, model.bert.pooler.dense.weight),
        (
            ours.bert.encoder.layers[0].self_attention.key_dense.kernel,
            model.bert.encoder.layer[0].attention.self.key.weight,
        ),
        (
            ours.bert.encoder.layers[1].feed_forward.output_dense.kernel,
            model.bert.encoder.layer[1].output.dense.weight,
        ),
    ]
    table = ours.bert.token_embedding.embeddings
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, ours(inputs))
        loss = tf.reduce_mean(losses)
    *gradients, of_table = tape.gradient(loss, [w.value for w in (*(k for k, _ in kernels), table)])
    for gradient, (_, weight) in zip(gradients, kernels, strict=True):
        assert_allclose(gradient, weight.grad.numpy().T, atol=TOLERANCE)
    expected = model.bert.embeddings.word_embeddings.weight.grad
    # Theirs never learns the vector of padding.
    assert_allclose(tf.convert_to_tensor(of_table)[1:], expected[1:], atol=TOLERANCE)


def test_a_bert_of_ours_without_their_pooler_loads_into_the_plain_class(tmp_path):
    """Hugging Face's own default makes a fresh pooler; the hidden states are the same."""
    ours = berts.built("bert")
    save_huggingface(ours, tmp_path)
    model = transformers.AutoModel.from_pretrained(tmp_path).eval()
    compare("bert", ours, model)
    assert isinstance(ours, Bert)
