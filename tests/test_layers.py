"""The shape of the program: imports point down only, every heavy library has one home and is imported late."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "harness"

# From the bottom up; a module may import from the rows above its own (docs/design.md shows the same picture).
LAYERS = [
    ["types", "errors", "progress", "stopwords"],
    ["ids", "statements", "vectors"],
    ["embedder"],
    ["bm25", "candidates", "fusion", "measures", "splits", "traffic", "postings"],
    ["formulas", "profiles", "inference", "maxscore"],
    ["engines", "shards"],
    ["choice", "drift", "exports", "parity", "charts"],
    ["hybrid"],
    ["systems"],
    ["files", "notebook", "analyzers"],
    ["tables", "chunks", "published", "answers"],
    ["collection"],
    ["yamlfile", "traps", "discover", "languages", "responses"],
    ["values"],
    ["blocks", "collection_blocks"],
    ["config", "backends"],
    ["keyword", "semantic", "space", "given", "database", "fields", "journal"],
    ["indexing", "spread", "cluster"],
    ["decide", "insight", "retrieve", "study", "propose"],
    ["indexes", "record", "importance", "live", "draws", "shared"],
    ["prepare", "workers"],
    ["folder", "latency", "runs", "findings"],
    ["sidebyside"],
    ["sentences"],
    ["page"],
    ["commands.judge", "commands.gate", "commands.check", "commands.init", "commands.cache", "commands.export"],
    ["commands.import_run", "commands.import_cranfield"],
    ["commands.report"],
    ["commands.tune", "commands.evaluate", "commands.profile", "commands.search", "commands.watch"],
    ["commands.reproduce", "commands.work"],
    ["printing", "completion"],
    ["terminal", "printing_data"],
    ["cli"],
    ["__main__"],
]
PURE = {module for row in LAYERS[:9] for module in row} | {"decide", "insight"}
HOMES = {
    "optuna": {"study", "journal", "importance", "draws", "shared", "workers"},
    "filelock": {"study"},
    "rank_bm25": {"keyword"},
    "Stemmer": {"analyzers"},
    "sentence_transformers": {"semantic"},
    "torch": {"semantic", "backends"},
    "transformers": {"semantic", "backends"},
    "openvino": {"backends"},
    "faiss": {"semantic", "given"},  # given: an index that was made elsewhere
    "tokenizers": {"semantic"},  # how long a text is to a model, without loading it
    "jinja2": {"page"},
    "markupsafe": {"page"},
    "plotly": {"notebook"},
    "pandas": {"record", "notebook"},
    "semantic_text_splitter": {"chunks"},
    "html_to_markdown": {"chunks"},
    "ahocorasick_rs": {"answers"},
    "ir_datasets": {"published"},
    "pyarrow": {"tables", "given"},
    "pydantic": {"config", "values", "blocks", "collection_blocks"},
    "yaml": {"yamlfile", "config", "record"},
    "psycopg": {"database"},
    "ray": {"cluster"},
    "typer": {"cli"},
    "rich": {"terminal"},
    "click": {"cli"},
    "scipy": {"inference", "profiles", "decide", "drift"},
}
LATE = {
    "ray",
    "psycopg",
    "ahocorasick_rs",
    "html_to_markdown",
    "ir_datasets",
    "pyarrow",
    "semantic_text_splitter",
    "jinja2",
    "markupsafe",
    "plotly",
    "rank_bm25",
    "Stemmer",
    "sentence_transformers",
    "torch",
    "transformers",
    "tokenizers",
    "faiss",
    "pandas",
    "rich",
}


def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "checks":  # copied out by `export --parity`, never imported
            continue
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if not name.endswith("__init__"):
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(tree: ast.Module) -> list[tuple[str, bool, bool]]:
    """Each imported name (`harness.x.y` or `library`), whether at the top of the module, whether only for types."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top, id(node) in for_types) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            whole = node.module in ("harness", "harness.commands")
            names = [f"{node.module}.{alias.name}" for alias in node.names] if whole else [node.module]
            found += [(name, id(node) in top, id(node) in for_types) for name in names]
    return found


def test_every_module_has_a_layer() -> None:
    assert set(modules()) == {module for row in LAYERS for module in row}


@pytest.mark.parametrize("module", [module for row in LAYERS for module in row])
def test_imports_point_down_only(module: str) -> None:
    level = {name: i for i, row in enumerate(LAYERS) for name in row}
    for name, _, _ in imports(modules()[module]):
        if name.startswith("harness."):
            assert level[name.removeprefix("harness.")] < level[module], f"{module} imports {name}"


def test_libraries_stay_in_their_homes() -> None:
    for module, tree in modules().items():
        for name, _, _ in imports(tree):
            library = name.split(".")[0]
            assert module in HOMES.get(library, {module}), f"{module} imports {library}, whose home is {HOMES[library]}"


def test_pure_modules_import_arrays_and_the_standard_library_only() -> None:
    allowed = set(sys.stdlib_module_names) | {"numpy", "scipy", "harness"}
    for module in PURE:
        assert {name.split(".")[0] for name, _, _ in imports(modules()[module])} <= allowed, module


def test_no_number_goes_through_blas() -> None:
    """BLAS adds in an order that depends on the processor. In profiles the matrices are sparse, and scipy adds itself."""
    for module, tree in modules().items():
        products = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)]
        assert len(products) == (2 if module == "profiles" else 0), module
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not called & {"dot", "matmul", "vdot", "inner", "tensordot"}, module


def test_heavy_libraries_are_imported_late() -> None:
    for module, tree in modules().items():
        for name, top, for_types in imports(tree):
            assert not top or for_types or name.split(".")[0] not in LATE, f"{module} imports {name} at its top"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from harness.cli import run; code = run(['--help']);"
        "heavy = {'numpy', 'scipy', 'optuna', 'pandas', 'torch', 'faiss', 'pydantic', 'yaml'} & set(sys.modules);"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr


def test_every_dependency_names_the_module_that_needs_it() -> None:
    text = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("dependencies = [", 1)[1].split("]\n", 1)[0]
    for line in block.strip().splitlines():
        named = [word.rstrip(":,") for word in line.partition("#")[2].split() if word.startswith("harness/")]
        everywhere = "everywhere" in line
        assert named or everywhere, f"say which module needs it: {line.strip()}"
        assert all((PACKAGE.parent / path).is_file() for path in named), line
