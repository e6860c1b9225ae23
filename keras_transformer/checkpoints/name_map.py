"""Weights by two names: where a model of ours keeps them, and what a checkpoint calls them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformer.checkpoints.tensor_files import TensorFiles, some_names


class Place(NamedTuple):
    """Where a model keeps a tensor."""

    part: str
    """The model's attribute under which it lies: "bert", "pooler", ..."""
    variables: tuple[Any, ...]
    """One variable, or several that are one tensor there: side by side on our last axis."""
    transposed: bool
    """Kernels of dense layers are [inputs, outputs] here and [outputs, inputs] there."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor in a checkpoint."""
        *others, _ = self.variables[0].shape
        shape = (*others, sum(variable.shape[-1] for variable in self.variables))
        return shape[::-1] if self.transposed else shape

    def assign(self, values: np.ndarray) -> None:
        """Gives the variables the values of the tensor in a checkpoint."""
        values = values.T if self.transposed else values
        ends = np.cumsum([variable.shape[-1] for variable in self.variables])
        parts = np.split(values, ends[:-1], axis=-1)
        for variable, part in zip(self.variables, parts, strict=True):
            variable.assign(part)

    def values(self) -> np.ndarray:
        """The tensor as a checkpoint has it, float32."""
        arrays = [keras.ops.convert_to_numpy(variable) for variable in self.variables]
        values = np.concatenate([array.astype("float32") for array in arrays], axis=-1)
        return np.ascontiguousarray(values.T if self.transposed else values)


