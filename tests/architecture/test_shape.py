"""The shape of the code: sizes, names, empty package files, and nothing of one machine in the tree."""

import ast
import re
import statistics

import pytest

from tests.architecture.sources import ROOT, python_files, tracked

FILE_LINES = 300
FUNCTION_LINES = 50
TOLERANCE = 1.25  # "about": beyond this a file says in its docstring why it reads better whole
EXCUSE = re.compile(r"reads? better whole|one file on purpose|kept whole", re.IGNORECASE)

MIGRATIONS = ("gateway", "migrations", "versions")
NO_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}
MACHINE = re.compile(
    r"(?<![\w.])/(?:work|home/\w+|root|Users/\w+|shared)/|\.\./shared|pypi\.\w+\.internal"
)
TEXTS = {
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".txt",
    ".css",
    ".js",
    ".html",
    ".cfg",
    ".service",
    "",
}


def functions(tree: ast.AST) -> list[tuple[str, int]]:
    return [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_sizes_are_those_of_code_that_is_easy_to_live_in(capsys: pytest.CaptureFixture[str]):
    """Measures and prints; a file or function far over the size must say why."""
    files, sizes, far = [], [], []
    for path in python_files():
        source = (ROOT / path).read_text("utf-8")
        tree = ast.parse(source)
        lines = source.count("\n")
        excused = EXCUSE.search(ast.get_docstring(tree) or "")
        files.append((lines, str(path)))
        if lines > FILE_LINES * TOLERANCE and not excused:
            far.append(f"{path}: {lines} lines")
        if path.parts[:3] == MIGRATIONS:
            continue  # a migration is one list of statements
        for name, length in functions(tree):
            sizes.append(length)
            if length > FUNCTION_LINES * TOLERANCE and not excused:
                far.append(f"{path}: {name} has {length} lines")
    ordered = sorted(sizes)
    with capsys.disabled():
        largest, where = max(files)
        over = sum(size > FUNCTION_LINES for size in sizes)
        print(
            f"\n  {len(files)} files, {sum(n for n, _ in files)} lines: median "
            f"{statistics.median(n for n, _ in files):.0f}, largest {largest} ({where}), "
            f"{sum(n > FILE_LINES for n, _ in files)} over {FILE_LINES}\n"
            f"  {len(sizes)} functions: median {statistics.median(sizes):.0f}, "
            f"p90 {ordered[len(ordered) * 9 // 10]}, largest {ordered[-1]}, {over} over {FUNCTION_LINES}"
        )
    assert not far
    assert statistics.median(sizes) < 10


def test_files_are_named_after_concepts():
    assert not [str(p) for p in python_files() if p.stem in NO_NAMES]


def test_package_files_hold_no_code():
    assert not [
        str(p) for p in python_files() if p.name == "__init__.py" and (ROOT / p).stat().st_size
    ]


def test_broad_excepts_are_rare():
    """ruff (BLE001) wants a reason, a re-raise or a logged error at each; here they are counted."""
    sources = [(ROOT / path).read_text("utf-8") for path in python_files()]
    broad = sum(len(re.findall(r"except (?:Base)?Exception\b", source)) for source in sources)
    assert broad / sum(source.count("\n") for source in sources) < 0.002


def test_nothing_of_one_machine_is_in_the_tree():
    found = []
    for path in tracked():
        if path.suffix not in TEXTS or path.name == "test_shape.py":
            continue
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path}:{number}: {line.strip()[:80]}")
    assert not found


@pytest.mark.parametrize(
    "name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"]
)
def test_the_repository_has(name: str):
    assert (ROOT / name).stat().st_size > 200
