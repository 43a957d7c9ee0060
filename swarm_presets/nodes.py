"""YAML nodes with positions, composed from events: by libyaml, and by Python where that is missing or refuses.

libyaml is five times as fast; what it refuses is read again in Python, whose errors say more. Its own composer is twice
as fast again; it notes no anchors, so that texts which may have some are composed here, and keeps no bounds, so that
whoever reads its nodes must. Nothing is resolved, so that each plain scalar keeps its text.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import yaml
from yaml.composer import Composer, ComposerError
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

MAX_NODES = 20_000  # of keys, values and lists
MAX_DEPTH = 40

ALIAS = "alias"  # tag of the node that stands for an alias
_MAY_SHARE = re.compile(r"(?:^|[\s,:?\[\]{}-])[&*][^\s,\[\]{}]", re.MULTILINE)  # `&name` or `*name`
_KINDS = {yaml.ScalarNode: "str", yaml.SequenceNode: "seq", yaml.MappingNode: "map"}
_TAGS = {kind: f"tag:yaml.org,2002:{name}" for kind, name in _KINDS.items()}
TOO_MUCH = "the file is nested too deeply or has too many values"


class _Nodes(Composer):
    """Composes nodes from a parser's events, and notes anchors and aliases."""

    peek_event: Callable[[], Any]
    get_event: Callable[[], Any]

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._left = MAX_NODES
        self.shared: list[yaml.Mark] = []

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """One node with all below it; stops early where no preset goes."""
        self._left -= 1
        self._depth += 1
        if self._left < 0 or self._depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, TOO_MUCH, mark)
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:  # of `&name` and of `*name`
            self.shared.append(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()
            self._depth -= 1
            return yaml.ScalarNode(ALIAS, "", event.start_mark, event.end_mark)  # type: ignore[arg-type]
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Slow(_Nodes, Reader, Scanner, Parser, BaseResolver):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        BaseResolver.__init__(self)
        _Nodes.__init__(self)


def compose(text: str) -> tuple[yaml.Node | None, list[yaml.Mark]]:
    """The root node of a text (None: it is empty), and where its anchors and aliases are. Raises YAMLError."""
    if yaml.__with_libyaml__ and "\t" not in text:  # libyaml lets tabs pass that are errors here
        try:
            return fast(text)
        except yaml.YAMLError:
            pass
    return slow(text)


def slow(text: str) -> tuple[yaml.Node | None, list[yaml.Mark]]:
    """The same as `compose`, in Python alone."""
    loader = _Slow(text)
    return loader.get_single_node(), loader.shared


def fast(text: str) -> tuple[yaml.Node | None, list[yaml.Mark]]:
    """The same by libyaml, without bounds where there are no anchors; its plain scalars have the style `""`."""
    if not (("&" in text or "*" in text) and _MAY_SHARE.search(text)):
        return _plain_loader()(text).get_single_node(), []
    loader = _fast_loader()(text)
    return loader.get_single_node(), loader.shared


@cache
def _plain_loader() -> type[Any]:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class Plain(CParser):
        """Composes nodes without a line of Python but `resolve`; knows neither bounds nor anchors."""

        def descend_resolver(self, parent: object, index: object) -> None:
            pass

        def ascend_resolver(self) -> None:
            pass

        def resolve(self, kind: type[yaml.Node], value: object, implicit: object) -> str:
            return _TAGS[kind]

    return Plain


@cache
def _fast_loader() -> type[Any]:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class Fast(_Nodes, CParser, BaseResolver):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            BaseResolver.__init__(self)
            _Nodes.__init__(self)

    return Fast
