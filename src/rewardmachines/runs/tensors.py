"""Trees of JAX arrays in safetensors files. Nothing that is loaded can run code."""

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

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]
Notes = Mapping[str, int]
_NOTES: Final = "rewardmachines"


def named(tree: Any, prefix: str) -> dict[str, Any]:
    """The leaves, each by its path."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {f"{prefix}/{jax.tree_util.keystr(path, simple=True, separator='/')}": leaf for path, leaf in leaves}


def pack(tree: Any, prefix: str) -> Arrays:
    """Copies on the host; random keys as the numbers they are made of."""
    return {name: np.array(_numbers(leaf), order="C") for name, leaf in named(tree, prefix).items()}


def unpack(like: Any, arrays: Arrays, prefix: str, where: str, only: Callable[[str], bool] = bool) -> Any:
    """A tree of the shapes and types of `like`; leaves whose name is not wanted are those of `like`."""
    leaves = [_matched(name, leaf, arrays, where) if only(name) else leaf for name, leaf in named(like, prefix).items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _is_key(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _numbers(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _matched(name: str, leaf: Any, arrays: Arrays, where: str) -> Any:
    expected = jax.eval_shape(_numbers, leaf)
    if name not in arrays:
        raise RewardMachineError(f"{where}: damaged, or of another version: '{name}' is missing")
    found = arrays[name]
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise RewardMachineError(
            f"{where}: damaged, or of another version: '{name}' is {found.dtype}{list(found.shape)}, "
            f"not {expected.dtype}{list(expected.shape)}"
        )
    numbers = jnp.array(found, copy=True)  # of its own, so that it can be given away
    return jax.random.wrap_key_data(numbers) if _is_key(leaf) else numbers


def write_arrays(path: Path, arrays: Arrays, notes: Notes) -> None:
    """All notes in one text: safetensors would write several in any order."""
    write_aside(path, safetensors.numpy.save(arrays, {_NOTES: json.dumps(notes)}))


def read_arrays(path: Path, only: Callable[[str], bool] = bool) -> tuple[Arrays, Notes]:
    """Those whose name is wanted, and the notes."""
    try:
        with safetensors.safe_open(str(path), framework="numpy") as file:
            arrays = {name: _tensor(file, name, path) for name in file.keys() if only(name)}  # noqa: SIM118
            text = (file.metadata() or {}).get(_NOTES, "{}")
    except safetensors.SafetensorError as problem:
        raise RewardMachineError(f"{path}: damaged, this is not a whole safetensors file ({problem})") from None
    return arrays, _notes(text, path)


def _notes(text: str, path: Path) -> Notes:
    try:
        notes = json.loads(text)
    except (ValueError, RecursionError):  # ValueError: also for numbers with thousands of digits
        raise RewardMachineError(f"{path}: damaged, its notes are not JSON") from None
    return notes if isinstance(notes, dict) else {}


def _tensor(file: Any, name: str, path: Path) -> np.ndarray[Any, np.dtype[Any]]:
    try:
        tensor: np.ndarray[Any, np.dtype[Any]] = file.get_tensor(name)
    except (AttributeError, KeyError, TypeError, ValueError):  # NumPy has no such type, as those of 8 bits or fewer
        message = f"{path}: damaged, or of another version: '{name}' has a type of numbers that NumPy does not know"
        raise RewardMachineError(message) from None
    return tensor
