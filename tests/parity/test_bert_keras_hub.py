"""Our BERT gives what KerasHub's (keras-nlp's) backbone gives when it has the same weights."""

import keras
import keras_nlp
import numpy as np
from models import berts
from parity.test_keras_hub import copy_attention, copy_feed_forward, copy_norm, randomise

from keras_transformer.models import Bert, BertConfig


def test_backbone():
    theirs = keras_nlp.models.BertBackbone(
        vocabulary_size=31,
        num_layers=2,
        num_heads=4,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=40,
        num_segments=3,
    )
    randomise(theirs, np.random.default_rng(7))
    config = BertConfig(**berts.CONFIG.to_dict() | {"hidden_act": "gelu_tanh"})
    ours = Bert(config)
    ours.build()
    tables = [
        (theirs.token_embedding.embeddings, ours.token_embedding),
        (theirs.position_embedding.position_embeddings, ours.position_embedding),
        (theirs.segment_embedding.embeddings, ours.segment_embedding),
    ]
    for source, target in tables:
        target.embeddings.assign(source)
    copy_norm(theirs.embeddings_layer_norm, ours.embedding_norm)
    for source, target in zip(theirs.transformer_layers, ours.encoder.layers, strict=True):
        copy_attention(source._self_attention_layer, target.self_attention)
        copy_norm(source._self_attention_layer_norm, target.self_attention_residual.norm)
        copy_feed_forward(source, target)
    inputs = berts.batch()
    mask = inputs["token_ids"] != 0
    expected = theirs(inputs | {"padding_mask": mask.astype("int32")})["sequence_output"]
    found = ours(inputs)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(found)[mask],
        keras.ops.convert_to_numpy(expected)[mask],
        atol=1e-5,
    )
