"""`swarmgate slack-manifest`."""

import json

from typer.testing import CliRunner

from gateway.cli.main import app


def test_the_manifest_is_all_that_is_printed_so_that_it_can_be_piped() -> None:
    made = CliRunner().invoke(app, ["slack-manifest", "--name", "Desk"])
    assert made.exit_code == 0
    found = json.loads(made.stdout)
    assert found["display_information"]["name"] == "Desk"
    assert found["settings"]["socket_mode_enabled"]


def test_a_public_address_makes_it_one_for_http() -> None:
    made = CliRunner().invoke(app, ["slack-manifest", "--public-url", "https://bot.example"])
    events = json.loads(made.stdout)["settings"]["event_subscriptions"]
    assert events["request_url"] == "https://bot.example/webhooks/slack/events"
