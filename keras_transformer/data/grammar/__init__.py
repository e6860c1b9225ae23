"""The built-in corpus: Chinese-English sentence pairs from a small grammar of our own.

It needs no download, and it is hard enough to show what a translator has to learn:

- things, animals, people, colours and other qualities, kept sensible (one eats food, drives cars);
- counts with measure words (一个苹果 "an apple", 三本书 "three books", 两杯热茶 "two cups of hot
  tea"), irregular plurals (knives, mice, sheep, children), *a* or *an* by sound (a useful book, an
  honest doctor);
- pronouns, names and kinship, possessives (我妈妈的汽车 "my mother's car"), agreement of the verb;
- progressive, habitual, past and future actions, wishes and abilities;
- negation, yes/no questions with 吗, and questions for who, where, what, whose and how many;
- word order that differs: 桌子上的红杯子 "the red cup on the table"; time and place stand before
  the verb in Chinese and after it in English (她昨天在市场上买了三个苹果。 "She bought three
  apples at the market yesterday.").

A Chinese sentence has one English translation here and the reverse, so both directions can be
trained and scored. Validation and test sentences each hold a *combination* of words (quality and
thing, action and object, ...) that no training sentence holds, of words common in training.
Some training pairs lack the Chinese final mark, so that a model also reads text without it.

- `lexicon`, `verbs`, `function_words`: the words, and which go together.
- `choices`, `phrases`: seeded choices; noun phrases, subjects, owners, locations.
- `clauses`, `actions`, `wishes`: sentences about what is, where and whose it is; about what is
  done; about what people have, want and like.
- `splits`: sampling and the held-out combinations.
"""

from keras_transformer.data.grammar.splits import grammar_pairs

__all__ = ["grammar_pairs"]
