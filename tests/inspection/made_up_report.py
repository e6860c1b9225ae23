"""A report of a training that never was, and a reader of its page."""

from html.parser import HTMLParser

from keras_transformer.inspection.training_report import TrainingReport


class Page(HTMLParser):
    """Which tags stand open, and what the page would fetch."""

    VOID = {"meta", "br", "hr", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def facts(title="runs/a", loss=2.0, **changes):
    rows = [
        {
            "epoch": epoch, "updates": 10 * epoch, "seconds": 3.0 * epoch, "loss": loss / epoch,
            "val_loss": 1.1 * loss / epoch, "valid_bleu": 9.0 - abs(epoch - 2),
            "learning_rate": 1e-3, "tokens_per_second": 100.0,
        }
        for epoch in (1, 2, 3)
    ]  # fmt: skip
    found = TrainingReport(title).facts | {
        "epochs": rows,
        "score": {"name": "valid_bleu", "mode": "max"},
        "model": {"class": "Gpt", "parameters": 7, "precision": "float32"},
    }
    return found | changes
