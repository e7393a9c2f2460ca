"""Packs a wheel that carries the program: packaging/wheel.py BINARY --tag TAG --version VERSION --out FOLDER.

Like the wheels of ruff and uv it has the program among its scripts, one wheel for each platform, and needs nothing
else. Beside it are the Python packages of runtimes/python, whose pyproject.toml says everything about them: what they
import (torch and the rest) are extras. Only the standard library is used, and the same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import stat
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "runtimes" / "python"


def main() -> None:
    """Writes the wheel and prints its path."""
    parser = argparse.ArgumentParser(description="Packs a wheel that carries the program.")
    parser.add_argument("binary", type=Path)
    parser.add_argument("--tag", required=True, help="platform tags, joined by dots, such as win_amd64")
    parser.add_argument("--version", required=True, help="by the rules of PEP 440")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text("utf-8"))["project"]
    name = f"{project['name']}-{asked.version}"
    info = f"{name}.dist-info"
    files = {member: (path.read_bytes(), False) for member, path in sources().items()}
    script = "assay.exe" if asked.tag.startswith("win") else "assay"
    files[f"{name}.data/scripts/{script}"] = (asked.binary.read_bytes(), True)
    files[f"{info}/METADATA"] = (metadata(project, asked.version).encode(), False)
    files[f"{info}/WHEEL"] = (wheel(asked.tag).encode(), False)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), False)
    files[f"{info}/RECORD"] = (record(files, f"{info}/RECORD").encode(), False)
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"{name}-py3-none-{asked.tag}.whl"
    pack(path, files)
    print(path)


def sources() -> dict[str, Path]:
    """The files of the Python packages by their place in the wheel; as in setup.py, assay.data is the catalogue's."""
    found: dict[str, Path] = {}
    for package in ("assay", "assay_runner"):
        for path in (PYTHON / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found[path.relative_to(PYTHON).as_posix()] = path
    for path in (ROOT / "internal" / "catalog" / "data").glob("*.json"):
        found[f"assay/data/{path.name}"] = path
    return found


def metadata(project: dict, version: str) -> str:
    """METADATA, with README.md as the description."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"Requires-Dist: {needed}" for needed in project.get("dependencies", [])]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {needed} ; extra == '{extra}'" for needed in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text("utf-8")]
    return "\n".join(lines)


def wheel(tag: str) -> str:
    """The file WHEEL: each of the tags has a line of its own."""
    lines = ["Wheel-Version: 1.0", "Generator: assay", "Root-Is-Purelib: false"]
    return "\n".join([*lines, *(f"Tag: py3-none-{one}" for one in tag.split("."))]) + "\n"


def record(files: dict[str, tuple[bytes, bool]], itself: str) -> str:
    """The file RECORD: every file with its hash and its size."""
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{itself},,\n"


def pack(path: Path, files: dict[str, tuple[bytes, bool]]) -> None:
    """Writes the archive in a fixed order, as of SOURCE_DATE_EPOCH; .dist-info comes last, as wheels should have it."""
    at = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            data, runs = files[name]
            member = zipfile.ZipInfo(name, at)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3  # so that the mode counts, whatever packs it
            member.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
            archive.writestr(member, data, compresslevel=9)


if __name__ == "__main__":
    main()
