"""Speed of keras_transformer beside other libraries, as ratios measured in one run."""
