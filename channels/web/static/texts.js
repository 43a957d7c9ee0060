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
    thinking: "Reasoning", copy: "Copy", copied: "Copied", enlarge: "Enlarge: {name}", table: "Table, scrolls sideways",
    you: "You", answer: "Answer", running: "running", ok: "done", failed_state: "failed", stopped: "stopped",
    finishing: "Finishing …", stop: "Stop", stopping: "Stopping …", download: "Download {name}", today: "Today", earlier: "Earlier",
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
    thinking: "思考过程", copy: "复制", copied: "已复制", enlarge: "放大：{name}", table: "表格，可左右滚动",
    you: "您", answer: "回答", running: "进行中", ok: "完成", failed_state: "失败", stopped: "已停止",
    finishing: "即将完成……", stop: "停止", stopping: "正在停止……", download: "下载 {name}", today: "今天", earlier: "更早",
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
