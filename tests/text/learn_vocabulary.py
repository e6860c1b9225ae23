"""Learns a vocabulary from a file and reports what that took: `python ... KIND FILE`."""

import json
import sys
import time
from pathlib import Path

from benchmarks.memory import Watch
from keras_transformer.text import SentencePieceTokenizer, WordPieceTokenizer

kind, file = sys.argv[1:]
tokenizer = {"bpe": SentencePieceTokenizer, "wordpiece": WordPieceTokenizer}[kind]
watch = Watch()
start = time.monotonic()
size = tokenizer.train([Path(file)], 8000).vocab_size
print(
    json.dumps(
        {
            "ids": size,
            "seconds": time.monotonic() - start,
            "bytes": watch.memory().peak,
        }
    )
)
