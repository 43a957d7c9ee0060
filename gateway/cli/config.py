"""Which settings a command uses: `-c FILE`, SWARMGATE_CONFIG, ./swarmgate.yaml, or the embedded defaults."""

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.settings.settings import Settings, load

VARIABLE = "SWARMGATE_CONFIG"
FILE = "swarmgate.yaml"


def find(
    option: Path | None, env: Mapping[str, str] = os.environ, *, here: bool = True
) -> Path | None:
    """The settings file, or None for the embedded defaults. `here`: whether ./swarmgate.yaml counts."""
    if option is not None:
        return option
    if named := env.get(VARIABLE):
        return Path(named).expanduser()
    return Path(FILE) if here and Path(FILE).exists() else None


def settings_for(option: Path | None) -> Settings:
    """The settings of an administrative command. Raises SettingsError."""
    os.umask(0o077)  # whatever a command makes in the data folder is the user's own
    return load(find(option), os.environ)
