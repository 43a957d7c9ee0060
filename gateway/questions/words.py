"""How a question to a person looks: its text, its buttons, what is said when it is decided. English and Chinese."""

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.approvals import in_order, kept_for, may_change
from agent_core.ports import Ask
from channels.types import Button, Field, Form
from gateway.people.identity import Language
from gateway.questions.votes import named

MAX_FIELDS = 5  # Discord: a dialog has at most five inputs
MAX_VALUE = 4_000  # Discord: characters of one input
LABEL_CHARS = 40

_WORDS: dict[str, tuple[str, str]] = {
    "approval": ("**Approval {id}: {title}**", "**审批 {id}：{title}**"),
    "approval_agent": (
        "**Approval {id}: {title}** (asked by {agent})",
        "**审批 {id}：{title}**（由{agent}提出）",
    ),
    "valid": (
        "Only your button, /approve {id} or /deny {id} decides; it expires in {minutes} minutes.",
        "只有按钮、/approve {id} 或 /deny {id} 有效，{minutes} 分钟后失效。",
    ),
    "ask": ("**Question {id}**", "**问题 {id}**"),
    "ask_agent": ("**Question {id}** (from {agent})", "**问题 {id}**（来自{agent}）"),
    "choose": (
        "Choose a button; the question expires in {minutes} minutes.",
        "请点按钮选择，{minutes} 分钟后失效。",
    ),
    "write": (
        "Answer with a message; the question expires in {minutes} minutes.",
        "请直接发消息回答，{minutes} 分钟后失效。",
    ),
    "approve": ("Approve", "批准"),
    "keep_never": ("", ""),
    "keep_run": ("Always in this turn", "本轮总是"),
    "keep_session": ("Always in this session", "本会话总是"),
    "keep_always": ("Always", "总是"),
    "edit": ("Edit", "修改"),
    "deny": ("Deny", "拒绝"),
    "fill": ("Fill in", "填写"),
    "fill_send": ("Send", "提交"),
    "fill_words": (
        "Send the answer as a message.",
        "请直接发消息回答。",
    ),
    "run_edited": ("Approve with these values", "按此修改并批准"),
    "was_approved": ("✅ Approved by {name}.", "✅ 已由{name}批准。"),
    "was_edited": (
        "✅ Approved by {name} with other values:\n\n{args}",
        "✅ 已由{name}修改并批准：\n\n{args}",
    ),
    "was_denied": ("❌ Denied by {name}.", "❌ 已由{name}拒绝。"),
    "was_chosen": ("➡️ {name}: {text}", "➡️ {name}：{text}"),
    "was_answered": ("➡️ Answered by {name}.", "➡️ 已由{name}回答。"),
    "was_expired": (
        "⌛ Expired: neither approved nor denied.",
        "⌛ 已过期：既未批准，也未拒绝。",
    ),
    "ask_expired": ("⌛ Expired without an answer.", "⌛ 已过期，未得到回答。"),
    "was_cancelled": ("⏹ Cancelled.", "⏹ 已取消。"),
    "kept": (
        "The very same call needs no further yes; /deny {id} takes that back.",
        "完全相同的调用不再询问；用 /deny {id} 可撤回。",
    ),
    "revoked": (
        "Taken back: the yes to question {id} no longer counts for later calls.",
        "已撤回：问题 {id} 的批准不再适用于以后的调用。",
    ),
    "also": ("Further arguments: {names}.", "其他参数：{names}。"),
    "needs": ("Needs a yes of: {who}{many}.", "需要批准：{who}{many}。"),
    "people": (", {count} different people", "，共 {count} 人"),
    "asked_by": ("Asked for by `{owner}`.", "提出者：`{owner}`。"),
    "elsewhere": (
        "This is decided elsewhere by those named above; it goes on here afterwards.",
        "由上述人员在别处决定，之后在此继续。",
    ),
    "so_far": ("✅ Yes of {names}; {count} more needed.", "✅ {names}已批准，还需 {count} 人。"),
    "stale": (
        "The values were changed meanwhile: decide with the buttons below the new ones.",
        "参数已被修改，请用新参数下方的按钮决定。",
    ),
    "once_more": (
        "⚠️ {why} {name} has said yes once; the same person must press Approve once more.",
        "⚠️ {why}{name}已批准一次，需由同一人再次点按“批准”。",
    ),
    "once_more_toast": ("Press Approve once more to confirm.", "请再次点按“批准”确认。"),
    "fixed": ("{name} may not be changed", "不可修改 {name}"),
    "taken": ("Recorded.", "已记录。"),
    "gone": ("This question is no longer open.", "这个问题已不再有效。"),
    "not_approver": (
        "Only the person who was asked can decide this.",
        "只有被询问的人可以决定。",
    ),
    "nothing_open": ("Nothing waits for an approval here.", "这里没有等待审批的事项。"),
    "which": (
        "Several wait; say which: {ids} (such as /{name} {first}).",
        "有多项待审批，请指明编号：{ids}（例如 /{name} {first}）。",
    ),
    "usage": (
        "Use /{name} NUMBER; the number stands in the question.",
        "用法：/{name} 编号，编号见问题标题。",
    ),
    "how_to_edit": (
        "To run question {id} with other values, send this with the values changed:\n\n{example}",
        "要以其他参数执行 {id}，请修改后发送：\n\n{example}",
    ),
    "bad_edit": ("Not approved: {problem}", "未批准：{problem}"),
    "cancelled": ("Cancelled: {ids}.", "已取消：{ids}。"),
    "parked_reply": (
        "Question {ids} is still open; a later decision is carried out and reported.",
        "问题 {ids} 仍有效，稍后作出决定后会执行并汇报。",
    ),
    "late": (
        "A person has approved question {id}; the stored call runs now",
        "问题 {id} 已获批准，现在执行",
    ),
}


