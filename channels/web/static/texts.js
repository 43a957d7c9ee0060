// Words of the page, in the browser's language: English or Chinese.

const TEXTS = {
  en: {
    skip: "Skip to the message field", sessions: "Chats", close: "Close", new_chat: "New chat", log_out: "Log out",
    messages: "Messages", latest: "Jump to the latest message", commands: "Commands", message: "Message",
    placeholder: "Ask about a stock …", send: "Send", picture: "Picture",
    keys: "Enter sends, Shift+Enter starts a new line, / shows commands",
    empty_heading: "What would you like to know?",
    empty_hint: "Ask in English or Chinese. Every number in an answer comes from real data.",
    reconnecting: "Connection lost. Reconnecting …", offline: "You are offline. Your text is kept.",
    sending: "Sending …", unsent: "Not sent yet. Trying again …",
    failed: "Not sent. Press Send to try again.", press_failed: "That did not arrive. Try again.", too_long: "This message is too long. Send it in parts.",
    unknown_session: "This chat is gone. Choose another one or start a new one.",
    working: "Working on it", steps: "{n} steps", step: "1 step", failed_steps: "{n} failed",
    thinking: "Reasoning", copied: "Copied", enlarge: "Enlarge: {name}", table: "Table, scrolls sideways",
    you: "You", answer: "Answer", running: "running", ok: "done", failed_state: "failed", stopped: "stopped",
    finishing: "Finishing …", stop: "Stop", stopping: "Stopping …", download: "Download {name}", today: "Today", earlier: "Earlier",
    edit: "Edit and send again", retry: "Ask again", copy_message: "Copy message", copy_code: "Copy code",
    code: "Code", code_in: "Code: {language}", earlier_version: "Earlier version · {n} messages",
    editing: "You are editing a message. Sent again, it takes the place of the old one and of what came after it.", cancel: "Cancel",
    attach: "Add files", attached: "Files to send", remove: "Remove {name}", drop: "Drop files here",
    files_many: "At most {n} files go with one message.", file_empty: "{name} is empty.",
    file_large: "{name} is too large: the limit is {mb} MB.", file_failed: "{name} was not taken. Add it again.",
    file_kind: "{name} cannot be read here. Pictures, text, PDF, Word and Excel files can.",
    file_often: "That was a lot of files at once. Add {name} again in a minute.",
    still_sending: "A file is still on its way. Send again in a moment.",
    unknown_file: "A file is gone. Remove it, and add it again.",
    before: "Previous picture", next: "Next picture", picture_of: "{n} of {all}", save: "Download",
    help: "Keyboard shortcuts", key_send: "Send", key_line: "New line", key_commands: "Commands, in an empty field",
    key_edit: "Edit your last message, in an empty field", key_cancel: "Cancel the editing; close what is open",
    key_steps: "Go through the messages", key_new: "New chat", key_field: "Go to the message field",
    key_help: "This help", key_pictures: "Previous and next picture", single_keys: "Single keys (? and /) act outside of fields",
  },
  zh: {
    skip: "跳到输入框", sessions: "会话", close: "关闭", new_chat: "新会话", log_out: "退出登录",
    messages: "消息", latest: "跳到最新消息", commands: "命令", message: "消息",
    placeholder: "询问股票行情……", send: "发送", picture: "图片",
    keys: "Enter 发送，Shift+Enter 换行，/ 显示命令",
    empty_heading: "您想了解什么？",
    empty_hint: "中文、英文均可提问。回答中的每个数字都来自真实数据。",
    reconnecting: "连接已断开，正在重连……", offline: "网络已断开，您的内容已保留。",
    sending: "正在发送……", unsent: "尚未送达，正在重试……",
    failed: "发送失败，请再按一次发送。", press_failed: "操作未送达，请重试。", too_long: "消息过长，请分几次发送。",
    unknown_session: "该会话已不存在，请选择其他会话或新建会话。",
    working: "正在处理", steps: "{n} 个步骤", step: "1 个步骤", failed_steps: "{n} 个失败",
    thinking: "思考过程", copied: "已复制", enlarge: "放大：{name}", table: "表格，可左右滚动",
    you: "您", answer: "回答", running: "进行中", ok: "完成", failed_state: "失败", stopped: "已停止",
    finishing: "即将完成……", stop: "停止", stopping: "正在停止……", download: "下载 {name}", today: "今天", earlier: "更早",
    edit: "修改并重新发送", retry: "重新提问", copy_message: "复制消息", copy_code: "复制代码",
    code: "代码", code_in: "代码：{language}", earlier_version: "先前版本 · {n} 条消息",
    editing: "正在修改消息。重新发送后，它将取代原消息及其后的内容。", cancel: "取消",
    attach: "添加文件", attached: "待发送的文件", remove: "移除 {name}", drop: "将文件拖放到此处",
    files_many: "一条消息最多附带 {n} 个文件。", file_empty: "{name} 是空文件。",
    file_large: "{name} 过大，上限为 {mb} MB。", file_failed: "{name} 未能上传，请重新添加。",
    file_kind: "无法读取 {name}，支持图片、文本、PDF、Word 和 Excel 文件。",
    file_often: "短时间内文件过多，请一分钟后再添加 {name}。",
    still_sending: "文件仍在上传，请稍后再发送。",
    unknown_file: "文件已不存在，请移除后重新添加。",
    before: "上一张图片", next: "下一张图片", picture_of: "第 {n} 张，共 {all} 张", save: "下载",
    help: "键盘快捷键", key_send: "发送", key_line: "换行", key_commands: "命令（输入框为空时）",
    key_edit: "修改上一条消息（输入框为空时）", key_cancel: "取消修改，关闭弹出内容",
    key_steps: "在消息之间移动", key_new: "新会话", key_field: "转到输入框",
    key_help: "显示本帮助", key_pictures: "上一张、下一张图片", single_keys: "在输入框之外启用单键（? 和 /）",
  },
};

const EXAMPLES = {
  en: [
    "How did GOOG do in 2012, and what does its trend look like?",
    "Analyse AAPL: trend, drawdown and key levels",
    "Compare AAPL and MSFT over the past year",
    "分析一下 AAPL 的走势",
  ],
  zh: [
    "分析一下 AAPL 的走势",
    "GOOG 在 2012 年表现如何？趋势怎样？",
    "对比苹果和微软最近一年的表现",
    "How did GOOG do in 2012, and what does its trend look like?",
  ],
};

export const language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
export const examples = EXAMPLES[language];

export function t(key, values = {}) {
  return TEXTS[language][key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** Fill the words into the page: data-text, data-label (aria-label and tooltip), data-placeholder. */
export function translatePage() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = t(node.dataset.text);
  for (const node of document.querySelectorAll("[data-placeholder]")) node.placeholder = t(node.dataset.placeholder);
  for (const node of document.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", t(node.dataset.label));
    if (node.tagName === "BUTTON") node.title = t(node.dataset.label);
  }
}
