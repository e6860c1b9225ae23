"""A GPT that writes like Python's help, with `model.fit` and from random weights.

python docs/examples/write_help.py
"""

from pydoc_data.topics import topics

from keras_transformer.data import TextDocuments, language_model_batches
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import TextGenerator
from keras_transformer.text import SentencePieceTokenizer
from keras_transformer.training import CosineSchedule, TokenAccuracy, TokenCrossEntropy, adamw


def train(texts, epochs=12, vocab_size=1000, **sizes):
    """Learns from texts, each of them one document."""
    documents = TextDocuments("texts", lambda: ([text] for text in texts))
    tokenizer = SentencePieceTokenizer.train(texts, vocab_size, hard_vocab_limit=False)
    config = GptConfig.preset("nano", vocab_size=tokenizer.vocab_size, **sizes)
    block = config.max_position_embeddings  # tokens that the model sees at once
    batches = language_model_batches(documents, tokenizer, block_size=block, batch_size=16)

    model = Gpt(config)
    steps = epochs * batches.count_batches()
    model.compile(
        adamw(CosineSchedule(3e-3, warmup_steps=steps // 10, total_steps=steps)),
        loss=TokenCrossEntropy(),
        metrics=[TokenAccuracy()],
    )
    model.fit(batches.dataset, epochs=epochs, shuffle=False, verbose=2)
    return TextGenerator(model, tokenizer)


if __name__ == "__main__":
    generator = train(list(topics.values()), max_position_embeddings=128)
    for piece in generator.stream("The value of", temperature=0.7, max_new_tokens=60, seed=1):
        print(piece, end="", flush=True)
    (score,) = generator.score(["The expression is evaluated and its value is returned."])
    print(f"\nperplexity of a token: {score.perplexity:.1f}")
    generator.save("runs/my-help")  # TextGenerator.load("runs/my-help") gives it back
    print(generator.export("saved_models/my-help"))  # text to text, for TensorFlow Serving