@dataclass(frozen=True)
class NameMap:
    """The tensors of a family of models, as a table.

    Names with ``{layer}`` stand for one name a layer. What ends on "kernel" is transposed, unless
    `straight` says otherwise.
    """

    names: tuple[tuple[str | tuple[str, ...], str], ...]
    """The path of attributes from the model to the variable, and the tensor's name; several paths
    where several variables are one tensor there, side by side."""
    encoder: str
    """The attribute that holds the encoder, and the prefix of its tensors, which those of an
    encoder alone go without."""
    respelled: Mapping[str, str] = field(default_factory=dict)
    """How names ended in older checkpoints, and how they end now."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Tensors that repeat another one, where a checkpoint holds them at all."""
    ignored: frozenset[str] = frozenset()
    """Tensors that are no weights."""
    straight: tuple[str, ...] = ()
    """How names of kernels end that are [inputs, outputs] there as here."""

    def load(
        self, model: keras.Model, files: TensorFiles, layers: int, may_be_new: bool = False
    ) -> None:
        """Gives a built model the weights of a checkpoint.

        Args:
            model: one of our models; its weights are replaced.
            files: the checkpoint.
            layers: number of layers of the model.
            may_be_new: whether whole parts other than the encoder may be missing in the checkpoint
                and keep the weights that they have. A warning names them, and another one what
                the checkpoint holds for parts that the model does not have.

        Raises:
            ValueError: when a tensor is missing, unknown, of another shape, or no floating-point
                numbers.
        """
        found, copies = self._found(files, layers)
        wanted = self._places(model, layers)
        known = {theirs for _, theirs in self._expanded(layers)}
        if unknown := sorted(set(found) - known):
            raise ValueError(
                f"{files.directory} holds {len(unknown)} tensors that a model of {layers} layers "
                f"does not have: {some_names(unknown)}."
            )
        new = self._new(wanted, set(found)) if may_be_new else []
        if missing := sorted(set(wanted) - set(found) - set(new)):
            raise ValueError(
                f"{files.directory} lacks {len(missing)} of the {len(wanted)} tensors of a "
                f"{type(model).__name__}: {some_names(missing)}."
            )
        loaded = {name: place for name, place in wanted.items() if name in found}
        for name, place in loaded.items():
            if files.shape(found[name]) != place.shape:
                raise ValueError(
                    f"{files.directory}: {found[name]} has the shape {files.shape(found[name])}, "
                    f"but the model needs {place.shape}."
                )
        for copy, original in copies.items():
            if not np.array_equal(files.read(copy), files.read(found[original])):
                raise ValueError(
                    f"{files.directory}: {copy} differs from {found[original]}; the two are one "
                    "in our model."
                )
        for name, place in loaded.items():
            place.assign(files.read(found[name]))
        if new:
            warnings.warn(
                f"{files.directory} holds no {some_names(new)}: they start at random.",
                stacklevel=3,
            )
        if unused := sorted(set(found) - set(wanted)):
            warnings.warn(
                f"{files.directory} also holds {some_names(unused)}, which a "
                f"{type(model).__name__} does not have: left out.",
                stacklevel=3,
            )

    def tensors(self, model: keras.Model, layers: int, bare: bool) -> dict[str, np.ndarray]:
        """The weights of a built model as a checkpoint has them, in float32.

        Args:
            model: one of our models.
            layers: number of layers of the model.
            bare: whether the encoder's tensors go without their prefix.

        Raises:
            ValueError: when the model has weights that the table does not know.
        """
        places = self._places(model, layers)
        covered = {id(variable) for place in places.values() for variable in place.variables}
        if lost := [w.path for w in model.weights if id(w) not in covered]:
            raise ValueError(f"A checkpoint has no place for {some_names(lost)}.")
        tensors = {}
        for name, place in places.items():
            tensors[name.removeprefix(f"{self.encoder}.") if bare else name] = place.values()
        return tensors

    def _expanded(self, layers: int) -> list[tuple[tuple[str, ...], str]]:
        """The table with one row for each tensor."""
        return [
            (
                tuple(path.format(layer=layer) for path in _paths(ours)),
                theirs.format(layer=layer),
            )
            for ours, theirs in self.names
            for layer in _layers_of(theirs, layers)
        ]

    def _places(self, model: keras.Model, layers: int) -> dict[str, Place]:
        """Where the model keeps the tensors that it has."""
        has_head = hasattr(model, self.encoder)
        holder = model if has_head else SimpleNamespace(**{self.encoder: model})
        places = {}
        for paths, name in self._expanded(layers):
            part = paths[0].split(".")[0]
            if hasattr(holder, part):
                variables = tuple(_variable(holder, path) for path in paths)
                transposed = paths[0].endswith(".kernel") and not name.endswith(self.straight)
                places[name] = Place(part, variables, transposed)
        return places

    def _found(self, files: TensorFiles, layers: int) -> tuple[dict[str, str], dict[str, str]]:
        """Names in the files by names of the table; names of copies by those of their originals."""
        prefix = f"{self.encoder}."
        theirs = [name for _, name in self.names if name.startswith(prefix)]
        roots = {name.split(".")[1] for name in theirs}
        ignored = {n.format(layer=i) for n in self.ignored for i in _layers_of(n, layers)}
        found: dict[str, str] = {}
        for written in files:
            name = prefix + written if written.split(".")[0] in roots else written
            for old, now in self.respelled.items():
                if name.endswith(old):
                    name = name.removesuffix(old) + now
            if name in found:
                raise ValueError(
                    f"{files.directory} holds one tensor twice: {found[name]} and {written}."
                )
            if name not in ignored:
                found[name] = written
        copies = {}
        for copy, original in self.copies.items():
            if copy in found:
                written = found.pop(copy)
                if original in found:
                    copies[written] = original
                else:
                    found[original] = written
        return found, copies

    def _new(self, wanted: dict[str, Place], found: set[str]) -> list[str]:
        """The tensors of those parts, other than the encoder, of which nothing was found."""
        there = {place.part for name, place in wanted.items() if name in found}
        there.add(self.encoder)
        return sorted(name for name, place in wanted.items() if place.part not in there)


def _paths(ours: str | tuple[str, ...]) -> tuple[str, ...]:
    return (ours,) if isinstance(ours, str) else ours


def _layers_of(name: str, layers: int) -> range:
    """The layers for which a name stands."""
    return range(layers if "{layer}" in name else 1)


def _variable(holder: Any, path: str) -> Any:
    """What lies at the end of a path of attributes and indices."""
    for step in path.split("."):
        holder = holder[int(step)] if step.isdigit() else getattr(holder, step)
    return holder
