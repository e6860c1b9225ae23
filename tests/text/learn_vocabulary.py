"""Learns a vocabulary from a file and reports what that took: `python ... KIND FILE`."""

import json
import resource
import sys
import time
from pathlib import Path

from keras_transformer.text import SentencePieceTokenizer, WordPieceTokenizer

kind, file = sys.argv[1:]
tokenizer = {"bpe": SentencePieceTokenizer, "wordpiece": WordPieceTokenizer}[kind]
start = time.monotonic()
size = tokenizer.train([Path(file)], 8000).vocab_size
print(
    json.dumps(
        {
            "ids": size,
            "seconds": time.monotonic() - start,
            "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
    )
)
