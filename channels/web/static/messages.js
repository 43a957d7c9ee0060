// One message each: what a person wrote, an answer, and an answer in the making that turns into one.

import { copy } from "/static/clipboard.js";
import { h } from "/static/dom.js";
import { fileView } from "/static/files.js";
import { iconButton } from "/static/icons.js";
import { MarkdownView } from "/static/markdown.js";
import { StepsView } from "/static/steps.js";
import { t } from "/static/texts.js";
import { isCommand } from "/static/versions.js";

/** A person's message; `state` is "sent", "sending" or "unsent". `act.edit(message)` and `act.view(file)` as asked. */
export class UserView {
  constructor(message, act, state = "sent") {
    this.message = { files: [], again: null, ...message };
    this.id = message.id;
    this.note = h("p", { class: "note", hidden: true });
    const { text, files } = this.message;
    const shown = files.map((file) => fileView(file, act.view));
    this.text = h("div", { class: "text", dir: "auto", hidden: !text }, text);
    this.root = h(
      "article", { class: "message user", "data-id": message.id, "aria-label": t("you"), tabindex: "-1" },
      shown.length ? h("div", { class: "files" }, ...shown) : null, this.text, this.note, this.tools(act),
    );
    this.state(state);
  }

  tools(act) {
    const { text } = this.message;
    const button = text ? iconButton("copy", t("copy_message"), () => copy(text, this.text, button)) : null;
    const edit = isCommand(text) ? null : iconButton("edit", t("edit"), () => act.edit(this.message));
    edit?.classList.add("anew");
    return h("div", { class: "tools" }, button, edit);
  }

  state(state) {
    this.root.dataset.state = state;
    this.note.hidden = state === "sent";
    this.note.textContent = state === "sent" ? "" : t(state);
  }
}

/** Buttons of a message. `press(data)` resolves to whether it arrived; then none can be pressed again.
 * One that `asks` for more decides nothing yet: the others stay. */
function buttonRow(buttons, press) {
  const row = h("div", { class: "buttons" });
  for (const { label, data, style, asks } of buttons) {
    const button = h("button", { type: "button", class: style }, label);
    button.addEventListener("click", async () => {
      if (asks) {
        press(data);
        return;
      }
      for (const each of row.children) each.disabled = true;
      button.classList.add("pressed");
      if (await press(data)) return;
      button.classList.remove("pressed");
      for (const each of row.children) each.disabled = false;
    });
    row.append(button);
  }
  return row;
}

/** An answer. `act.press(id, data)`, `act.view(file)` and `act.retry(question)` do what a person asks for. */
export class AnswerView {
  constructor(act) {
    this.act = act;
    this.steps = new StepsView();
    this.text = h("div", { class: "text markdown", dir: "auto" });
    this.markdown = new MarkdownView(this.text);
    this.thoughts = h("div", { class: "thoughts" });
    this.thinking = h("details", { class: "thinking", hidden: true }, h("summary", {}, t("thinking")), this.thoughts);
    this.after = h("div", { class: "after" });
    this.question = null; // what it answers, where that can be asked again
    this.copyButton = iconButton("copy", t("copy_message"), () => copy(this.said, this.text, this.copyButton));
    this.retryButton = iconButton("retry", t("retry"), () => act.retry(this.question));
    this.retryButton.classList.add("anew");
    this.tools = h("div", { class: "tools", hidden: true }, this.copyButton, this.retryButton);
    this.root = h(
      "article", { class: "message answer", "aria-label": t("answer"), tabindex: "-1" },
      this.steps.root, this.thinking, this.text, this.after, this.tools,
    );
    this.answers(null);
  }

  /** Say which message this answers; null where nothing can be asked again. */
  answers(question) {
    this.question = question;
    this.retryButton.hidden = !question;
  }

  /** The finished message. Its text takes the place of what was streamed, block by block. */
  finish(message) {
    this.id = message.id;
    this.root.dataset.id = message.id;
    this.root.classList.remove("live", "closed");
    this.root.removeAttribute("aria-busy");
    this.steps.show(message.steps || [], { live: false, status: "" });
    this.said = message.text;
    this.tools.hidden = !message.text;
    this.markdown.show(message.text);
    const files = message.files.map((file) => fileView(file, this.act.view));
    const row = message.buttons.length ? buttonRow(message.buttons, (data) => this.act.press(message.id, data)) : null;
    this.after.replaceChildren(...files, ...(row ? [row] : []));
    return this;
  }
}

/** An answer in the making; draws at most once a frame, however fast the events come. */
export class LiveView extends AnswerView {
  constructor(id, act) {
    super(act);
    this.liveId = id;
    this.state = { text: "", thinking: "", status: "", steps: [], buttons: [], closed: false };
    this.root.classList.add("live");
    this.root.setAttribute("aria-busy", "true");
    this.frame = 0;
    this.draw();
  }

  /** Take a preview event; `drawn` is called after it is visible. */
  update(event, drawn) {
    const state = this.state;
    for (const name of ["text", "thinking"]) {
      if (event[name] !== undefined) state[name] = event[name];
      if (event[`${name}_add`] !== undefined) state[name] += event[`${name}_add`];
    }
    for (const name of ["status", "steps", "buttons", "closed"]) {
      if (event[name] !== undefined) state[name] = event[name];
    }
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
      drawn();
    });
  }

  draw() {
    const { text, thinking, status, steps, closed } = this.state;
    this.root.classList.toggle("closed", closed);
    const waits = closed && this.asks();
    this.steps.show(steps, { live: !waits, status: waits ? "" : closed ? t("finishing") : status });
    this.thinking.hidden = !thinking;
    this.thoughts.textContent = thinking;
    this.markdown.show(text);
    const others = this.state.buttons.filter((button) => button !== this.stopButton());
    const row = others.length && !closed ? [buttonRow(others, (data) => this.act.press(this.liveId, data))] : [];
    if (this.after.childElementCount || row.length) this.after.replaceChildren(...row);
  }

  /** Whether a question above waits for the person: then nothing goes on here until they decide. */
  asks() {
    return Boolean(this.root.parentElement?.querySelector(":scope > .message.answer:not(.live) .buttons"));
  }

  /** The button that the composer shows, if the turn can be stopped. */
  stopButton() {
    if (this.state.closed) return null;
    return this.state.buttons.find((button) => button.style === "danger") || null;
  }

  finish(message) {
    cancelAnimationFrame(this.frame);
    return super.finish(message);
  }
}
