"""What pages read and act on: the running core, its settings, and what only the console keeps."""

from dataclasses import dataclass

from gateway.app import Core
from gateway.console.eval_room import EvalRoom
from gateway.console.log_ring import LogRing
from gateway.console.preset_desk import PresetDesk
from gateway.redact import Redactor
from gateway.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class House:
    """See the module. `redactor` is for what was stored before secrets were taken out.

    `began` is when the gateway did, monotonic.
    """

    core: Core
    settings: Settings
    logs: LogRing
    redactor: Redactor
    presets: PresetDesk
    evals: EvalRoom
    began: float

    @property
    def settled(self) -> Settings:
        """The settings with the default model that was found, where they leave it to the start."""
        models = self.settings.models.model_copy(update={"default": self.core.models.default})
        return self.settings.model_copy(update={"models": models})
