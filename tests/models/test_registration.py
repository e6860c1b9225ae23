"""Importing the package is enough for Keras to know its classes."""

from pathlib import Path

import pytest
from layers.fresh_process import report_of
from models import small

from keras_transformer import training
from keras_transformer.models import Transformer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_compiled_model_loads_where_only_the_package_was_imported(tmp_path):
    model = Transformer(small.CONFIGS["learned"])
    schedule = training.InverseSquareRootSchedule(1e-3, 10)
    model.compile(
        training.adamw(schedule), training.TokenCrossEntropy(0.1), metrics=[training.Perplexity()]
    )
    model.build()
    model.save(tmp_path / "model.keras")
    script = Path(__file__).with_name("load_compiled_model.py")
    assert report_of(script, tmp_path / "model.keras") == {
        "model": "Transformer",
        "loss": "TokenCrossEntropy",
        "optimizer": "TransformerAdamW",
        "schedule": "InverseSquareRootSchedule",
    }
