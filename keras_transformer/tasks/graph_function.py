"""How the tasks' functions become graphs."""

import functools

import tensorflow as tf

# Loops and conditions of ours are TensorFlow's own operations. To search the code for Python's
# and convert them (AutoGraph) takes seconds of each process that traces a task.
graph_function = functools.partial(tf.function, autograph=False)
