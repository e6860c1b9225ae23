"""A translator from pairs of texts, with `model.fit`: tokenizer, batches, model, task.

python docs/examples/translate_pairs.py
"""

from keras_transformer.data import TranslationBatches, load_pairs
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks import Translator
from keras_transformer.text import SentencePieceTokenizer
from keras_transformer.training import CosineSchedule, TokenAccuracy, TokenCrossEntropy, adamw


def train(pairs, epochs=4, vocab_size=1400, **sizes):
    """Learns from (source, target) texts; both sides share one vocabulary."""
    texts = (text for pair in pairs for text in pair)
    tokenizer = SentencePieceTokenizer.train(
        texts, vocab_size, split_han=True, hard_vocab_limit=False
    )
    batches = TranslationBatches(pairs, tokenizer, tokenizer, batch_tokens=1024, seed=1)
    print(batches.report)  # what was read, dropped and padded

    config = TransformerConfig.preset("tiny", vocab_size=tokenizer.vocab_size, **sizes)
    model = Transformer(config)
    steps = epochs * batches.count_batches()
    model.compile(
        adamw(CosineSchedule(2e-3, warmup_steps=steps // 8, total_steps=steps)),
        loss=TokenCrossEntropy(label_smoothing=0.1),
        metrics=[TokenAccuracy()],
    )
    model.fit(batches.dataset, epochs=epochs, shuffle=False, verbose=2)
    return Translator(model, tokenizer)


if __name__ == "__main__":
    translator = train(load_pairs("builtin"), encoder_layers=2, decoder_layers=2)
    print(translator(["这是一个苹果。", "她在吃一个绿苹果。"]))
    translator.save("runs/mine")  # Translator.load("runs/mine") gives it back
    print(translator.export("saved_models/mine"))  # text to text, for TensorFlow Serving
