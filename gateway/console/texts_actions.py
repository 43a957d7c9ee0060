"""Chinese of what actions and refusals say, and of words for states."""

TEXTS: dict[str, str] = {
    "There is nothing here.": "这里没有内容。",
    "This address takes no such request.": "此地址不接受该请求。",
    "This form is not from this log-in: load the page again.": (
        "此表单不属于本次登录，请重新加载页面。"
    ),
    "Trading is halted. Cancelled at once: {cancelled}; being taken back at a broker: {left}.": "交易已暂停。"
    "已撤销 {cancelled} 笔，正在券商处撤回 {left} 笔。",
    "The file HALT in data_dir still halts trading: remove it.": (
        "data_dir 中的 HALT 文件仍在暂停交易，请删除。"
    ),
    "Trading goes on.": "交易已恢复。",
    "Trading was not halted.": "交易本来就没有暂停。",
    "Authorization: Bearer <token> is needed.": "需要 Authorization: Bearer <令牌>。",
    "The body must be a JSON object.": "请求体必须是 JSON 对象。",
    "The body is too large.": "请求体过大。",
    "The body must be application/json.": "请求体必须是 application/json。",
    "A text must not hold the character U+0000.": "文本不能包含字符 U+0000。",
    "The yes to question {number} counts no more.": "对问题 {number} 的同意不再有效。",
    "This question has no yes that is remembered.": "此问题没有被记住的同意。",
    "A preset of this name exists already.": "已有同名预设。",
    "The file was changed meanwhile: load the page again.": "文件已被修改，请重新加载页面。",
    "Not saved: there are errors.": "未保存：存在错误。",
    "Saved. The next message uses it.": "已保存，下一条消息即生效。",
    "{name} is there. Write what differs from {parent}.": (
        "{name} 已建立，请写下与 {parent} 不同的内容。"
    ),
    "No such pairing code, or it has expired: the person writes again for a new one.": (
        "没有此配对码或已过期，请对方再发一条消息。"
    ),
    "The settings have no such role to give: see access.roles.": (
        "设置中没有可授予的此角色，请查看 access.roles。"
    ),
    "The settings name this person under access: the role is changed there.": (
        "设置的 access 中已指定此人，请在设置中更改角色。"
    ),
    "{id} has the role {role} now.": "{id} 现在的角色是 {role}。",
    "There is no such model to run the cases with.": "没有可用于运行用例的此模型。",
    "Cases are being run already: wait for them, or stop them.": "已有用例在运行：请等待或停止。",
    "The cases are being run: {count}.": "正在运行用例：{count} 个。",
    "This run is over.": "此次运行已结束。",
    "The run is stopped.": "运行已停止。",
    "{id} may talk now.": "{id} 现在可以使用了。",
    "{id} is shut out.": "{id} 已被封禁。",
    "{id} is on its own again.": "{id} 已解除关联。",
    "This person is linked with nobody.": "此人没有关联账号。",
    "Memory {number} is gone.": "记忆 {number} 已删除。",
    "Write the person's id to confirm.": "请输入此人的编号以确认。",
    "Deleted: {removed}. Left: {left}.": "已删除 {removed} 项，剩余 {left} 项。",
    "No parked reply has this id.": "没有此编号的搁置回复。",
    "Reply {number} is being sent.": "正在发送回复 {number}。",
    "Replies that are being sent: {count}.": "正在发送的回复：{count} 条。",
    "No active reminder has this id.": "没有此编号的有效提醒。",
    "Reminder {number} is off.": "提醒 {number} 已取消。",
    "The log-in of {owner} is over.": "{owner} 的登录已结束。",
    "No such budget is set.": "没有设置此预算。",
    "Name a person for a person's budget, and nobody else.": "个人预算需指明用户，其他预算则不需要。",
    "The budget was granted once more.": "已追加一份预算。",
    # states
    "completed": "完成",
    "running": "运行中",
    "waiting": "等待中",
    "failed": "失败",
    "partial": "部分完成",
    "ready": "就绪",
    "starting": "启动中",
    "restarting": "重启中",
    "stopped": "已停止",
    "stopping": "停止中",
    "cancelled": "已取消",
    "error": "错误",
    "ok": "正常",
    "open": "待定",
    "allowed": "允许",
    "revoked": "已封禁",
    "pairing": "待配对",
    "default": "默认",
    "active": "有效",
    "done": "完成",
    "sent": "已发送",
    "parked": "搁置",
    "broken": "有错",
    "abstract": "仅供继承",
    "interrupted": "中断",
}
