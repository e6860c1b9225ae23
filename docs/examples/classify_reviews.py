"""A BERT that tells good reviews from bad ones, with `model.fit` and from random weights.

python docs/examples/classify_reviews.py
"""

import keras

from keras_transformer.data import builtin_reviews, classification_batches
from keras_transformer.models import Bert, BertClassifier, BertConfig
from keras_transformer.tasks import TextClassifier
from keras_transformer.text import WordPieceTokenizer
from keras_transformer.training import LinearSchedule, TokenAccuracy, TokenCrossEntropy, adamw


def train(texts, epochs=4, vocab_size=600, **sizes):
    """Learns from labelled texts: rows with a `text` and a `label`."""
    labels = texts.label_names()
    tokenizer = WordPieceTokenizer.train(texts.texts(), vocab_size)
    batches = classification_batches(texts, tokenizer, labels, batch_size=32, seed=1)

    bert = Bert(BertConfig.preset("tiny", vocab_size=tokenizer.vocab_size, **sizes))
    model = BertClassifier(bert, num_labels=len(labels))
    steps = epochs * batches.count_batches()
    model.compile(
        adamw(LinearSchedule(5e-4, warmup_steps=steps // 10, total_steps=steps)),
        loss=TokenCrossEntropy(pad_id=-1),  # a label a row; -1 is no label
        metrics=[TokenAccuracy(pad_id=-1)],
        weighted_metrics=[],
    )
    model.fit(batches.dataset, epochs=epochs, shuffle=False, verbose=2)
    return TextClassifier(model, tokenizer, labels)


def accuracy(classifier, texts):
    """The share of texts that get their own label."""
    found = classifier([row.text for row in texts])
    return sum(label == row.label for label, row in zip(found, texts, strict=True)) / len(found)


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    classifier = train(builtin_reviews("train"))
    print(f"accuracy on new reviews: {accuracy(classifier, builtin_reviews('test')):.3f}")
    print(classifier.classify(["The soup was not cold at all."])[0].scores)
    classifier.save("runs/my-reviews")
    print(classifier.export("saved_models/my-reviews"))
