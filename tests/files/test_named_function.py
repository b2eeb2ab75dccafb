"""Functions by name: which have one, and what is said where a name leads nowhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lhrm import yards
from lhrm.yards import Yard
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.named_function import name_of, named_function


def test_functions_have_names_if_others_can_find_them() -> None:
    assert name_of(yards.make_ab) == "lhrm.yards:make_ab"
    assert name_of(Yard) == "lhrm.yards:Yard"
    assert name_of(Yard.__new__(Yard).reset) is None
    assert name_of(lambda: 0) is None
    assert named_function("lhrm.yards:make_ab", "it") is yards.make_ab


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("make", "it is named as module:function, not 'make'"),
        ("no_such_module:make", r"it cannot be found as no_such_module:make \(ModuleNotFoundError"),
        ("lhrm.yards:mak", r"it cannot be found as lhrm.yards:mak \(AttributeError"),
        ("lhrm.yards:STEPS", "it cannot be made: lhrm.yards:STEPS is not a function"),
    ],
)
def test_names_that_lead_nowhere_are_said(name: str, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        named_function(name, "it")


def test_a_line_says_which_module_is_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "brand_new_yard.py").write_text("def make():\n    return 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert named_function("brand_new_yard:make", "the environment of 'x'")() == 7
    assert capsys.readouterr().err == "importing brand_new_yard, for the environment of 'x' (brand_new_yard:make)\n"
    sys.modules.pop("brand_new_yard")
