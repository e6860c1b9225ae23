"""Figures of attention hold the weights, the tokens and the lines that they should."""

import importlib

import numpy as np
import pytest
from inspection import made_up_attention as made_up

from keras_transformer.inspection import plot_alignment, plot_head, plot_heads, plot_lines

TRANSLATION = made_up.translation(["这", "是", "苹果"], ["␣This", "␣is", "␣an", "␣apple"])


@pytest.fixture(autouse=True)
def matplotlib():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_all_heads_at_a_glance(tmp_path):
    part = TRANSLATION.maps["decoder"]
    figure = plot_heads(part)
    assert len(figure.axes) == 6
    for axes, weights in zip(figure.axes, part.weights.reshape(6, 5, 5), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    figure.savefig(tmp_path / "heads.png", dpi=40)
    assert (tmp_path / "heads.png").stat().st_size > 1000


def test_a_heat_map_has_numbers_where_something_may_be_seen():
    part = TRANSLATION.maps["decoder"]
    (axes,) = plot_head(part, layer=1, head=2).axes
    np.testing.assert_array_equal(axes.images[0].get_array(), part.weights[1, 2])
    seen = part.weights[1, 2][np.tril_indices(5)]
    assert texts(axes) == [f"{w:.2f}".removeprefix("0") for w in seen]
    assert [label.get_text() for label in axes.get_yticklabels()] == [t.text for t in part.queries]
    assert axes.get_title() == "decoder self-attention: layer 1, head 2"
    (cross,) = plot_head(TRANSLATION.maps["cross"]).axes  # whose rows are what is written
    assert [label.get_text() for label in cross.get_yticklabels()][0] == "␣This"
    (mean,) = plot_head(part).axes
    np.testing.assert_allclose(mean.images[0].get_array(), part.weights.mean((0, 1)), rtol=1e-6)


def test_a_large_heat_map_names_some_of_its_tokens():
    (axes,) = plot_head(made_up.long_text(300, 1, 1).maps["encoder"], 0, 0).axes
    assert texts(axes) == [] and len(axes.get_xticklabels()) == 100


def test_lines_are_as_strong_as_weights():
    part = TRANSLATION.maps["encoder"]
    (axes,) = plot_lines(part, 0, 0, query=2).axes
    weights = part.weights[0, 0, 2]
    drawn = {int(line.get_ydata()[1]): line.get_alpha() for line in axes.lines}
    assert all(list(line.get_ydata())[0] == 2 for line in axes.lines)
    for key, weight in enumerate(weights / weights.max()):
        assert drawn.get(key, 0) == pytest.approx(weight if weight > 0.02 else 0, rel=1e-5)
    assert len(plot_lines(part, 0, 0).axes[0].lines) > len(axes.lines)
    with pytest.raises(ValueError, match="query must be from 0 to 3, not 4"):
        plot_lines(part, query=4)


def test_the_alignment_has_the_strongest_lines():
    (axes,) = plot_alignment(TRANSLATION).axes
    assert texts(axes) == ["这", "是", "苹果", "</s>", "␣This", "␣is", "␣an", "␣apple", "</s>"]
    weights = TRANSLATION.maps["cross"].weights.mean((0, 1))
    strong = (weights >= 0.5 * weights.max(1, keepdims=True)).sum()
    assert len(axes.lines) == strong
    (plain,) = plot_alignment(TRANSLATION, leave_out_special=True).axes
    end = axes.texts[3].get_position()[0]
    assert not any(line.get_xdata()[0] == end for line in plain.lines)
    with pytest.raises(ValueError, match="no translation"):
        plot_alignment(made_up.long_text(4, 1, 1))


def test_dollars_are_no_formulas(tmp_path):
    shown = made_up.translation(["$$", r"$\foo$"], ["$x$"])
    figure = plot_alignment(shown)
    figure.savefig(tmp_path / "alignment.svg")
    assert r"$\foo$" in texts(figure.axes[0])
    for draw in (plot_head, plot_lines):
        draw(shown.maps["encoder"]).savefig(tmp_path / "figure.png", dpi=40)


@pytest.mark.filterwarnings("error")
def test_without_any_weight_there_are_no_lines():
    part = TRANSLATION.maps["encoder"]
    assert not plot_lines(part._replace(weights=np.zeros_like(part.weights))).axes[0].lines


def test_what_is_not_there_is_said(monkeypatch):
    part = TRANSLATION.maps["cross"]
    with pytest.raises(ValueError, match="layer must be from 0 to 1, or None, not 2"):
        plot_head(part, layer=2)
    with pytest.raises(ValueError, match="head must be from 0 to 2, or None, not -1"):
        plot_lines(part, head=-1)

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ValueError, match=r"need matplotlib, .* extra \[plot\]"):
        plot_heads(part)
