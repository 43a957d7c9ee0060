"""What the runtime itself says to a person when a turn ends without an answer of the model.

No exception text (CHN-6).
"""

from agent_core.errors import (
    ContextTooLong,
    ModelAuthRefused,
    ModelBadRequest,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    StreamBroken,
)
from agent_core.runtime.run import Language
from agent_core.runtime.watchdog import Stalled

_TEXTS: dict[str, tuple[str, str]] = {
    "round_limit": (
        "I reached the limit of tool rounds before I was done.",
        "工具调用次数已达上限，未能全部完成。",
    ),
    "call_limit": (
        "I reached the limit of tool calls before I was done.",
        "工具调用总数已达上限，未能全部完成。",
    ),
    "doom_loop": (
        "I kept making the same tool call without anything new, so I stopped.",
        "同一工具调用反复出现且没有新结果，已停止。",
    ),
    "stop_and_report": (
        "A sub-agent stopped, so there is no result to report.",
        "子代理已停止，没有可汇报的结果。",
    ),
    "max_tokens": (
        "The answer was cut at the model's length limit.",
        "回答达到模型长度上限，已截断。",
    ),
    "refusal": ("The model declined to answer this.", "模型拒绝回答这个问题。"),
    "over_budget": ("The money limit of this run is reached.", "本次运行的费用上限已用完。"),
    "empty": (
        "The model gave no answer. Please ask again, perhaps in other words.",
        "模型没有给出回答，请换个说法再试。",
    ),
    "compact_nothing": (
        "There is nothing to compact yet: the conversation is short.",
        "对话还很短，暂时没有可压缩的内容。",
    ),
    "compact_failed": (
        "The summary did not succeed, so the conversation stays as it is.",
        "摘要没有成功，对话保持原样。",
    ),
    "stopped": ("Stopped.", "已停止。"),
    "interrupted": (
        "Interrupted by your next message.",
        "已被您的下一条消息打断。",
    ),
    "time": (
        "This took longer than its time limit, so I stopped.",
        "处理超过时间上限，已停止。",
    ),
    "stalled": (
        "Nothing moved for too long, so I stopped. Please try again.",
        "长时间没有任何进展，已停止，请重试。",
    ),
    "poison": (
        "This message stopped the gateway several times, so I set it aside.",
        "处理这条消息时网关多次中断，已搁置。",
    ),
    "internal": ("Something went wrong inside the gateway.", "网关内部出错。"),
    "ModelAuthRefused": (
        "The model provider refuses the key. An operator must check it.",
        "模型服务拒绝了密钥，请管理员检查。",
    ),
    "ModelUnknown": (
        "The model provider does not know this model. Choose another with /model.",
        "模型服务没有这个模型，请用 /model 另选。",
    ),
    "ModelBadRequest": (
        "The model provider refused the request.",
        "模型服务拒绝了请求。",
    ),
    "ContextTooLong": (
        "The conversation is too long for this model. Start a new one with /new.",
        "对话超出模型的上下文窗口，请用 /new 开始新对话。",
    ),
    "ModelRateLimited": (
        "The model provider limits our rate. Please try again in a moment.",
        "模型服务限流，请稍后再试。",
    ),
    "ModelOverloaded": (
        "The model provider is overloaded. Please try again in a moment.",
        "模型服务繁忙，请稍后再试。",
    ),
    "ModelTimeout": (
        "The model did not answer in time. Please try again.",
        "模型未能按时回答，请重试。",
    ),
    "ModelUnreachable": (
        "The model provider cannot be reached. Please try again later.",
        "无法连接模型服务，请稍后再试。",
    ),
    "StreamBroken": (
        "The model's answer broke off. Please try again.",
        "模型回答中断，请重试。",
    ),
}
_KINDS = (
    ModelAuthRefused,
    ModelUnknown,
    ContextTooLong,
    ModelBadRequest,
    ModelRateLimited,
    ModelOverloaded,
    ModelTimeout,
    ModelUnreachable,
    StreamBroken,
)


def notice(code: str, language: Language, error_id: str | None = None) -> str:
    """One line for a person, with the short id under which the log has the details."""
    text = _TEXTS[code][language == "zh"]
    if error_id is None:
        return text
    return f"{text}（编号 {error_id}）" if language == "zh" else f"{text} (id {error_id})"


def code_of(error: Exception) -> str:
    """The notice for an error: a model's failure by its kind, anything else as internal."""
    if isinstance(error, Stalled):
        return "stalled"
    if isinstance(error, ModelError):
        return next((kind.__name__ for kind in _KINDS if isinstance(error, kind)), "internal")
    return "internal"


def compacted(before: int, after: int, language: Language) -> str:
    """One line about a compaction; sizes are estimated tokens."""
    if language == "zh":
        return f"对话较长，已压缩以适应上下文：约 {before:,} → {after:,} token；原文可用 /archive 查看。"
    return (
        f"Context compacted to stay within limits: about {before:,} → {after:,} tokens; "
        "/archive shows the original."
    )


def shortened(text: str, most: int | None, language: Language) -> str:
    """At most so many characters of an answer, and a line that says so where something is missing."""
    if most is None or len(text) <= most:
        return text
    kept = text[:most].rstrip()
    if language == "zh":
        return f"{kept}…\n\n_回答已截断：超出 {most:,} 个字符的上限。_"
    return (
        f"{kept}…\n\n_The answer is cut here: it is longer than the limit of {most:,} characters._"
    )


def unverified(tool: str, language: Language, *, failed: bool) -> str:
    """One line above an answer that does not rest on the tool that it needs; `tool` is its name for people."""
    if language == "zh":
        return (
            f"注意：“{tool}”查询失败，以下回答未经核实。"
            if failed
            else f"注意：未查询“{tool}”，以下回答未经核实。"
        )
    done = "failed" if failed else "was not used"
    return f"Note: “{tool}” {done}, so this answer is not checked against it."
