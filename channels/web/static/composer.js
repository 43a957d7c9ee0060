// The message field: drafts, files, editing what was said, growing, sending with Enter, the Stop button.

import { CommandMenu } from "/static/command_menu.js";
import { announce, byId } from "/static/dom.js";
import { loadDraft, saveDraft } from "/static/drafts.js";
import { t } from "/static/texts.js";
import { Tray } from "/static/tray.js";

export class Composer {
  /**
   * `on.send({text, files, again})`; `on.stop(data)` resolving to whether it arrived; `on.place()` resolving to the
   * session, made if need be; `on.problem(words)`; `on.editLast()` to edit what was said last.
   */
  constructor(on) {
    this.on = on;
    this.form = byId("composer");
    this.input = byId("input");
    this.sendButton = byId("send");
    this.stopButton = byId("stop");
    this.menu = new CommandMenu(this.input, (text) => this.write(text));
    this.session = null;
    this.again = null; // the id of the message that is being edited
    this.before = null; // what was in the field when editing began
    this.stopData = null;
    this.tray = new Tray({ place: on.place, problem: on.problem, changed: () => this.edited() });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.form.addEventListener("click", (event) => {
      if (event.target === this.form) this.input.focus();
    });
    this.input.addEventListener("input", () => this.edited());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("paste", (event) => this.paste(event));
    this.stopButton.addEventListener("click", () => this.stop());
    byId("edit-cancel").addEventListener("click", () => this.cancelEdit());
  }

  /** Another session: its own draft. */
  open(session) {
    this.session = session;
    this.before = null;
    this.load(loadDraft(session));
  }

  /** The first message, or file, of a new chat has made its session. */
  moved(session) {
    saveDraft(this.session, { text: "", files: [], again: null });
    this.session = session;
    this.edited();
  }

  load({ text, files, again }) {
    this.again = again;
    this.input.value = text;
    byId("editing").hidden = !again;
    this.tray.show(files); // and so all else is drawn
  }

  /** Put what was refused back into the field, before what is written there by now. */
  restore({ text, files, again }) {
    const now = this.input.value;
    const both = [...files, ...this.tray.kept.filter((file) => !files.some((f) => f.ref === file.ref))];
    this.load({ text: now ? `${text}\n${now}` : text, files: both, again: again || this.again });
  }

  write(text) {
    this.input.value = text;
    this.edited();
  }

  focus() {
    // On a phone the keyboard would cover the chat that was just opened.
    if (matchMedia("(hover: hover)").matches) this.input.focus();
  }

  edited() {
    const text = this.input.value;
    const files = this.tray.kept;
    saveDraft(this.session, { text, files, again: this.again });
    this.sendButton.disabled = this.tray.busy || !(text.trim() || files.length);
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
    this.menu.show(text);
  }

  key(event) {
    // While a Chinese or Japanese word is composed, Enter takes the word; Safari tells so by code 229 only.
    if (event.isComposing || event.keyCode === 229) return;
    if (this.menu.key(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.again) this.cancelEdit();
    else if (event.key === "ArrowUp" && !event.altKey && !this.input.value && !this.again) {
      event.preventDefault();
      this.on.editLast();
    }
  }

  paste(event) {
    // A table copied from a spreadsheet comes as words and as a picture of them: the words are meant.
    const { files, types } = event.clipboardData;
    if (!files.length || types.includes("text/plain")) return;
    event.preventDefault();
    this.tray.add(files);
  }

  /** Edit a message of the person: it stays as it is until the new words are sent. */
  edit({ id, text, files }) {
    if (!this.again) this.before = { text: this.input.value, files: this.tray.kept, again: null };
    this.load({ text, files, again: id });
    this.input.focus();
    this.input.setSelectionRange(text.length, text.length);
    announce(t("editing"));
  }

  cancelEdit() {
    this.load(this.before || { text: "", files: [], again: null });
    this.before = null;
    this.input.focus();
  }

  send() {
    const text = this.input.value.trim();
    const files = this.tray.kept;
    if (this.tray.busy) this.on.problem(t("still_sending"));
    if (this.tray.busy || !(text || files.length)) return;
    const { again } = this;
    this.load(this.before || { text: "", files: [], again: null });
    this.before = null;
    this.on.send({ text, files, again });
  }

  // The Stop button is what the answer in the making offers; see LiveView.stopButton.
  offerStop(button) {
    this.stopButton.hidden = !button;
    if (!button) {
      this.stopData = null;
    } else if (button.data !== this.stopData) {
      this.stopData = button.data;
      this.stopButton.disabled = false;
      this.stopButton.lastElementChild.textContent = button.label;
    }
  }

  async stop() {
    const label = this.stopButton.lastElementChild;
    const before = label.textContent;
    this.stopButton.disabled = true;
    label.textContent = t("stopping");
    if (await this.on.stop(this.stopData)) return;
    this.stopButton.disabled = false;
    label.textContent = before;
  }
}
