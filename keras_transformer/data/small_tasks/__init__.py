"""Small tasks of our own, so that a fine-tuning runs without any file.

Each is sampled from a few templates with a fixed seed, always the same on every machine, and is
hard enough to show what the model has to learn:

- `reviews`: is a short review good or bad? Negations turn words round, and after a "but" comes
  what counts.
- `names`: which words name people, places and organizations? The names are invented and no two
  splits share one, so that only their surroundings and their shapes tell.
- `stories`: questions about who did what where, with several people in a story doing much the
  same; some have no answer in it.

No statement of one split (a word about a thing, a name, who put what where) stands in another one.
"""

from keras_transformer.data.small_tasks.names import builtin_tagged
from keras_transformer.data.small_tasks.reviews import builtin_reviews
from keras_transformer.data.small_tasks.stories import builtin_questions

__all__ = ["builtin_questions", "builtin_reviews", "builtin_tagged"]
