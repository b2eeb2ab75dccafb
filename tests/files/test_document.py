from __future__ import annotations

import time

import pytest

from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.files.document import parse_document


@pytest.mark.parametrize("text", ['{"' + '\\"' * 20_000, '{"a": ["' + '\\"' * 2_000_000, '{"' * 10 + '\\"' * 20_000])
def test_a_string_that_is_never_closed_is_looked_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(SyntaxProblem, match="this is not JSON"):
        parse_document(text, "f.json")
    assert time.process_time() - began < 5


def test_brackets_in_strings_do_not_nest() -> None:
    node = parse_document('{"a": "' + "[" * 100 + '\\"' + "[" * 100 + '"}', "f.json")
    assert len(node.mapping("it")["a"].text("a")) == 201
    with pytest.raises(SyntaxProblem, match="nested more than 20 deep"):
        parse_document('{"a": "]", "b": ' + "[" * 30 + "]" * 30 + "}", "f.json")
