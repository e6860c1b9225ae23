"""The contestants, one file a library, and the jobs they are given."""
