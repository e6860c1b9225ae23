"""Tasks, and exported ones, that the tests of this directory share."""

import functools
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import small_berts
import small_translators
from c_serve import c_serve  # noqa: F401  (a fixture)

from keras_transformer.tasks import TranslationOptions, Translator


@pytest.fixture(scope="session")
def overfitted(tmp_path_factory):
    """Knows PAIRS by heart; saved, loaded, and its files deleted."""
    trained = small_translators.make_translator(small_translators.subwords())
    loss = small_translators.overfit(trained)
    assert loss < 0.05
    run = tmp_path_factory.mktemp("overfitted")
    trained.save(run)
    loaded = Translator.load(run)
    shutil.rmtree(run)
    return loaded


@pytest.fixture(scope="session")
def exported(overfitted, tmp_path_factory):
    """The same as a SavedModel, in another folder than it was written to."""
    folder = tmp_path_factory.mktemp("exported")
    version = overfitted.export(folder / "written" / "translate")
    return version.parent.parent.rename(folder / "moved") / "translate" / version.name


@pytest.fixture(scope="session")
def spelling():
    """Random weights over characters: text and ids say the same, so that scores can be checked."""
    return small_translators.make_translator(
        small_translators.characters(),
        options=TranslationOptions(
            beam_size=4, n_best=4, max_source_length=24, max_target_length=12, length_offset=6
        ),
        seed=3,
        tie_word_embeddings=False,
    )


@pytest.fixture(scope="session")
def two_vocabularies():
    """Everything unlike the defaults, and a tokenizer for each side."""
    return small_translators.make_translator(
        small_translators.subwords(normalization="nfkc"),
        small_translators.characters(small_translators.TARGETS),
        TranslationOptions(
            beam_size=3, n_best=2, length_penalty=0.3, max_source_length=20, max_target_length=9,
            length_factor=0.5, length_offset=4,
        ),
        positions="rotary",
        rope_theta=500.0,
        norm="rms_norm",
        norm_first=False,
        final_norm=True,
        layer_norm_eps=1e-3,
        hidden_act="silu",
        gated=True,
        use_bias=False,
        num_key_value_heads=2,
        tie_word_embeddings=False,
        hidden_dropout=0.3,
        decoder_layers=1,
    )  # fmt: skip


@pytest.fixture(scope="session")
def bert_task():
    """A function that gives the task of BERT of a kind: always the same one."""
    return functools.cache(small_berts.make)


@pytest.fixture(scope="session")
def exported_bert(bert_task, tmp_path_factory):
    """A function that gives the folder of its export."""

    def export(kind):
        return bert_task(kind).export(tmp_path_factory.mktemp(kind))

    return functools.cache(export)
