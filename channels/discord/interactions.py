"""Slash commands, buttons, menus and dialogs: acknowledged at once, then handed on.

Discord takes an acknowledgement for 3 seconds and delivers nothing twice. So it goes out beside the storing, not after
it, and what was asked is done even when it came too late.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord

from channels.base import Emit
from channels.discord.callbacks import (
    CHOICES,
    DEFER,
    DEFER_UPDATE,
    EPHEMERAL,
    MESSAGE,
    MODAL,
    Callbacks,
)
from channels.discord.commands import ASK, Complete, choices, text_of
from channels.discord.components import Forms, clipped, dialog, filled, pressed
from channels.discord.dialect import escaped
from channels.discord.inbound import Spot, author_of
from channels.discord.places import Places
from channels.discord.post import NO_MENTIONS
from channels.discord.send import Sender
from channels.errors import ChannelError
from channels.types import Address, Form, Inbound, Kind

log = logging.getLogger(__name__)

FindForm = Callable[[str], Awaitable[Form | None]]
# Of the 3 seconds: what asking somebody else may take before we answer without it.
ASKING = 1.5
SHOWN_QUESTION = 1800

Json = dict[str, Any]


class Interactions:
    """Turns interactions into Inbounds.

    Args:
        callbacks, places, sender, forms: the channel's.
        account: the bot's id.
        complete: finds what to offer while a person types.
        find_form: finds the form of a button that an earlier process sent.
    """

    def __init__(
        self,
        callbacks: Callbacks,
        places: Places,
        sender: Sender,
        forms: Forms,
        account: Callable[[], str],
        complete: Complete | None,
        find_form: FindForm | None,
    ) -> None:
        self._callbacks = callbacks
        self._places = places
        self._sender = sender
        self._forms = forms
        self._account = account
        self._complete = complete
        self._find_form = find_form

    async def handle(self, interaction: discord.Interaction, emit: Emit) -> None:
        """One interaction. Returns when it is durable, for those that are more than an offer of choices."""
        kind = interaction.type
        if kind is discord.InteractionType.autocomplete:
            await self._offer(interaction)
        elif kind is discord.InteractionType.application_command:
            await self._command(interaction, emit)
        elif kind is discord.InteractionType.component:
            await self._press(interaction, emit)
        elif kind is discord.InteractionType.modal_submit:
            await self._submit(interaction, emit)

    # Commands ----------------------------------------------------------------------------------------------------

    async def _command(self, interaction: discord.Interaction, emit: Emit) -> None:
        name, rest = text_of(data_of(interaction))
        spot = await self._spot(interaction)
        if name == ASK and not spot.private and spot.thread is None:
            await self._ask(interaction, spot, rest, emit)
            return
        text = rest if name == ASK else f"/{name} {rest}".strip()
        inbound = self._inbound(interaction, spot, text)
        ack = {"flags": EPHEMERAL}
        answered, _ = await asyncio.gather(self._answer(interaction, DEFER, ack), emit(inbound))
        if answered is not None:
            # The answer comes as a message of the bot; "thinking …" would stand beside it for ever.
            await self._callbacks.delete(interaction.application_id, interaction.token)

    async def _ask(
        self, interaction: discord.Interaction, spot: Spot, text: str, emit: Emit
    ) -> None:
        """A question in a channel: it is shown there, and a thread is opened at it."""
        shown = {
            "content": f"> {escaped(clipped(text, SHOWN_QUESTION))}"[:2000],
            "allowed_mentions": NO_MENTIONS,
        }
        root = root_of(await self._answer(interaction, MESSAGE, shown))
        if root is None:
            root = await self._shown_late(interaction, spot, shown)
        self._places.entitle(root, text)
        place = Spot(spot.chat, root, own=True)
        await emit(self._inbound(interaction, place, text))

    async def _shown_late(
        self, interaction: discord.Interaction, spot: Spot, shown: Json
    ) -> str | None:
        """The deadline was missed: the question becomes a message of the bot."""
        try:
            return str(await self._sender.post(int(spot.chat), shown, str(interaction.id)))
        except ChannelError as e:
            log.warning("a question in channel %s gets no thread: %s", spot.chat, e)
            return None

    async def _offer(self, interaction: discord.Interaction) -> None:
        name, typed = text_of(data_of(interaction))
        found: list[dict[str, str]] = []
        if self._complete is not None:
            try:
                async with asyncio.timeout(ASKING):
                    author = author_of(interaction.user, interaction.locale.value)
                    spot = await self._spot(interaction)
                    place = Address("discord", self._account(), spot.chat, spot.thread)
                    found = choices(await self._complete(name, typed, author, place))
            except Exception:  # an offer is never vital
                log.exception("no choices for /%s", name)
        await self._answer(interaction, CHOICES, {"choices": found})

    # Buttons and dialogs -----------------------------------------------------------------------------------------

    async def _press(self, interaction: discord.Interaction, emit: Emit) -> None:
        data = pressed(data_of(interaction))
        form = await self._form(data)
        if form is not None and await self._answer(interaction, MODAL, dialog(form)) is not None:
            return
        spot = await self._spot(interaction)
        inbound = self._inbound(interaction, spot, data, Kind.BUTTON)
        if form is not None:
            await emit(inbound)
            return
        await asyncio.gather(self._answer(interaction, DEFER_UPDATE), emit(inbound))

    async def _submit(self, interaction: discord.Interaction, emit: Emit) -> None:
        data = data_of(interaction)
        spot = await self._spot(interaction)
        custom_id = str(data.get("custom_id", ""))
        inbound = self._inbound(interaction, spot, custom_id, Kind.FORM, filled(data))
        await asyncio.gather(self._answer(interaction, DEFER_UPDATE), emit(inbound))

    async def _form(self, data: str) -> Form | None:
        found = self._forms.get(data)
        if found is not None or self._find_form is None:
            return found
        try:
            async with asyncio.timeout(ASKING):
                return await self._find_form(data)
        except Exception:  # without the form it is a press like any other
            log.exception("the form of a button was not found")
            return None

    # Shared ------------------------------------------------------------------------------------------------------

    async def _answer(
        self, interaction: discord.Interaction, kind: int, data: Json | None = None
    ) -> Json | None:
        return await self._callbacks.answer(interaction.id, interaction.token, kind, data)

    async def _spot(self, interaction: discord.Interaction) -> Spot:
        """Where it happened; what Discord tells with an interaction nearly always says."""
        channel = interaction.channel
        if channel is None:
            raise ValueError(f"interaction {interaction.id} has no channel")
        spot = await self._places.spot(channel)
        message = interaction.message
        if spot.thread is None and message is not None and message.reference is not None:
            # An answer for which no thread could be opened hangs on the question.
            question = message.reference.message_id
            return Spot(spot.chat, str(question) if question else None, spot.private)
        return spot

    def _inbound(
        self,
        interaction: discord.Interaction,
        spot: Spot,
        text: str,
        kind: Kind = Kind.MESSAGE,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> Inbound:
        message = interaction.message
        return Inbound(
            address=Address("discord", self._account(), spot.chat, spot.thread),
            key=str(interaction.id),
            author=author_of(interaction.user, interaction.locale.value),
            text=text,
            at=dt.datetime.now(dt.UTC),
            kind=kind,
            private=spot.private,
            message_id=str(message.id) if message is not None else None,
            callback=f"{interaction.application_id}/{interaction.token}",
            fields=fields,
        )


def data_of(interaction: discord.Interaction) -> Mapping[str, Any]:
    """What Discord says was chosen or typed."""
    return dict(interaction.data or {})


def root_of(answered: Json | None) -> str | None:
    """The id of the message that an answer became."""
    if not answered:
        return None
    found = answered.get("interaction", {}).get("response_message_id")
    return str(found) if found else None
