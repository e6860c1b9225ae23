"""All metadata lives in pyproject.toml; this file lets tools that expect a setup.py find one."""

from setuptools import setup

setup()
