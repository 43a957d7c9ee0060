"""Interactions of the Discord twin: what a press or a command tells the bot, and the states of its answer."""

import time
from collections.abc import Callable

from aiohttp import web

from tests.twins.discord_rest import Rest, answer
from tests.twins.discord_routes import payload
from tests.twins.discord_rules import check_components, check_message, check_modal, numbered
from tests.twins.discord_state import (
    COMMAND,
    DM,
    EPHEMERAL,
    LOADING,
    ApiError,
    Interaction,
    Json,
    Stored,
    stamp,
)
from tests.twins.twin import CALL

COMMAND_USE, COMPONENT, TYPING, SUBMIT = 2, 3, 4, 5
MESSAGE, DEFER, DEFER_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
# Which answers each kind of interaction takes.
TAKES = {
    COMMAND_USE: {MESSAGE, DEFER, MODAL},
    COMPONENT: {MESSAGE, DEFER, DEFER_UPDATE, UPDATE, MODAL},
    TYPING: {CHOICES},
    SUBMIT: {MESSAGE, DEFER, DEFER_UPDATE, UPDATE},
}


class Interactions:
    """The endpoints and the states. `deadline` and `life` are seconds: of the first answer, of the token."""

    def __init__(self, rest: Rest, changed: Callable[[], None]) -> None:
        self._rest = rest
        self._world = rest.world
        self._changed = changed
        self.deadline, self.life = 3.0, 900.0

    def add_routes(self, app: web.Application) -> None:
        """Callbacks and the interaction's own webhook, which need no token of the bot."""
        add = app.router.add_route
        add("POST", "/api/v10/interactions/{id}/{token}/callback", self._wrapped(self._callback))
        hook = "/api/v10/webhooks/{application}/{token}"
        add("POST", hook, self._wrapped(self._followup))
        for method in ("GET", "PATCH", "DELETE"):
            add(method, hook + "/messages/{message}", self._wrapped(self._original))

    def start(
        self, kind: int, channel: str, user: str, data: Json, message: str | None = None
    ) -> Interaction:
        """A person does something: the bot is told."""
        ids = self._world.ids
        found = Interaction(ids.next(), f"tok{ids.next()}", kind, channel, user, data, message)
        self._world.interactions[found.token] = found
        place = self._world.channels[channel]
        body: Json = {
            "id": found.id,
            "application_id": self._world.bot["id"],
            "type": kind,
            "token": found.token,
            "version": 1,
            "data": data,
            "channel": self._world.channel_body(place),
            "channel_id": channel,
            "app_permissions": "1071698660929",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "context": 1 if place.type == DM else 0,
            "attachment_size_limit": 10 * 2**20,
            "locale": "en-US",
        }
        if place.guild is None:
            body["user"] = self._world.person(user)
        else:
            self._world.person(user)
            member = {**self._world.member_body(user), "permissions": "1071698660929"}
            guild = {"id": place.guild, "features": [], "locale": "en-US"}
            body |= {"guild_id": place.guild, "guild": guild, "member": member}
        if message is not None:
            body["message"] = place.messages[message].body
        self._rest.gateway.dispatch("INTERACTION_CREATE", body, place.guild)
        return found

    def _wrapped(
        self, handler: Callable[[web.Request, Interaction], web.Response]
    ) -> Callable[[web.Request], object]:
        async def handle(request: web.Request) -> web.Response:
            try:
                return handler(request, self._living(request.match_info["token"]))
            except ApiError as e:
                return answer(e.body(), e.status)
            finally:
                self._changed()

        return handle

    def _living(self, token: str) -> Interaction:
        found = self._world.interactions.get(token)
        if found is None:
            raise ApiError(404, 10062, "Unknown interaction")
        if time.monotonic() - found.born > self.life:
            raise ApiError(401, 50027, "Invalid Webhook Token")
        return found

    # The first answer --------------------------------------------------------------------------------------------

    def _callback(self, request: web.Request, found: Interaction) -> web.Response:
        call = request[CALL]
        kind, data = int(call.params["type"]), call.params.get("data") or {}
        if request.match_info["id"] != found.id:
            raise ApiError(404, 10062, "Unknown interaction")
        if found.answered is not None:
            raise ApiError(400, 40060, "Interaction has already been acknowledged.")
        if time.monotonic() - found.born > self.deadline:
            raise ApiError(404, 10062, "Unknown interaction")
        if kind not in TAKES[found.kind]:
            self._rest.violation(f"an interaction of kind {found.kind} was answered with {kind}")
            raise ApiError(400, 50035, "Invalid Form Body")
        made = self._first(found, kind, data)
        found.answered = kind
        if str(call.params.get("with_response", "")).lower() not in {"1", "true"}:
            return web.Response(status=204)
        flags = made.body["flags"] if made else 0
        about: Json = {"id": found.id, "type": found.kind}
        if made is not None:
            about |= {
                "response_message_id": made.id,
                "response_message_loading": bool(flags & LOADING),
                "response_message_ephemeral": bool(flags & EPHEMERAL),
            }
        reply: Json = {"interaction": about}
        if kind in {MESSAGE, UPDATE} and made is not None:
            reply["resource"] = {"type": kind, "message": made.body}
        return answer(reply)

    def _first(self, found: Interaction, kind: int, data: Json) -> Stored | None:
        if kind == CHOICES:
            found.choices = data["choices"]
            if len(found.choices) > 25 or any(len(c["name"]) > 100 for c in found.choices):
                raise ApiError(400, 50035, "Invalid Form Body")
        elif kind == MODAL:
            check_modal(data)
            found.modal = data
        elif kind == MESSAGE:
            check_message(data, 0)
            return self._message(found, data)
        elif kind == DEFER:
            flags = (data.get("flags") or 0) | LOADING
            return self._message(found, {"flags": flags})
        elif kind == UPDATE:
            check_components(data.get("components") or [])
            stored = self._world.channels[found.channel].messages[str(found.message)]
            stored.body = {**stored.body, **data, "components": numbered(data.get("components"))}
            return stored
        return None

    def _message(self, found: Interaction, data: Json) -> Stored:
        hidden = bool(data.get("flags", 0) & EPHEMERAL)
        body = {**data, "type": COMMAND}
        channel = self._world.channels[found.channel]
        stored = self._rest.new_message(
            channel, self._world.bot, body, by_bot=True, tell=not hidden
        )
        stored.only_for = found.user if hidden else None
        found.original = stored.id
        return stored

    # Later -------------------------------------------------------------------------------------------------------

    def _followup(self, request: web.Request, found: Interaction) -> web.Response:
        if found.answered is None:
            raise ApiError(404, 10015, "Unknown Webhook")
        data = payload(request[CALL])
        check_message(data, 0)
        found.followups.append(data)
        waiting = self._placeholder(found)
        stored = self._fill(waiting, data) if waiting else self._message(found, data)
        return answer(stored.body)

    def _original(self, request: web.Request, found: Interaction) -> web.Response:
        if found.answered is None or found.original is None:
            raise ApiError(404, 10015, "Unknown Webhook")
        stored = self._world.channels[found.channel].messages[found.original]
        if stored.deleted:
            raise ApiError(404, 10008, "Unknown Message")
        if request.method == "DELETE":
            stored.deleted = True
            return web.Response(status=204)
        if request.method == "PATCH":
            self._fill(stored, payload(request[CALL]))
        return answer(stored.body)

    def _placeholder(self, found: Interaction) -> Stored | None:
        stored = self._world.channels[found.channel].messages.get(str(found.original))
        return stored if stored and stored.body["flags"] & LOADING else None

    def _fill(self, stored: Stored, data: Json) -> Stored:
        check_message(data, 0, edit=True)
        body = {**stored.body, **{k: v for k, v in data.items() if k in {"content", "embeds"}}}
        flags = body["flags"] & ~LOADING
        stored.body = {**body, "flags": flags, "edited_timestamp": stamp()}
        return stored
