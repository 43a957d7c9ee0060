"""A scripted engine for walks of the page alone: an answer with everything that an answer can hold."""

import asyncio
import io
from dataclasses import replace

from agent_core.finance.chart_dark import marked
from channels.types import Button, Inbound, Preview, Step
from channels.web.host import FileData, FileItem
from tests.browser.memory_host import Gateway
from tests.twins.receipt import MemoryReceipt

QUESTION = "How did GOOG do in 2012, and what does its trend look like?"
STOP = (Button("Stop", "stop:1", "danger"),)
ANSWER = """**GOOG rose 9.5 % in 2012**, from 323.40 to 354.04 USD, with a drawdown of 14.5 % in spring.

| Quarter | Open | High | Low | Close | Change | Volume |
|:--|--:|--:|--:|--:|--:|--:|
| Q1 | 326.25 | 332.92 | 282.32 | 321.26 | -1.5 % | 324,106,400 |
| Q2 | 320.71 | 326.82 | 278.79 | 290.45 | -9.6 % | 276,912,500 |
| Q3 | 290.99 | 382.24 | 281.17 | 377.62 | +30.0 % | 259,400,100 |
| Q4 | 380.28 | 387.58 | 318.31 | 354.04 | -6.2 % | 298,733,900 |

## Trend

1. The close is above its 50-day and 200-day averages, so the trend is **up**.
2. RSI(14) is at `56.2`: neither hot nor cold.

```python
prices.loc["2012"].close.pct_change().add(1).prod() - 1  # a line that is long enough to scroll sideways on a phone
```

> Source: bundled daily series, 2012-01-03 to 2012-12-31. See <b>no markup</b> and [the docs](https://example.org).
> ![a foreign picture](https://example.org/track.png) [bad](javascript:alert(1))
"""
STEPS = (
    Step("a1", "Research agent", "running", "GOOG in 2012", agent="research"),
    Step("t1", "Search stock", "ok", "GOOG → Alphabet Inc. (0.2 s)", "research", "a1"),
    Step("t2", "Market history", "ok", "251 days, 2012-01-03 to 2012-12-31", "research", "a1"),
    Step("a2", "Analysis agent", "running", "trend and levels", agent="analysis"),
    Step("t3", "Analyse stock", "failed", "time-out after 60 s, trying again", "analysis", "a2"),
    Step("t4", "Analyse stock", "running", "indicators", "analysis", "a2"),
)


def chart() -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), dpi=110)
    axes = figure.subplots()
    axes.plot([323, 332, 290, 310, 300, 345, 377, 354], color="#0f6b5c")
    axes.set_title("GOOG 2012, daily close in USD")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata=marked("light"))
    return buffer.getvalue()


class Turns:
    """The scripted engine: stops in the middle of each answer until `go` is set."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.half = asyncio.Event()

    async def __call__(self, gateway: Gateway, inbound: Inbound) -> None:
        address, receipt = inbound.address, MemoryReceipt()
        stream = gateway.channel.stream(address, receipt, private=True, reply_to=None)
        steps: tuple[Step, ...] = ()
        for step in STEPS:
            steps = (*steps, step)
            await stream.show(Preview(status="Collecting prices", steps=steps, buttons=STOP))
            await asyncio.sleep(0.01)
        middle = len(ANSWER) // 2
        for end in range(0, middle, 7):
            await stream.show(Preview(text=ANSWER[:end], steps=steps, buttons=STOP))
            await asyncio.sleep(0)
        self.half.set()
        await self.go.wait()
        done = tuple(replace(s, state="ok") if s.state == "running" else s for s in steps)
        await stream.show(Preview(text=ANSWER[:-20], steps=done, buttons=STOP))
        await stream.close()
        gateway.host.files[gateway.person, "chart"] = FileData(chart(), "image/png", "goog.png")
        files = [FileItem("chart", "goog.png", "image/png", "GOOG 2012, daily close in USD")]
        buttons = [Button("Approve", "yes:1", "primary"), Button("Deny", "no:1", "danger")]
        await gateway.reply(
            address, ANSWER, receipt=receipt, files=files, buttons=buttons, steps=done
        )
