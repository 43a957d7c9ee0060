"""Who a person is and which language they speak.

Identities are stable ids, never display names (hermes#44729).
"""

import re
from typing import Literal

from channels.types import Address, Author

Language = Literal["en", "zh"]
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


def person_id(address: Address, author: Author) -> str:
    """`<channel>:<stable id>`, such as telegram:123 or web:alice."""
    return f"{address.channel}:{author.id}"


def language_of(text: str, platform: str | None, setting: str, own: str = "") -> Language:
    """The person's own choice, else the settings', else the words themselves, else what the platform says."""
    for fixed in (own, setting):
        if fixed in ("en", "zh"):
            return "zh" if fixed == "zh" else "en"
    if _HAN.search(text):
        return "zh"
    if re.search(r"[A-Za-z]{2}", text) and not text.startswith(("/", "!")):
        return "en"
    return "zh" if (platform or "").lower().startswith("zh") else "en"
