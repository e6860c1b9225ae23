"""Contestants for the tests of the GPT commands, which need no library at all."""


class Training:
    """Does nothing; its loss is the number of steps."""

    def __init__(self, job):
        self.parameters = job.sizes.vocab_size * job.sizes.hidden_size

    def run(self, steps):
        return float(steps)


class Diverging(Training):
    """Has no loss."""

    def run(self, steps):
        return float("nan")


class Generation(Training):
    """Holds a megabyte for each new token while it works, and writes no text."""

    def run(self, batch_size, prompt_length, new_tokens, times):
        held = b"x" * (new_tokens * 1_000_000)
        return len(held) // 1_000_000 * batch_size * times
