"""All that environments and labelling functions must not return, with what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from envs.rover import BOX, seen
from rewardmachines.envs.gymnasium.checks import EnvironmentFault

AT_2 = " (observation: array([2., 0.], dtype=float32))"
FORM = ", but it must return (observation, reward, terminated, truncated, info)"


def told_by(run: Callable[[], Any]) -> EnvironmentFault:
    """The error of a run, which must be told in one line."""
    with pytest.raises(EnvironmentFault) as caught:
        run()
    assert "\n" not in str(caught.value)
    return caught.value


def one_line(value: Any) -> str:
    line = " ".join(repr(value).split())
    return line if len(line) <= 80 else f"{line[:80]}…"


LABELS_REFUSED = [
    ("left", "the text 'left': return a set, such as {'left'}"),
    (None, "None: return a set of propositions, set() where none is true"),
    ({"lefft"}, "'lefft', which is not among the propositions (left, right); did you mean 'left'?"),
    (["up"], "'up', which is not among the propositions (left, right)"),
    ({"left", 3}, "{}, in which 3 is no string but of type int"),
    ([["left"]], "[['left']], in which ['left'] is no string but of type list"),
    ((True, False), "(True, False), in which True is no string but of type bool"),
    ({"left": 1}, "a dict in which 'left' is 1: give True or False for each proposition"),
    ({"left": None}, "a dict in which 'left' is None: give True or False for each proposition"),
    ({"left": np.array([True])}, "a dict in which 'left' is array([ True]): give True or False for each proposition"),
    ({"rigth": False}, "'rigth', which is not among the propositions (left, right); did you mean 'right'?"),
    ({0: True}, "{0: True}, in which 0 is no string but of type int"),
    (
        np.array([True, False]),
        "a NumPy array, array([ True, False]), which could mean anything: return the set of propositions that are "
        "true, or a dict of booleans",
    ),
    (
        np.array(["left"]),
        "a NumPy array, array(['left'], dtype='<U4'), which could mean anything: return the set of propositions that "
        "are true, or a dict of booleans",
    ),
    (True, "True, of type bool: return a set of propositions"),
    (7, "7, of type int: return a set of propositions"),
    (b"left", "b'left', of type bytes: return a set of propositions"),
]

LABELS_ALLOWED = [
    ({"left"}, {"left"}),
    (frozenset({"left", "right"}), {"left", "right"}),
    (["left", "left"], {"left"}),
    (("right",), {"right"}),
    ((), set()),
    ({}, set()),
    ({"left": False}, set()),
    ({"left": False, "right": True}, {"right"}),
    ({"left": np.bool_(True), "right": np.False_}, {"left"}),
    ([np.str_("left")], {"left"}),
    ({"left": 0}.keys(), {"left"}),
]


def at_2(returned: Any) -> Callable[[Any], Any]:
    """A labelling function that returns something else at the second step."""
    return lambda observation: returned if observation[0] == 2 else set()


def space_of(*shape: int, low: float = -10, high: float = 10, dtype: Any = np.float32) -> spaces.Box:
    return spaces.Box(low, high, shape, dtype)


WHOLE = "but the space has the whole numbers 0 to 8"
OBSERVATIONS_REFUSED: list[tuple[spaces.Space[Any], Any, str]] = [
    (BOX, seen(np.nan), "number 0 is nan, which is not finite"),
    (BOX, np.array([0, -np.inf]), "number 1 is -inf, which is not finite"),
    (BOX, np.array([0, 1e39]), "number 1 is 1e+39, which is too large for float32"),
    (BOX, np.zeros(3, np.float32), "its shape is (3,), but that of the space is (2,)"),
    (BOX, np.float32(0), "its shape is (), but that of the space is (2,)"),
    (BOX, None, "it is None, but the space has arrays of float32"),
    (BOX, "far", "it is of type str, but the space has arrays of float32"),
    (BOX, [[0], [0, 1]], "it is of type list, but the space has arrays of float32"),
    (BOX, np.zeros(2, complex), "it is an array of complex128 of shape (2,), but the space has arrays of float32"),
    (BOX, (seen(0), {}), "it is of type tuple, but the space has arrays of float32"),
    (space_of(3, 3), np.full((3, 3), np.nan), "number (0, 0) is nan, which is not finite"),
    (space_of(40), np.full(40, np.inf, np.float32), "number 0 is inf, which is not finite"),
    (space_of(2, dtype=np.float16), np.full(2, np.nan, np.float16), "number 0 is nan, which is not finite"),
    (space_of(2, low=0, dtype=np.uint8), np.zeros(2), "it is an array of float64 of shape (2,), but the space has arrays of uint8"),  # noqa: E501
    (space_of(2, low=0, dtype=np.uint8), np.array([0, 11], np.uint8), "number 1 is 11, but the space has numbers from 0 to 10 there"),  # noqa: E501
    (space_of(2, low=0, dtype=np.uint8), np.array([-1, 0]), "number 0 is -1, but the space has numbers from 0 to 10 there"),  # noqa: E501
    (spaces.Discrete(9), 9, "9 is out of the space, which has the whole numbers 0 to 8"),
    (spaces.Discrete(9), -1, "-1 is out of the space, which has the whole numbers 0 to 8"),
    (spaces.Discrete(9), 1.0, f"it is of type float, {WHOLE}"),
    (spaces.Discrete(9), np.float64(1), f"it is an array of float64, {WHOLE}"),
    (spaces.Discrete(9), np.array([1]), f"it is an array of int64 of shape (1,), {WHOLE}"),
    (spaces.Discrete(9), None, f"it is None, {WHOLE}"),
    (spaces.MultiDiscrete([9, 2]), np.array([2, 2]), "number 1 is 2, but the space has numbers from 0 to 1 there"),
    (spaces.MultiBinary(9), np.full(9, 7), "number 0 is 7, but the space has numbers from 0 to 1 there"),
    (spaces.Dict({"at": BOX}), seen(2), "it is of type ndarray, but the space has the parts 'at'"),
    (spaces.Dict({"at": BOX}), {}, "it has 0 parts, but the space has 'at'"),
    (spaces.Dict({"at": BOX}), {"here": seen(2)}, "it has no part 'at'"),
    (spaces.Dict({"at": BOX}), {"at": seen(np.nan)}, "in its part 'at', number 0 is nan, which is not finite"),
    (spaces.Tuple([BOX, spaces.Discrete(2)]), (seen(2),), "it has 1 parts, but the space has 0, 1"),
    (spaces.Tuple([BOX, spaces.Discrete(2)]), (seen(2), 2), "in its part 1, 2 is out of the space, which has the whole numbers 0 to 1"),  # noqa: E501
]  # fmt: skip


def failing(*_: Any) -> Any:
    raise RuntimeError("the motor\nis broken")


STEPS_REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda o, r, te, tr, i: (o, r, te, i), f"step returned 4 values (ndarray, float, bool, dict){FORM}{AT_2}"),
    (lambda *_: None, f"step returned None{FORM}"),
    (lambda o, *_: o, f"step returned one value of type ndarray{FORM}"),
    (lambda o, r, te, tr, i: (o, None, te, tr, i), f"the reward is None, which is no number{AT_2}"),
    (lambda o, r, te, tr, i: (o, "1", te, tr, i), f"the reward is '1', which is no number{AT_2}"),
    (lambda o, r, te, tr, i: (o, np.ones(1), te, tr, i), f"the reward is array([1.]), which is no number{AT_2}"),
    (lambda o, r, te, tr, i: (o, np.nan, te, tr, i), f"the reward is nan, which is not finite{AT_2}"),
    (lambda o, r, te, tr, i: (o, np.float32(np.inf), te, tr, i), f"the reward is inf, which is not finite{AT_2}"),
    (
        lambda o, r, te, tr, i: (o, r, None, tr, i),
        f"step returned None as terminated, which is neither True nor False{AT_2}",
    ),
    (lambda o, r, te, tr, i: (o, r, te, {}, i), f"step returned {{}} as truncated, which is neither True nor False{AT_2}"),  # noqa: E501
    (lambda o, r, te, tr, i: (o, r, te, tr, None), f"step returned None as info, which is no dict{AT_2}"),
    (failing, "step failed with RuntimeError: the motor is broken"),
]  # fmt: skip
RESETS_REFUSED: list[tuple[Callable[..., Any], str]] = [
    (
        lambda o, i: o,
        "reset returned one value of type ndarray, but it must return (observation, info), info being a dict",
    ),
    (lambda o, i: None, "reset returned None, but it must return (observation, info), info being a dict"),
    (
        lambda o, i: (o, 0.0, True, False, i),
        "reset returned 5 values (ndarray, float, bool, bool, dict), but it must return (observation, info), info "
        "being a dict",
    ),
    (
        lambda o, i: (o, None),
        "reset returned 2 values (ndarray, NoneType), but it must return (observation, info), info being a dict",
    ),
    (
        lambda o, i: (o * np.nan, i),
        "a wrong observation: number 0 is nan, which is not finite (observation: array([nan, nan], dtype=float32))",
    ),
    (failing, "reset failed with RuntimeError: the motor is broken"),
]
