"""Lays out the Studio as a folder that any web server can serve: `make studio` fetches the parts and calls this.

The page is the one of the package. Python comes with it: Pyodide, the solvers of python-sat for Pyodide, six, the pure
Python of PyYAML, and the rooms of the package that the page needs. Nothing in the folder asks for anything elsewhere.

    python benchmarks/studio_pages.py build/studio-parts build/studio
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "src" / "rewardmachines"
ROOMS: Final = ("core", "drawing", "exchange", "files", "language", "learning", "library", "studio", "traces")
"""The rooms of the package that `studio.actions` needs."""
RUNTIME: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def lay_out(parts: Path, folder: Path) -> None:
    """Writes the page with all that it needs.

    Args:
        parts: The folder with Pyodide's package from npm and the wheels, one of each.
        folder: The folder to write; what is there already is removed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PACKAGE / "studio" / "page", folder)
    (runtime,) = parts.glob("pyodide-*.tgz")
    unpack_runtime(runtime, folder / "pyodide")
    archives = []
    for wheel in sorted(parts.glob("*.whl")):
        archives.append(f"python/{wheel.name.partition('-')[0]}.zip")
        pack(folder / archives[-1], members_of(wheel))
    pack(folder / "python" / "yaml.zip", yaml_files())
    pack(folder / "python" / "rewardmachines.zip", package_files())
    archives += ["python/yaml.zip", "python/rewardmachines.zip"]
    (folder / "engine.json").write_text(json.dumps({"kind": "pyodide", "archives": archives}) + "\n")


def unpack_runtime(archive: Path, folder: Path) -> None:
    """Writes the files of Pyodide that a page loads."""
    folder.mkdir()
    with tarfile.open(archive) as package:
        for name in RUNTIME:
            content = package.extractfile(f"package/{name}")
            assert content is not None, name
            (folder / name).write_bytes(content.read())


def members_of(wheel: Path) -> Iterable[tuple[str, bytes]]:
    """The modules of a wheel, without the programs that come with them."""
    with zipfile.ZipFile(wheel) as archive:
        return [(name, archive.read(name)) for name in archive.namelist() if ".data/" not in name]


def yaml_files() -> Iterable[tuple[str, bytes]]:
    """The modules of PyYAML that are Python: it does without the others."""
    spec = importlib.util.find_spec("yaml")
    assert spec is not None
    assert spec.origin is not None
    return [(f"yaml/{path.name}", path.read_bytes()) for path in sorted(Path(spec.origin).parent.glob("*.py"))]


def package_files() -> Iterable[tuple[str, bytes]]:
    """The files of the package that the page needs; the page itself is not among them."""
    chosen = [PACKAGE / "__init__.py"]
    for room in ROOMS:
        chosen += (path for path in sorted((PACKAGE / room).rglob("*")) if path.is_file())
    page = PACKAGE / "studio" / "page"
    kept = (path for path in chosen if page not in path.parents and "__pycache__" not in path.parts)
    return [(f"rewardmachines/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes()) for path in kept]


def pack(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Writes an archive that depends on nothing but what is in it."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]), Path(sys.argv[2]))
