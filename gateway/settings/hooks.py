"""The settings of incoming hooks: what a program may post, how it proves itself, and whose turn that begins."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, SecretStr

from gateway.settings.fields import PersonId, Section, chat_id, fault

SHORTEST = 16  # letters: a guessed secret lets strangers spend the person's budget
HookName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


def _secret(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < SHORTEST:
        cure = 'write at least 16 random letters, as "${NAME}" from the environment'
        raise fault("is too short to prove who posts", cure)
    return value


class Hook(Section):
    """One hook, at POST /hooks/NAME.

    `auth`: how a post proves itself. standard: Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature);
    github: X-Hub-Signature-256; bearer: the secret itself as a bearer token; body: the secret as the field `token` of a
    JSON object, for services that can set no header. `to` null: the chat in which the person wrote last. `say` begins
    the turn, as if `as` had written it; `{field}` and `{field.below}` are plain values of a JSON body.

    `window_s`: how old a signed post may be, and how long the same body of an unsigned one counts as one.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=False
    )

    secret: Annotated[SecretStr, AfterValidator(_secret)]
    auth: Literal["standard", "github", "bearer", "body"] = "standard"
    to: Annotated[str | None, AfterValidator(chat_id)] = None
    preset: Annotated[str, Field(min_length=1)] | None = None
    say: Annotated[str, Field(min_length=1, max_length=4_000)] = (
        "Tell me what has come in, and what it means for me."
    )
    person: Annotated[PersonId, Field(alias="as")]
    window_s: Annotated[int, Field(ge=10, le=3_600)] = 300
    max_bytes: Annotated[int, Field(ge=1, le=262_144)] = 16_384
    per_minute: Annotated[int, Field(ge=1, le=1_000)] = 30
