"""Few-shot prompting of a small GPT: rules that it must find out from the examples in its prompt.

python docs/examples/few_shot.py write rules.txt
python apps/gpt_train.py --text rules.txt ...       (docs/few_shot.md has the whole command)
python docs/examples/few_shot.py score runs/rules
"""

import argparse
import re
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from keras_transformer.tasks import TextGenerator

RULES = {
    "capitals": str.upper,
    "first letter": lambda word: word[0],
    "last letter": lambda word: word[-1],
    "plural": lambda word: word + "s",
    "twice": lambda word: word + "-" + word,
    "without its ends": lambda word: word[1:-1],
}


def words():
    """Words of Python's help in a random order: those to learn from, and those to be asked."""
    found = sorted(set(re.findall(r"\b[a-z]{3,7}\b", " ".join(topics.values()))))
    shuffled = np.random.default_rng(0).permutation(found).tolist()
    return shuffled[:-200], shuffled[-200:]


def example(rule, word):
    """A line of a prompt.

    >>> example("capitals", "tea")
    'tea: TEA\\n'
    """
    return f"{word}: {RULES[rule](word)}\n"


def write(path, paragraphs=12_000, lines=8):
    """A text of paragraphs that keep to one rule each, without the words that will be asked."""
    random, (known, _) = np.random.default_rng(1), words()
    texts = []
    for _ in range(paragraphs):
        rule = random.choice(list(RULES))
        texts.append("".join(example(rule, word) for word in random.choice(known, lines)))
    Path(path).write_text("\n".join(texts), encoding="utf-8")


def prompts(rule, shots):
    """For each word to be asked, a prompt with so many other words as examples."""
    random, (_, unseen) = np.random.default_rng(shots), words()
    for word in unseen:
        others = random.choice([other for other in unseen if other != word], shots, replace=False)
        yield "".join(example(rule, other) for other in others) + f"{word}:"


def score(run, numbers=(0, 1, 2, 4)):
    """Prints the share of right answers for each rule and number of examples."""
    generator = TextGenerator.load(run)
    print("examples:".ljust(18), *(f"{shots:6}" for shots in numbers))
    for rule in RULES:
        right = []
        for shots in numbers:
            found = generator.generate(
                list(prompts(rule, shots)), temperature=0, stop=["\n"], max_new_tokens=20
            )
            wanted = [f" {RULES[rule](word)}" for word in words()[1]]
            pairs = zip(found, wanted, strict=True)
            right.append(np.mean([answer.text == want for answer, want in pairs]))
        print(rule.ljust(18), *(f"{share:6.1%}" for share in right))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["write", "score"])
    parser.add_argument("path", help="the text to write, or the run to score")
    arguments = parser.parse_args()
    {"write": write, "score": score}[arguments.what](arguments.path)
