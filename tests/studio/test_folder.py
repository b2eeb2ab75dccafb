"""The Studio as a folder: what is packed for Python in the browser is enough for every answer."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from rewardmachines.studio import actions
assert actions.__file__.startswith(sys.argv[1])
book = {"text": "(a & b) ; c"}
requests = [
    {"action": "examples"},
    {"action": "draw", "source": book},
    {"action": "step", "source": book, "trace": "a b c"},
    {"action": "minimize", "source": book},
    {"action": "compare", "source": book, "other": {"text": "ltlf: F(a & F b)"}},
    {"action": "induce", "traces": [{"labels": "a b", "outcome": "goal"}, {"labels": "b a"}]},
    *({"action": "export", "source": book, "to": kind} for kind in ("yaml", "svg", "dot", "hoa")),
]
print(json.dumps([actions.answer(request)["ok"] for request in requests]))
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def script() -> Any:
    spec = importlib.util.spec_from_file_location("studio_pages", ROOT / "benchmarks" / "studio_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_packed_rooms_answer_everything(tmp_path: Path) -> None:
    pages = script()
    for name, files in [("package.zip", pages.package_files()), ("yaml.zip", pages.yaml_files())]:
        pages.pack(tmp_path / name, files)
        with zipfile.ZipFile(tmp_path / name) as archive:
            archive.extractall(tmp_path / "python")
    words = [sys.executable, "-c", ASK, str(tmp_path / "python")]
    answers, loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(json.loads(answers)) == {True}
    assert not {"numpy", "matplotlib", "jax", "tyro", "rich", "starlette"} & set(json.loads(loaded))


def test_an_archive_is_a_function_of_what_is_in_it(tmp_path: Path) -> None:
    pages = script()
    for name in ("a.zip", "b.zip"):
        pages.pack(tmp_path / name, [("x.py", b"x = 1\n")])
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
