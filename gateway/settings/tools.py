"""What tools may reach and change beyond the gateway: the web, a workspace, a shell."""

from typing import Annotated

from pydantic import Field, model_validator

from gateway.settings.fields import Address, Section, fault

Port = Annotated[int, Field(ge=1, le=65_535)]


class WebTools(Section):
    """`search_url`: a SearXNG server that answers in JSON, asked instead of the engines of the extra `web`.

    `ports`: those that pages may be fetched from beside 80 and 443.
    """

    search_url: Address = None
    ports: tuple[Port, ...] = ()


class Tools(Section):
    """Tools with an effect on this machine.

    `exec_command`: whether a shell command may be asked for, in the web chat and the terminal; each is approved by the
    person and runs in a sandbox. `exec_command_on_platforms`: also in private chats of Telegram, Slack and Discord.
    `workspace_mb`: megabytes of each person's workspace.
    """

    exec_command: bool = False
    exec_command_on_platforms: bool = False
    workspace_mb: Annotated[int, Field(ge=1, le=100_000)] = 50
    web: WebTools = WebTools()

    @model_validator(mode="after")
    def _on_at_all(self) -> "Tools":
        if self.exec_command_on_platforms and not self.exec_command:
            cure = "set tools.exec_command: true as well, or remove it"
            raise fault("opens what is off", cure, "exec_command_on_platforms")
        return self