def words(code: str, language: Language, /, **values: object) -> str:
    """The text of a code in a language."""
    return _WORDS[code][language == "zh"].format(**values)


def text_of(ask: Ask, question_id: int, minutes: int, asker: str = "") -> str:
    """The question as Markdown. What a model or a tool call says stands apart from our own words."""
    language, agent = ask.language, ask.agent
    code = ask.kind if agent is None else f"{ask.kind}_agent"
    head = words(code, language, id=question_id, title=ask.title, agent=agent)
    if ask.kind == "approval":
        body = _call(ask, asker)
        foot = words("valid", language, id=question_id, minutes=minutes)
    else:
        long = [f"{n}. {o}" for n, o in enumerate(ask.options, 1) if len(o) > LABEL_CHARS]
        body = "\n".join([ask.text, "", *long]).strip()
        foot = words("choose" if ask.options else "write", language, minutes=minutes)
    return f"{head}\n\n{body}\n\n{foot}"


def _call(ask: Ask, asker: str) -> str:
    """The call to be judged: as its tool shows it, or by its arguments; by the rules, whose yes is needed."""
    told = bool(ask.preview) and ask.complete
    if not ask.rules:
        return _joined(ask.preview, "" if told else arguments(ask.args))
    language, first = ask.language, in_order(ask.rules)
    listed_first = {name: ask.values[name] for name in first if name in ask.values}
    rest = [name for name in ask.values if name not in listed_first]
    lines = [_joined(ask.preview, "" if told else arguments(listed_first or ask.values))]
    if listed_first and rest and not told:
        lines.append(words("also", language, names=", ".join(f"`{name}`" for name in rest)))
    for rule in ask.rules:
        who = named(rule, language)
        many = words("people", language, count=rule.quorum) if rule.quorum > 1 else ""
        lines.append(words("needs", language, who=who, many=many))
    if any(rule.where != "here" for rule in ask.rules):
        lines.append(words("asked_by", language, owner=asker))
    return "\n\n".join([lines[0], "\n".join(dict.fromkeys(lines[1:]))])


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def asked_elsewhere(text: str, language: Language) -> str:
    """The question where it was asked for, while others decide it elsewhere."""
    return text.rpartition("\n\n")[0] + "\n\n" + words("elsewhere", language)


