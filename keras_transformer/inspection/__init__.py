"""Seeing inside: what a model attends to, step by step and over a training, as pages and figures."""
