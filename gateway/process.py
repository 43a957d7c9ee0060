"""The life of the process: start, serve, drain; and `chat`, which lives for one talk.

Order of a start: database, role, schema; presets and commands; channels and HTTP; then the walk over
what was left open. A stop drains in the reverse order: running turns get their grace, replies are
sent, then all is closed.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_core import words
from agent_core.finance import work
from channels.base import CanMenu, Channel
from channels.errors import ChannelError
from channels.manager import State
from channels.terminal.channel import TerminalChannel
from gateway.app import Core, build
from gateway.control import ControlServer
from gateway.front import front_of
from gateway.platforms import Wiring, bot_keys, platform_channels
from gateway.problems import OperatorError
from gateway.roles.house import duties_of, work_of
from gateway.settings.settings import Settings
from gateway.talk import converse, dial, near

log = logging.getLogger(__name__)
GRACE_S = 10.0
SEND_GRACE_S = 5.0


async def serve(settings: Settings, *, demo: bool, announce: Callable[[str], None]) -> int:
    """Run the gateway until SIGTERM or SIGINT. Returns the exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    core = await build(settings)
    try:
        await _serve(core, settings, announce, stop, demo=demo)
    finally:
        await core.mcp.stop()
        await core.models.close()
        await work.close()
        await core.roles.stop()
        await core.db.close()
        await asyncio.to_thread(core.sight.close)
    return 0


async def _serve(
    core: Core,
    settings: Settings,
    announce: Callable[[str], None],
    stop: asyncio.Event,
    *,
    demo: bool,
) -> None:
    terminal = TerminalChannel()
    platforms = platform_channels(settings, Wiring(core.db, core.commands, core.clock))
    front = front_of(core, settings, platforms, announce)
    control = ControlServer(
        settings.data_dir / "control.sock",
        terminal,
        core.senders.take_up,
        core.desk.decide,
        core.tasks.desk.look,
    )
    duties, beside = duties_of(core, settings), work_of(core)
    await front.server.start()
    try:
        await core.channels.start([*platforms, terminal, *front.channels], core.intake.accept)
        why = await core.models.settle()
        if why:
            announce(why)
        await _begin(core)
        await duties.start()
        await beside.start()
        await control.start()
        front.health.serving = True
        if front.web is not None:
            announce(await front.invite())
        if demo:
            announce("stop with Ctrl-C")
        tasks = [
            asyncio.create_task(_warm(core, platforms)),
            asyncio.create_task(_refusal(core, settings, stop)),
        ]
        await stop.wait()
        front.health.serving = False  # whoever sends us messages is told before they are refused
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, OperatorError):
                raise outcome
    finally:
        await control.stop()
        await core.recipes.stop()
        await core.presets.stop()
        await core.channels.leave()
        await duties.stop()
        await core.budgets.waiters.stop()
        await core.engine.stop(GRACE_S)
        await core.orders.stop()
        await beside.stop()
        await core.memory.stop()
        await core.senders.stop(SEND_GRACE_S)
        await core.channels.stop()
        await front.server.stop()


async def _begin(core: Core) -> None:
    """Take up what an earlier process left, then wait for what comes."""
    await core.senders.start()
    await core.engine.start()
    await core.memory.start()
    await core.presets.start()
    await core.recipes.start()


async def _refusal(core: Core, settings: Settings, stop: asyncio.Event) -> None:
    """Stop when a platform refuses the credentials of all its bots at the start; one of several is only reported.

    One that is refused later leaves the others alone as well.
    """
    await core.channels.wait_ready()
    bots = list(zip(bot_keys(settings), core.channels.states(), strict=False))
    alive = {seat.name for _, seat in bots if seat.state is not State.FAILED}
    for bot, seat in bots:
        if seat.state is not State.FAILED:
            continue
        key = {"slack": ".bot_token", "telegram": ".token", "discord": ".token"}
        place = f"{bot}{key.get(seat.name, '')}"
        if seat.name in alive:
            log.error("bot_refused", extra={"key": place, "reason": seat.reason})
            continue
        stop.set()
        raise settings.refuse(place, seat.reason, "copy it anew from the platform")


async def _warm(core: Core, platforms: Sequence[Channel]) -> None:
    """What the first messages would otherwise pay for: the model's SDK, the words of recall, the command menus."""
    gc.collect()  # what imports left behind gives its room to the SDK
    try:
        await core.models.warm()
    except Exception:  # the first turn tells the person; a start must not end here
        log.exception("model_not_ready")
    await asyncio.to_thread(words.warm)  # or the one who writes would stand still for it
    gc.collect()
    gc.freeze()  # what is loaded now stays: no collection in the middle of a turn walks it
    gc.enable()
    core.recipes.shown = lambda: _show_menus(core, platforms)
    await _show_menus(core, platforms)


async def _show_menus(core: Core, platforms: Sequence[Channel]) -> None:
    """Set the command menus; one that cannot be reached keeps no other waiting."""
    menus = (_show_menu(core, channel) for channel in platforms if isinstance(channel, CanMenu))
    await asyncio.gather(*menus)


async def _show_menu(core: Core, channel: Channel) -> None:
    await core.channels.wait_ready(channel)
    if not core.channels.can_send(channel) or not isinstance(channel, CanMenu):
        return  # one that was refused is closed for good
    try:
        await channel.menu(core.commands.menu("en"), None)
        await channel.menu(core.commands.menu("zh"), "zh")
    except ChannelError as e:
        log.warning("menu_not_shown", extra={"reason": str(e)})


async def chat(
    settings: Settings, *, user: str, session: str | None, text: str | None, as_json: bool
) -> int:
    """Talk in the terminal: to the running engine, or by running one for as long as the talk lasts."""
    files = settings.data_dir / "files"
    line = await dial(settings.data_dir / "control.sock", user, session)
    if line is not None:
        try:
            return await converse(line, text=text, as_json=as_json, files=files)
        finally:
            line.close()
    core = await build(settings, alone=True)
    if text is not None:  # the engine ends with the answer: nobody would hear what a task brings
        core.turns.services = replace(core.turns.services, tasks=None)
    terminal, duties = TerminalChannel(), duties_of(core, settings, talk=True)
    beside = work_of(core)
    try:
        await core.channels.start([terminal], core.intake.accept)
        await core.models.settle()
        await core.senders.start()
        await core.engine.start()
        await duties.start()
        await core.memory.start()
        await beside.start()
        with near(terminal, user, session) as line_here:
            return await converse(line_here, text=text, as_json=as_json, files=files)
    finally:
        await duties.stop()
        await core.budgets.waiters.stop()
        await core.engine.stop(GRACE_S)
        await core.orders.stop()
        await beside.stop()
        await core.memory.stop()
        await core.senders.stop(SEND_GRACE_S)
        await core.channels.stop()
        await core.mcp.stop()
        await core.models.close()
        await work.close()
        await core.roles.stop()
        await core.db.close()
