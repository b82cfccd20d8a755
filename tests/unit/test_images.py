"""The Dockerfiles: plain base images, what they copy exists, nobody is root, and the packages are those of the lock."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((CHECKOUT / "infra").glob("*/Dockerfile"))
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


def instructions(path: Path) -> list[tuple[str, str]]:
    """(instruction, arguments), with continued lines joined."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def extras(path: Path) -> set[str]:
    return set(re.findall(r"--extra (\w+)", path.read_text()))


def test_there_is_an_image_for_each_of_the_two_environments() -> None:
    assert {path.parent.name: extras(path) for path in DOCKERFILES} == {
        "gpu": {"cpu", "ray", "serving"},
        "platform": {"cpu", "platform", "ray", "serving"},
    }


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_dockerfile_names_what_exists_and_ends_without_root(path: Path) -> None:
    found = instructions(path)
    assert {arguments.split()[0] for name, arguments in found if name == "FROM"} == {"python:3.11-slim-bookworm"}
    copied = [
        arguments.split()[0] for name, arguments in found if name == "COPY" and not arguments.startswith("--from")
    ]
    assert copied and all((CHECKOUT / source).exists() for source in copied)
    assert [arguments for name, arguments in found if name == "USER"] == ["50000:0"]
    assert not re.search(r"https?://|index-url|:latest", path.read_text()), "no host, and no version that moves"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_python_packages_come_by_the_lock(path: Path) -> None:
    for _, command in (found for found in instructions(path) if found[0] == "RUN"):
        if "uv pip install" in command:
            assert "--constraints infra/local/requirements.lock" in command or "--no-deps" in command
        if " pip install " in command.replace("uv pip install", ""):
            assert "--require-hashes" in command


def imported(module: str, seen: set[str]) -> set[str]:
    """Top-level names outside this repository that a module of ours imports when it is loaded, ours followed."""
    path = CHECKOUT.joinpath(*module.split(".")).with_suffix(".py")
    if module in seen or not path.exists():
        return set()
    seen.add(module)
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            is_ours = name.split(".")[0] in ("jobs", "mis_scoring", "schemas")
            found |= imported(name, seen) if is_ours else {name.split(".")[0]}
    return found - set(sys.stdlib_module_names)


def test_the_gpu_image_has_every_package_that_scoring_imports() -> None:
    seen: set[str] = set()
    parts = (
        "jobs.cli",
        "jobs.run_job",
        "jobs.score_round",
        "jobs.start_engines",
        "jobs.stop_engines",
        "jobs.end_orphan_engines",
        "mis_scoring.ray_data.pipeline",
        "mis_scoring.ray_data.score",
    )
    used = {name for part in parts for name in imported(part, seen)}
    declared = [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["cpu"],
        *PROJECT["optional-dependencies"]["ray"],
    ]
    has = {Requirement(text).name.replace("-", "_") for text in declared}
    assert {"deltalake", "pydantic_settings", "typer"} <= used <= has | {"pydantic"}, "pydantic comes with its settings"
