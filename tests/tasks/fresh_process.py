"""What the tests run in a process of its own: `python fresh_process.py NAME ARGUMENTS`."""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]


def load_and_export_on_two_replicas(directory: str, exports: str) -> None:
    """Prints what a saved translator says here; then loads and exports it inside a strategy."""
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    from keras_transformer.tasks import Translator

    texts = json.load(sys.stdin)
    translations = Translator.load(directory).translate(texts, n_best=2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        translator = Translator.load(directory)
        values = [variable.value for variable in translator.model.variables]
        mirrored = sum(isinstance(value, tf.distribute.DistributedValues) for value in values)
        exported = translator.export(exports)
    print(
        json.dumps(
            {
                "translations": [translation._asdict() for translation in translations],
                "mirrored": mirrored,
                "exported": str(exported),
            }
        )
    )


def ask_saved_tasks(*directories: str) -> None:
    """Prints what every signature of saved tasks answers to the columns it is given."""
    import small_berts

    from keras_transformer.tasks import Task

    answers = []
    for directory, requests in zip(directories, json.load(sys.stdin), strict=True):
        functions = Task.load(directory).signatures()
        with small_berts.eagerly():
            found = {name: small_berts.ask(functions[name], **requests[name]) for name in requests}
        answers.append(found)
    print(json.dumps(answers))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
