"""A message with everything that Markdown has, and the buttons of an approval."""

from channels.types import Button

CHOICES = (
    Button("Approve once", "x:once", "primary"),
    Button("Always", "x:always"),
    Button("Edit", "x:edit"),
    Button("Deny", "x:deny", "danger"),
)

SAMPLE = """# Plan for **AAPL**

Some prose with *emphasis*, ~~a slip~~, `inline code`, a [link](https://example.com/a?b=1&c=2) and 苹果公司 🙂.

1. First step
   - inner point with **bold**
   - another, 2 < 3 & 4 > 1
2. Second step

> A quoted remark
> on two lines.

| Symbol | Close | Change | Note |
|:--|--:|--:|:--|
| AAPL | 532.17 | +31.40% | strong, above its **200-day** mean |
| 苹果 (A) | 1,024.00 | -2.10% | 价格区间震荡 |
| GOOG | 707.38 | +8.90% | volume `low` |

```python
def moving_average(values: list[float], window: int) -> list[float]:
    return [sum(values[i - window : i]) / window for i in range(window, len(values) + 1)]  # long line
```

---

That is all."""
