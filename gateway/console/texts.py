"""The console's words: an English phrase is its own key, and here is its Chinese. A test holds that none is missing."""

from functools import cache

from gateway.people.identity import Language


@cache
def _chinese() -> dict[str, str]:
    from gateway.console.texts_actions import TEXTS as ACTIONS
    from gateway.console.texts_desks import TEXTS as DESKS
    from gateway.console.texts_pages import TEXTS as PAGES
    from gateway.console.texts_rest import TEXTS as REST

    return {**PAGES, **DESKS, **REST, **ACTIONS}


def known() -> frozenset[str]:
    """Every phrase that has a translation."""
    return frozenset(_chinese())


def phrase(text: str, language: Language) -> str:
    """A phrase in a language; one without a translation stays as it is."""
    return _chinese().get(text, text) if language == "zh" else text
