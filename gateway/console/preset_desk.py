"""Preset files as the console edits them."""

from agent_core.tools.registry import Registry
from gateway.settings.settings import Settings


class PresetDesk:
    """Reads, checks and writes the operator's preset files."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
