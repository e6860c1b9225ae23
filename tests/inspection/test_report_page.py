"""The page of a training: whole, alone, and with curves that say their values."""

import json
import re
from html import unescape

import numpy as np
import pytest
from inspection.made_up_report import Page, facts

from keras_transformer.inspection.line_chart import Line, line_chart, ticks
from keras_transformer.inspection.report_curves import charts
from keras_transformer.inspection.report_page import report_page


def test_the_page_is_whole_and_fetches_nothing():
    text = report_page(
        facts(samples=[{"updates": None, "texts": {"source": "</script><b>", "model": "שלום"}}])
    )
    page = Page(text)
    assert page.open == [] and page.fetched == []
    assert not re.search(r"https?:|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text
    assert "<dd>&lt;/script&gt;&lt;b&gt;</dd>" in text and "שלום" in text
    assert "location.reload" in text and "location.reload" not in report_page(facts(state="done"))
    assert "best BLEU (validation)" in text and "after 20 updates" in text


def test_a_chart_says_its_values_and_leaves_out_what_is_no_number():
    chart = line_chart("Loss", [Line("training", [1, 2, 3], [4.0, float("nan"), 2.0], best=2)])
    points = json.loads(unescape(re.search(r'data-points="([^"]*)"', chart)[1]))
    assert [said for _, said in points] == [
        "1 updates\ntraining  4",
        "3 updates\ntraining  2 (best)",
    ]
    assert points[0][0] < points[1][0]
    assert "from 4 to 2" in chart
    assert line_chart("Loss", [Line("training", [1], [float("inf")])]) == ""


def test_a_score_of_nothing_but_zeros_has_no_ticks_below():
    assert ticks(0, 0, 5) == [0.0, 0.5, 1.0]


def test_an_epoch_and_a_point_within_it_are_one_point_of_the_curve():
    run = {"score": None, "epochs": [{"updates": 4, "tokens_per_second": 10.0}]}
    run["within"] = [{"updates": at, "tokens_per_second": 30.0} for at in (2, 4)]
    (chart,) = charts([run]).main
    points = json.loads(unescape(re.search(r'data-points="([^"]*)"', chart)[1]))
    assert [said.splitlines()[0] for _, said in points] == ["2 updates", "4 updates"]
    assert "10" in points[1][1]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3.7, 12.1), (5, 5), (0, 0), (1e-9, 2e-9), (0, 1e12), (99.1, 99.2)]
)
def test_ticks_hold_the_values_between_them(low, high):
    found = ticks(low, high, 5)
    assert found[0] <= low <= high <= found[-1] and 2 <= len(found) <= 8
    assert np.ptp(np.diff(found)) < 1e-6 * (found[-1] - found[0])
