"""Shapes of records, compared with the annotations of their fields: an axis has one length in all of them."""

from __future__ import annotations

from typing import Any, get_type_hints

from jaxtyping import AbstractArray, jaxtyped


def check_record(record: Any, batch: str = "") -> None:
    """Compares the arrays of a named tuple with its annotations.

    Functions are checked when they are called, but named tuples are not: they also hold batches, and whatever JAX
    puts into them while it looks at their structure.

    Args:
        record: A named tuple. Fields that are not annotated as arrays are left out.
        batch: Axes that come before those of the annotations, such as "N" for the states of N hierarchies.

    Raises:
        TypeError: An array has another shape or type than its annotation, or an axis has two lengths.
    """
    with jaxtyped("context"):
        for name, hint in get_type_hints(type(record)).items():
            if not (isinstance(hint, type) and issubclass(hint, AbstractArray)):
                continue
            expected = hint.dtype[hint.array_type, f"{batch} {hint.dim_str}"]
            value = getattr(record, name)
            if not isinstance(value, expected):
                raise TypeError(f"{type(record).__name__}.{name} is {value.dtype}{list(value.shape)}, not {expected}")