def arguments(args: Mapping[str, Any]) -> str:
    """Arguments as a block of `name=value` lines, which nothing in them can end."""
    lines = "\n".join(f"{name}={shown(value)}" for name, value in args.items())
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{lines}\n{fence}"


def shown(value: Any) -> str:
    """A value on one line: text as it stands where it reads as text, else JSON."""
    plain = isinstance(value, str) and value.isprintable() and value == value.strip()
    if plain and value and not _reads_as_json(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return text.startswith(('"', "{", "["))
    return True


def value_of(text: str) -> Any:
    """The value that a person typed: JSON where it is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def buttons_of(ask: Ask, question_id: int, edition: int = 0) -> tuple[Button, ...]:
    """Approve, Always (where the rules allow it), Edit, Deny; or the options.

    `edition` binds the buttons to the arguments that stand above them.
    """
    language = ask.language
    if ask.kind == "ask":
        fields = ask.args.get("fields") or {}  # of a template (agent_core/runtime/templates.py)
        return tuple(
            Button(f"{n}. {_clip(option)}", f"ask:{question_id}:{n}")
            for n, option in enumerate(ask.options, 1)
        ) or ((_fill_button(fields, question_id, language),) if fields else ())
    number = f"{question_id}:{edition}" if edition else str(question_id)
    scope = kept_for(ask.rules)
    always = Button(words(f"keep_{scope}", language), f"always:{number}")
    fields = editable(ask)
    return (
        Button(words("approve", language), f"ok:{number}", "primary"),
        *((always,) if scope != "never" else ()),
        *((_edit_button(ask, fields, question_id, number),) if fields else ()),
        Button(words("deny", language), f"no:{question_id}", "danger"),
    )


def _fill_button(fields: Mapping[str, str], question_id: int, language: Language) -> Button:
    """Opens a dialog with an input for each field, where the platform has dialogs."""
    label, data = words("fill", language), f"fill:{question_id}"
    inputs = tuple(Field(name, text[:45]) for name, text in fields.items())
    title = words("fill", language) + f" {question_id}"
    form = Form(title, data, inputs, words("fill_send", language))
    return Button(label, data, form=form, dialog_only=True)


def editable(ask: Ask) -> dict[str, Any]:
    """The arguments that an approver may change, as they stand: all where no rule speaks of it."""
    if not ask.rules:
        return ask.args
    names = may_change(ask.rules)
    return {name: value for name, value in ask.values.items() if name in names}


def _edit_button(ask: Ask, values: Mapping[str, Any], question_id: int, number: str) -> Button:
    label, data = words("edit", ask.language), f"edit:{number}"
    lines = [(name, shown(value)) for name, value in values.items()]
    if len(lines) > MAX_FIELDS or any(len(value) > MAX_VALUE for _, value in lines):
        return Button(label, data)
    fields = tuple(Field(name, name[:45], value, len(value) > 80) for name, value in lines)
    title = words("edit", ask.language) + f" {question_id}"
    return Button(label, data, form=Form(title, data, fields, words("run_edited", ask.language)))


def _clip(text: str) -> str:
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…"


def how_to_edit(question_id: int, args: Mapping[str, Any], language: Language) -> str:
    """What to send where there is no dialog."""
    block = arguments(args)
    fence, _, rest = block.partition("\n")
    example = f"{fence}\n/approve {question_id}\n{rest}"
    return words("how_to_edit", language, id=question_id, example=example)


def parse_lines(text: str) -> list[tuple[str, str]] | None:
    """`name=value` lines as pairs; None when a line is something else."""
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    if any(not mark or not name.strip() for name, mark, _ in pairs):
        return None
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def minutes(until: dt.timedelta) -> int:
    """Whole minutes, at least one."""
    return max(1, round(until.total_seconds() / 60))


def listed(ids: Sequence[int]) -> str:
    """Numbers for people."""
    return ", ".join(str(i) for i in ids)
