"""Topics come out as text and as a page of HTML that needs nothing else."""

import html.parser
import io
import re
import sys

import numpy as np
import pytest

from keras_transformer.inspection import (
    Matrix,
    Step,
    Topic,
    position_figure,
    print_topic,
    topics_page,
    write_topics_page,
)

SMALL = Topic(
    "Two & two",
    "Addition, of d_k and <b>.",
    [
        Step("Numbers", "a_b + d_k", Matrix([[1.5, -0.00001], [2.0, 3.0]], ["x", "y"], ["u", "v"])),
        Step("Words", matrix=Matrix([["苹果", "<s>"]]), sentence="Not numbers."),
        Step("Truth", matrix=Matrix(np.array([[True, False]]))),
    ],
)


def text_of(topic):
    file = io.StringIO()
    print_topic(topic, file)
    return file.getvalue()


def test_text_is_plain_where_there_is_no_terminal():
    assert text_of(SMALL).splitlines() == [
        "Two & two",
        "=========",
        "Addition, of d_k and <b>.",
        "",
        "1. Numbers",
        "   a_b + d_k",
        "              u       v",
        "      x  1.5000  0.0000",
        "      y  2.0000  3.0000",
        "",
        "2. Words",
        "      苹果  <s>",
        "   Not numbers.",
        "",
        "3. Truth",
        "      yes  ·",
    ]


def test_a_terminal_gets_tables_with_lines(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    file = Terminal()
    print_topic(SMALL, file)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert "╭" in plain and "│ x │ 1.5000 │ 0.0000 │" in plain
    print_topic(Topic("T", "S", [Step("long", matrix=Matrix([["word_" * 30, "end"]]))]), file)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert max(map(len, plain.splitlines())) <= 80
    assert plain.count("word_") > 25 and "…" not in plain  # wrapped, not cut


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.40112, "0.4011"),
        (-0.00001, "0.0000"),
        (-1e30, "-1e+30"),
        (64.0, "64.0000"),
        (True, "yes"),
    ],
)
def test_how_numbers_are_printed(value, printed):
    assert Matrix([[value, 0.5]]).cells()[0][0] == printed


def test_whole_numbers_have_no_point():
    assert Matrix([[2.0, -0.0], [0.0, 4.0]]).cells() == [["2", "0"], ["0", "4"]]


def test_names_must_fit_the_matrix():
    with pytest.raises(ValueError, match="A matrix of 2 columns has 1 names of columns"):
        Matrix([[1, 2]], columns=["a"])


class Tags(html.parser.HTMLParser):
    """Checks that tags are closed in order, and keeps what they refer to."""

    EMPTY = {"meta", "path", "use", "image", "rect", "line", "circle", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.addresses += [v for name, v in attributes if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_a_page_holds_it_all_and_needs_nothing():
    pytest.importorskip("matplotlib")
    drawn = Topic("Picture", "One.", [Step("Positions", picture=lambda: position_figure(12, 8))])
    page = topics_page([SMALL, drawn, drawn], "Sums & more")
    tags = read(page)
    assert {"苹果", "<s>", "1.5000", "Numbers", "Sums & more"} <= set(tags.texts)
    assert all(address.startswith(("#", "data:")) for address in tags.addresses)
    assert page.count("<svg") == 2 and "currentColor" in page and "#0a0b0c" not in page
    assert "#000000" not in page and ">0.75</text>" in page  # nothing is black on dark
    assert "a_b + d<sub>k</sub>" in page  # names with a line below stay as they are
    ids = re.findall(r' id="([^"]+)"', page.split("<svg")[0])
    assert len(ids) == len(set(ids))
    assert "prefers-color-scheme: dark" in page


def test_cells_are_shaded_by_their_size():
    page = topics_page([Topic("T", "S", [Step("s", matrix=Matrix([[1.0, -0.5, -1e30]]))])], "P")
    shades = re.findall(r"--tint: var\(--(c\d)\); --share: (\d+)%", page)
    assert shades == [("c1", "45"), ("c2", "22"), ("c2", "45")]


def test_pages_are_written_whole(tmp_path):
    path = tmp_path / "new" / "page.html"
    write_topics_page(path, [SMALL], "Sums")
    assert path.read_text(encoding="utf-8") == topics_page([SMALL], "Sums")
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_without_matplotlib_a_picture_is_refused_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    topic = Topic("Picture", "One.", [Step("Positions", picture=position_figure)])
    assert "(A page shows a picture of it.)" in text_of(topic)
    with pytest.raises(ValueError, match="Pictures need matplotlib, which is not installed"):
        write_topics_page(tmp_path / "page.html", [topic], "P")
    assert list(tmp_path.iterdir()) == []
