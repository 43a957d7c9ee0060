"""Every page and every action of the console."""

from gateway.console import overview
from gateway.console.calls import Action, View

VIEWS = (
    View(
        "/overview", "Overview", "overview.html", overview.read, overview.Overview, nav="overview"
    ),
)
ACTIONS = (
    Action("/halt", "Halt trading", overview.stop_trading, overview.Halt),
    Action("/resume", "Let trading go on", overview.resume_trading),
)
