"""A preset that uses every key of the schema, and values to put in each place of it."""

import copy
from typing import Any

_LIMITS = {
    "time": "90s",
    "tool_timeout": "30s",
    "idle_timeout": "20s",
    "stall_timeout": "1m",
    "tool_rounds": 8,
    "tool_calls": 20,
    "input_tokens": "20k",
    "output_tokens": 4096,
    "output_chars": 2500,
    "usd": 0.1,
}
_WORKER = {
    "model": "fast",
    "limits": _LIMITS,
    "memory": {"read": ["user"], "write": [], "recall": 3},
    "grounding": {
        "numbers": "required",
        "tolerance": 0.005,
        "citations": "off",
        "max_repairs": 1,
    },
    "output": {
        "format": "json",
        "schema": {"type": "object", "properties": {"a": {"type": "null"}}},
        "render": "{{ a }}",
        "max_repairs": 0,
        "attach": ["chart"],
    },
    "skills": ["report"],
}
_POLICY = {
    "next_action": "use_partial",
    "retryable": True,
    "max_retries": 1,
    "backoff": "0s",
    "fallback_model": "auto",
    "fallback_tools": ["chart"],
    "delegate_to": "other",
    "say": "Words.",
}
_AGENT = {
    **_WORKER,
    "role": "Researcher",
    "title": {"en": "Research", "zh": "研究"},
    "description": "Looks.",
    "prompt": "Look at {{ inputs.symbol }}.",
    "tools": ["chart"],
    "fallback_model": "demo",
    "concurrency": 2,
    "context": {
        "from_supervisor": "brief",
        "from_agents": ["other"],
        "on_overflow": "keep_first",
    },
    "policy": {"error": _POLICY, "timeout": _POLICY},
}
_POT = {
    "usd": 0.6,
    "tokens": "250k",
    "warn_at": 0.8,
    "on_exceeded": "queue",
    "fallback_model": "demo",
}

FULL: dict[str, Any] = {
    "version": 1,
    "name": "desk",
    "title": "A desk",
    "description": "Words.",
    "extends": ["base"],
    "abstract": False,
    "sealed": ["budgets.user_day", "approvals"],
    "inputs": {
        "symbol": {"type": "symbol", "required": True, "description": "Which."},
        "symbols": {"type": "symbols", "max_items": 10, "default": ["GOOG"]},
        "risk": {"type": "number", "default": 1.0, "min": 0.1, "max": 5},
        "mode": {"type": "choice", "choices": ["paper", "live"], "default": "paper"},
    },
    "models": {
        "fast": {
            "use": "auto",
            "effort": "low",
            "price": {"input": 1, "output": 2.5, "cache_read": 0, "cache_write": 1},
            "fallback": ["slow"],
        },
        "gone": None,
    },
    "defaults": {**_WORKER, "concurrency": 2, "policy": {"empty": _POLICY}},
    "supervisor": {
        **_WORKER,
        "role": "Head",
        "prompt": {"file": "a.md"},
        "tools": {"add": ["chart"], "remove": []},
    },
    "agents": {"research": _AGENT, "gone": None},
    "delegation": {
        "max_parallel": 3,
        "max_depth": 1,
        "max_delegations": 12,
        "same_call_limit": 2,
        "show_progress": "milestones",
    },
    "flow": [
        {"id": "one", "for_each": "inputs.symbols", "delegate": "research", "task": "{{ item }}"},
        {"parallel": [{"delegate": "a", "task": "x", "required": True}], "need": 1},
        {"debate": {"sides": ["a", "b"], "rounds": 1, "judge": "c"}},
        {
            "when": {"one.confidence": {"lt": 0.6, "in": ["a", 1], "not": "b"}, "mode": "paper"},
            "vote": {
                "agents": ["a"],
                "samples": 3,
                "field": "rating",
                "method": "majority",
                "tie": "abstain",
            },
        },
        {"answer": True},
    ],
    "budgets": {
        "run": {**_POT, "time": "10m", "on_exceeded": "ask_admin"},
        "user_day": {**_POT, "runs": 40},
        "reserve": True,
        "unpriced_models": "warn",
    },
    "approvals": [
        {
            "tool": "place_order",
            "when": {"mode": "live", "notional_usd": {"gt": 1000, "lte": 5000}},
            "by": ["role:pm", "admin", "user:telegram:1", "requester"],
            "not_requester": True,
            "quorum": 2,
            "expires": "5m",
            "on_expire": "deny",
            "remember": "never",
            "show": ["symbol"],
            "editable": ["quantity"],
            "where": "ops_channel",
        }
    ],
    "data": {"sources": ["bundled"], "as_of": "{{ inputs.day }}", "max_age": "3d"},
    "context_policy": "economic",
    "skills": ["report"],
    "routes": [{"match": ["hello"], "skill": "report", "tools": ["chart"]}],
    "scenes": [{"match": "hello", "text": "Words."}],
    "require": {
        "rules": [
            {"name": "view", "tool": "portfolio", "args": {"mode": "view"}, "phrases": ["mine"]}
        ],
        "contextual": True,
        "affirmative": False,
        "follow_up": "view",
        "markers": ["holdings"],
        "follow_ups": ["healthy"],
        "hints": ["review"],
        "yes": ["yes"],
    },
    "schedule": [
        {
            "cron": "30 9 * * 1-5",
            "timezone": "Asia/Shanghai",
            "chat": "telegram:1",
            "say": "Go.",
            "inputs": {"symbols": ["GOOG"], "mode": "paper"},
        }
    ],
    "mcp": {
        "files": {
            "tools": ["read"],
        }
    },
    "evals": [
        {
            "name": "case",
            "model": "demo",
            "say": "Hello.",
            "inputs": {"mode": "paper"},
            "inject": [
                {"agent": "research", "status": "timeout", "times": 2},
                {"tool": "chart", "approve": "expire", "error": "x", "result": "y"},
            ],
            "expect": {
                "status": "completed",
                "delegated": ["research"],
                "not_delegated": [],
                "tools": ["chart"],
                "not_tools": [],
                "next_action": {"research": "use_result"},
                "contains": ["a"],
                "not_contains": ["b"],
                "grounded": True,
                "output": {"/rating": {"in": ["buy"]}, "/n": 1},
                "max_usd": 0,
                "max_tokens": "20k",
                "max_time": "20s",
            },
        }
    ],
}
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 8, -1, 10**9, 0.5, 0.0, 1.0, "", " ", "x", "X", "no", "1"),
    *("a b", "中文", "90s", "4m", "0s", "0.0m", "1.5h", "4min", "-1s", "20k", "1.5M", "0k", "k"),
    *("20 k", "auto", "a/b", "low", "brief", "use_result", "x" * 50, "x" * 600, "4m\n", "desk\n"),
    *("now", "2012-06-29", "0 8 * * *", "telegram:1", "requester", "/a", "a.b", "required"),
    *([], [1], ["chart"], ["a b"], [None], [{}], {}, {"file": "a"}, {"file": ""}, {"add": ["x"]}),
    *({"x": {}}, {"x": None}, {"X": {}}, {"time": "1s"}, {"error": {}}, {"use": "auto"}),
    *({"in": [1]}, {"in": []}, {"not": None}, {"lt": "1"}, {"name": "x", "expect": {}}),
]


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, and one new key in each map."""
    found = [here] if here else []
    if isinstance(value, dict):
        found += [(*here, "new")]
        for key, inner in value.items():
            found += paths(inner, (*here, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths(inner, (*here, index))
    return found


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    node = changed
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = copy.deepcopy(value)
    return changed
