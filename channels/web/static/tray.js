// Files that go out with the next message: handed over at once, shown above the field until they are sent.

import { postFile } from "/static/api.js";
import { byId, h } from "/static/dom.js";
import { fileChip } from "/static/files.js";
import { iconButton } from "/static/icons.js";
import { t } from "/static/texts.js";

const RETRY = [1000, 2000, 4000, 8000];

function drop(item) {
  item.aborter.abort();
  if (item.preview) URL.revokeObjectURL(item.preview);
}

export class Tray {
  /** `on.place()` resolves to the session; `on.changed()` after any change; `on.problem(words)` says what is wrong. */
  constructor(on) {
    this.on = on;
    this.root = byId("tray");
    this.picker = byId("picker");
    this.limits = { bytes: 20 * 2 ** 20, count: 10 }; // until the server has told its own
    this.items = []; // {file, kept, root, aborter}
    byId("attach").addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.add(this.picker.files);
      this.picker.value = "";
    });
  }

  /** What the server has, as it told it. */
  get kept() {
    return this.items.filter((item) => item.kept).map((item) => item.kept);
  }

  get busy() {
    return this.items.some((item) => !item.kept);
  }

  /** Show files that the server has already, in place of what is shown. */
  show(kept) {
    this.items.forEach(drop);
    this.items = kept.map((file) => this.item(file, file));
    this.draw();
  }

  add(files) {
    for (const file of files) {
      const wrong = this.wrong(file);
      if (wrong) {
        this.on.problem(wrong);
        continue;
      }
      const item = this.item({ name: file.name || t("picture"), media_type: file.type, size: file.size }, null);
      item.preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : "";
      this.items.push(item);
      this.hand(item, file);
    }
    this.draw();
  }

  wrong(file) {
    if (this.items.length >= this.limits.count) return t("files_many", { n: this.limits.count });
    if (!file.size) return t("file_empty", { name: file.name });
    if (file.size > this.limits.bytes) return t("file_large", { name: file.name, mb: this.limits.bytes >> 20 });
    return "";
  }

  item(file, kept) {
    return { file, kept, aborter: new AbortController(), preview: "" };
  }

  /** Hand a file over; a lost connection is waited out. */
  async hand(item, file) {
    for (let tries = 0; !item.aborter.signal.aborted; tries++) {
      try {
        item.kept = await postFile(await this.on.place(), item.file.name, file, item.aborter.signal);
        if (this.items.some((other) => other !== item && other.kept?.ref === item.kept.ref)) this.remove(item);
        break;
      } catch (failure) {
        if (item.aborter.signal.aborted) return;
        if (!failure.temporary || failure.code === "file_often") {
          this.remove(item);
          this.on.problem(this.words(failure, item.file.name));
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY[Math.min(tries, RETRY.length - 1)]));
      }
    }
    this.draw();
  }

  words(failure, name) {
    const known = ["file_kind", "file_large", "file_empty", "file_often"];
    if (!known.includes(failure.code)) return t("file_failed", { name });
    return t(failure.code, { name, mb: this.limits.bytes >> 20 });
  }

  remove(item) {
    drop(item);
    this.items = this.items.filter((other) => other !== item);
    this.draw();
  }

  draw() {
    this.root.hidden = !this.items.length;
    this.root.replaceChildren(...this.items.map((item) => this.line(item)));
    this.on.changed();
  }

  line(item) {
    const name = item.file.name;
    const remove = iconButton("close", t("remove", { name }), () => {
      this.remove(item);
      byId("input").focus();
    });
    const chip = fileChip(item.kept || item.file, item.preview);
    const state = item.kept ? null : h("span", { class: "sending", role: "status" }, t("sending"));
    return h("li", { class: item.kept ? "kept" : "going" }, chip, state, remove);
  }
}
