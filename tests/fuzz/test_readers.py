"""Whatever a reader is given, it gives a value or says in one kind of error what is wrong: soon, and in little memory.

2,000 texts are read in the suite and 100,000 with `HYPOTHESIS_PROFILE=thorough`.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.documents import documents
from fuzz.limits import TooSlow, check, limited
from fuzz.readers import READERS, Reader, read_settings, some_settings
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import load

EXAMPLES: Final = 20 * settings.default.max_examples // len(READERS) if settings.default else 200
"""Of each reader: 2,000 in all where a property has 100, and 100,000 where it has 5,000."""


@pytest.fixture(scope="module", autouse=True)
def _only_garbage_of_readers() -> Iterator[None]:
    """What other tests keep alive is not looked through again and again while a reader is timed."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("name", READERS)
def test_every_reader_gives_a_value_or_says_what_is_wrong(name: str) -> None:
    reader = READERS[name]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(documents(reader.seeds(), reader.tokens))
    def any_text_is_read_or_refused(text: str) -> None:
        check(reader, text)

    any_text_is_read_or_refused()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("seed", [0, -1])
def test_the_documents_that_are_changed_can_be_read(name: str, seed: int) -> None:
    """Else only refusals would be tested."""
    reader = READERS[name]
    if name == "names and settings":
        for text in some_settings():
            read_settings(text)
    else:
        reader.read(reader.seeds()[seed])


def test_the_limits_are_kept() -> None:
    def forever(_: str) -> None:
        while True:
            pass

    with pytest.raises(TooSlow):
        check(Reader(forever, tuple, ()), "")
    with pytest.raises(ZeroDivisionError):
        check(Reader(lambda _: 1 // 0, tuple, ()), "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("machine files in JSON", '{"' + '\\"' * 20_000),
        ("machine files in JSON", '{"' + "k" * 90_000 + '": [' + "1," * 5_000 + "1]}"),
        ("machine files", "a: " + "[" * 50_000),
        ("machine files", "a: b\n" * 10_000),
        ("machine files", "".join(f"a{i}: {{\n" for i in range(10_000))),
        ("machine files", "? " * 20_000),
        ("machine files", "- " * 20_000),
        ("formulas", " <-> ".join(f"p{i}" for i in range(20))),
        ("formulas", " <-> ".join(["a"] * 20)),
        ("formulas", " -> ".join(["a"] * 20_000)),
        ("formulas", "!" * 90_000 + "a"),
        ("formulas", " & ".join(f"(a{i} | b{i})" for i in range(3_000))),
        ("formulas", '"' + "\\" * 90_000),
        ("tasks", " & ".join(f"p{i}" for i in range(12))),
        ("tasks", " ; ".join(["a"] * 10_000)),
        ("tasks", "[" + " <-> ".join(f"p{i}" for i in range(20)) + "]"),
        ("trace files", "[" * 90_000),
        ("trace files", '{"labels": [' + '["a"],' * 15_000 + "[]]}"),
        ("words", "{" * 90_000),
        ("words", " " * 90_000 + "{"),
        ("words", "," * 90_000),
        ("automata", "/*" * 45_000),
        ("automata", '"' + "\\" * 90_000),
        ("automata", "HOA: v1 " + "!" * 90_000),
        ("names and settings", "\\" * 90_000),
        ("names and settings", "[" * 90_000),
        ("names and settings", '{"format": ' + "1" * 5_000 + "}"),
        *(
            ("studies", f'[[runs]]\nname = "a"\ncommand = "flat"\nsettings = ["op"]\nmethods = ["jirp"]\n{line}')
            for line in (
                "steps = " + "9" * 4_300,
                "steps = " + "9" * 4_301,
                "steps = " + "9" * 400,
                "steps = 0x" + "f" * 9_000,
                "name2 = 0x" + "f" * 9_000,
                "set = [0x" + "f" * 9_000 + "]",
                "title = 0x" + "f" * 9_000,
                "seeds = " + "9" * 100,
                "seeds = 99999999999",
                "instances = " + "9" * 100,
                "max_steps = " + "9" * 30,
                "stop_at = " + "9" * 4_000,
            )
        ),
        ("studies", "title = 0x" + "f" * 9_000),
        ("studies", "a = " + "[" * 90_000),
        ("results", '{"format": 1, "key": []}'),
        ("results", '{"format": 1, "key": {}}'),
        ("results", '{"format": ' + "[" * 90_000),
        ("diagnoses", "[" * 90_000),
        ("diagnoses", "1" * 5_000),
    ],
    ids=lambda value: str(value)[:30],
)
def test_texts_that_are_made_to_hurt_do_not(name: str, text: str) -> None:
    check(READERS[name], text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, limited():
        path = Path(folder, "machine.json")
        path.write_bytes(data)
        try:
            load(path)
        except RewardMachineError as problem:
            assert str(problem)
