"""An SDK whose packages open name by name: what a start pays for, and that nothing is missing (DESIGN.md 10)."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.models.lazy_packages import gathering


def run(code: str, folder: Path | None = None) -> str:
    path = f"import sys; sys.path.insert(0, {str(folder)!r})\n" if folder else ""
    done = subprocess.run(
        [sys.executable, "-c", path + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    package = tmp_path / "vendor"
    types = package / "types"
    types.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from . import types\n"
        "from .client import Client\n"
        "from .extra import used, unused\n"
        "__all__ = ['Client']\n"
        "made = used()\n"
    )
    (package / "client.py").write_text("class Client: pass\n")
    (package / "extra.py").write_text("def used(): return 7\ndef unused(): return 8\n")
    (types / "__init__.py").write_text(
        "from __future__ import annotations\n"
        "from .heavy import Heavy as Heavy\n"
        "from .same import same as same\n"
        "from .light import Light as Lamp\n"
    )
    (types / "heavy.py").write_text("class Heavy: pass\n")
    (types / "same.py").write_text("def same(): return 'function'\n")
    (types / "light.py").write_text("class Light: pass\n")
    return tmp_path


OPEN = "from agent_core.models.lazy_packages import open_by_name; open_by_name('vendor')\nimport vendor, sys\n"


def test_a_name_is_loaded_when_it_is_asked_for_and_not_before(sdk: Path) -> None:
    code = OPEN + (
        "assert 'vendor.types.heavy' not in sys.modules\n"
        "assert vendor.types.Heavy.__module__ == 'vendor.types.heavy'\n"
        "from vendor.types import Lamp\n"
        "print(Lamp.__name__)"
    )
    assert run(code, sdk) == "Light"


def test_what_the_file_itself_needs_runs_at_import(sdk: Path) -> None:
    code = (
        OPEN
        + "assert 'vendor.client' in sys.modules\nprint(vendor.made, vendor.unused(), vendor.Client)"
    )
    assert run(code, sdk) == "7 8 <class 'vendor.client.Client'>"


def test_an_export_with_the_name_of_its_module_is_the_export(sdk: Path) -> None:
    """The submodule would take its place when another import loads it first."""
    assert run(OPEN + "import vendor.types.same\nprint(vendor.types.same())", sdk) == "function"


def test_an_unknown_name_is_an_attribute_error(sdk: Path) -> None:
    code = (
        OPEN + "try: vendor.types.nothing\nexcept AttributeError as e: print(e)\n"
        "try: from vendor.types import nothing\nexcept ImportError: print('no import')"
    )
    assert run(code, sdk) == "module 'vendor.types' has no attribute 'nothing'\nno import"


def test_a_file_of_another_form_waits_for_nothing() -> None:
    assert gathering("import os\nx = os.name\n").waits == {}
    assert gathering("from .a import *\n").waits == {}
    assert gathering("from .a import b\nif b: pass\n").waits == {}


def test_what_a_star_import_would_bring_is_loaded_by_name(sdk: Path) -> None:
    init = sdk / "vendor" / "__init__.py"
    init.write_text(init.read_text() + "from .types import *\n")
    code = OPEN + (
        "assert 'vendor.types.heavy' not in sys.modules\n"
        "assert vendor.Heavy is vendor.types.Heavy\n"
        "try: vendor.nothing\nexcept AttributeError as e: print(e)"
    )
    assert run(code, sdk) == "module 'vendor' has no attribute 'nothing'"


def test_a_star_import_that_the_file_needs_runs_at_import() -> None:
    assert gathering("from .a import *\nmade = used()\n").stars == ()
    assert gathering("from .a import *\nmade = len('a')\n").stars == (".a",)


def test_a_loop_over_all_names_goes_over_those_that_are_there(sdk: Path) -> None:
    """SDKs put their own name into what they export; what is loaded later keeps its home."""
    (sdk / "vendor" / "__init__.py").write_text(
        "from .client import Client\n"
        "from .types import Heavy\n"
        "__all__ = ['Client', 'Heavy', 'here']\n"
        "class here: pass\n"
        "for name in __all__:\n    locals()[name].__module__ = 'vendor'\n"
    )
    code = OPEN + (
        "assert 'vendor.types.heavy' not in sys.modules\n"
        "from vendor import *\n"
        "print(here.__module__, Heavy.__module__)"
    )
    assert run(code, sdk) == "vendor vendor.types.heavy"


BODY = """from __future__ import annotations
from .types import Heavy, Lamp
from .extra import used, unused
__all__ = ["first", "second"]
LIMIT = used()

def first(thing: Heavy, otherwise: int = LIMIT) -> Lamp | str:
    if otherwise > 100:
        return Lamp()
    return "no lamp"

class Maker:
    async def second(self) -> str:
        try:
            raise KeyError
        except KeyError:
            return [Heavy.__name__ for _ in range(1)][0]
"""


def test_imports_of_a_named_file_wait_for_the_bodies_that_use_them(sdk: Path) -> None:
    (sdk / "vendor" / "body.py").write_text(BODY)
    code = (
        "from agent_core.models.lazy_packages import Waiting, open_by_name\n"
        "open_by_name('vendor', Waiting(bodies=frozenset({'body'})))\n"
        "import asyncio, sys\nfrom vendor import body\n"
        "light, heavy = 'vendor.types.light', 'vendor.types.heavy'\n"
        "assert body.first(None) == 'no lamp' and not {light, heavy} & set(sys.modules)\n"
        "assert type(body.first(None, 101)).__name__ == 'Light' and heavy not in sys.modules\n"
        "assert asyncio.run(body.Maker().second()) == 'Heavy'\n"
        "print(body.unused(), body.LIMIT)"
    )
    assert run(code, sdk) == "8 7"


def test_a_function_of_ours_stands_in_until_more_of_its_file_is_wanted(sdk: Path) -> None:
    (sdk / "vendor" / "errors.py").write_text("def made(): return 'theirs'\nKINDS = 3\n")
    code = (
        "from agent_core.models.lazy_packages import Waiting, open_by_name\n"
        "open_by_name('vendor', Waiting(instead={'errors': {'made': lambda: 'ours'}}))\n"
        "from vendor.errors import made\nfrom vendor import errors\n"
        "try: errors.nothing\nexcept AttributeError as e: told = e\n"
        "print(made(), errors.KINDS, errors.made(), told)"
    )
    assert run(code, sdk) == "ours 3 theirs module 'vendor.errors' has no attribute 'nothing'"


@pytest.mark.parametrize(
    ("module", "root", "most"), [("anthropic", "anthropic", 100), ("openai", "openai", 250)]
)
def test_a_model_sdk_loads_a_part_of_its_types(module: str, root: str, most: int) -> None:
    """3,100 modules of Anthropic's SDK otherwise, 540 of the other: an upgrade that undoes it is seen.

    Each hundred of them costs a megabyte.
    """
    code = (
        f"import sys\nfrom agent_core.models.{module} import warm\nwarm()\n"
        f"print(sum(name.partition('.')[0] == '{root}' for name in sys.modules))"
    )
    assert int(run(code)) <= most
