"""What the gateway says of background tasks, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "tasks_head": ("Background tasks:", "后台任务："),
    "task_running": ("- `{id}` {title} · {progress}", "- `{id}` {title} · {progress}"),
    "task_queued": ("- `{id}` {title} · queued", "- `{id}` {title} · 排队中"),
    "task_unknown": ("running", "运行中"),
    "task_cancel_button": ("Cancel {id}", "取消 {id}"),
    "task_cancelled": ("Cancelled.", "已取消。"),
    "task_over": ("This task has ended.", "该任务已结束。"),
    "task_ended_done": (
        "Background task `{id}` ({title}), started in the conversation `{session}`, is done. {summary}\n\n"
        "`/resume {session}` goes back there.",
        "在对话 `{session}` 中启动的后台任务 `{id}`（{title}）已完成。{summary}\n\n`/resume {session}` 可返回该对话。",
    ),
    "task_ended_failed": (
        "Background task `{id}` ({title}), started in the conversation `{session}`, failed ({error}).",
        "在对话 `{session}` 中启动的后台任务 `{id}`（{title}）失败（{error}）。",
    ),
    "task_ended_interrupted": (
        "Background task `{id}` ({title}), started in the conversation `{session}`, was interrupted by a restart.",
        "在对话 `{session}` 中启动的后台任务 `{id}`（{title}）因重启而中断。",
    ),
}
