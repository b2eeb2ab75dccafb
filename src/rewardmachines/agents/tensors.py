"""Trees of JAX arrays in safetensors files, which cannot execute code when they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]
"""Arrays on the host, by name."""
Notes = Mapping[str, int]
"""Numbers in a file beside its arrays, such as its format."""
_NOTES: Final = "rewardmachines"


def named(tree: Any, prefix: str) -> dict[str, Any]:
    """The leaves of a tree by their names: the prefix, and the path to the leaf.

    Args:
        tree: A tree of arrays.
        prefix: The first part of all names.
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {f"{prefix}/{jax.tree_util.keystr(path, simple=True, separator='/')}": leaf for path, leaf in leaves}


def pack(tree: Any, prefix: str) -> Arrays:
    """Copies the leaves of a tree to the host. Random keys become the numbers that they are made of.

    Args:
        tree: A tree of arrays.
        prefix: The first part of all names.
    """
    return {name: np.array(_numbers(leaf), order="C") for name, leaf in named(tree, prefix).items()}


def unpack(like: Any, arrays: Arrays, prefix: str, where: str, only: Callable[[str], bool] = bool) -> Any:
    """Builds a tree of arrays that were packed.

    Args:
        like: A tree with the shapes and types of the leaves.
        arrays: The arrays by name.
        prefix: The first part of the names of all leaves.
        where: The text with which error messages begin.
        only: Whether the leaf of a name is taken from the arrays; other leaves are those of `like`.

    Raises:
        RewardMachineError: An array is missing, or has another shape or type.
    """
    leaves = [_matched(name, leaf, arrays, where) if only(name) else leaf for name, leaf in named(like, prefix).items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def with_zeros(tree: Any) -> Any:
    """A tree of arrays in which zeros stand for leaves that are known by their shapes and types alone.

    They are made on the host: `jnp.zeros` would compile a program for every shape.
    """
    zeros = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x, tree)
    return jax.device_put(zeros)


def _is_key(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _numbers(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _matched(name: str, leaf: Any, arrays: Arrays, where: str) -> Any:
    expected = jax.eval_shape(_numbers, leaf)
    if name not in arrays:
        raise RewardMachineError(f"{where}: damaged, or of another version: '{name}' is missing")
    array = arrays[name]
    if array.shape != expected.shape or array.dtype != expected.dtype:
        raise RewardMachineError(
            f"{where}: damaged, or of another version: '{name}' is {array.dtype}{list(array.shape)}, "
            f"not {expected.dtype}{list(expected.shape)}"
        )
    numbers = jax.device_put(array, may_alias=False)  # a copy, so that its memory can be donated
    return jax.random.wrap_key_data(numbers) if _is_key(leaf) else numbers


def write_arrays(path: Path, arrays: Arrays, notes: Notes) -> None:
    """Replaces a file of arrays.

    Args:
        path: The file.
        arrays: The arrays by name.
        notes: Numbers that are kept beside them.
    """
    # All notes are one text, because safetensors would write several texts in any order.
    write_aside(path, safetensors.numpy.save(arrays, {_NOTES: json.dumps(notes)}))


def read_arrays(path: Path, only: Callable[[str], bool] = bool) -> tuple[Arrays, Notes]:
    """Reads a file of arrays.

    Args:
        path: The file.
        only: Whether the array of a name is read.

    Returns:
        The arrays by name, and the notes.

    Raises:
        RewardMachineError: The file is damaged, or of another version.
    """
    try:
        with safetensors.safe_open(str(path), framework="numpy") as file:
            arrays = {name: _tensor(file, name, path) for name in file.keys() if only(name)}  # noqa: SIM118
            text = (file.metadata() or {}).get(_NOTES, "{}")
    except safetensors.SafetensorError as problem:
        raise RewardMachineError(f"{path}: damaged, this is not a whole safetensors file ({problem})") from None
    return arrays, _notes(text, path)


def _notes(text: str, path: Path) -> Notes:
    notes = parse_json(text, f"{path}, notes")
    return notes if isinstance(notes, dict) else {}


def _tensor(file: Any, name: str, path: Path) -> np.ndarray[Any, np.dtype[Any]]:
    try:
        tensor: np.ndarray[Any, np.dtype[Any]] = file.get_tensor(name)
    except (AttributeError, KeyError, TypeError, ValueError):  # NumPy lacks some types, such as floats of 8 bits
        message = f"{path}: damaged, or of another version: '{name}' has a type of numbers that NumPy does not know"
        raise RewardMachineError(message) from None
    return tensor
