// The message field: drafts, growing, sending with Enter, the command menu, the Stop button.

import { byId, h } from "/static/dom.js";
import { t } from "/static/texts.js";

const STORE = "swarmgate.draft:";

export class Composer {
  /** `on.send(text)`, `on.stop(data)` resolving to whether it arrived. */
  constructor(on) {
    this.on = on;
    this.input = byId("input");
    this.sendButton = byId("send");
    this.stopButton = byId("stop");
    this.menu = byId("commands");
    this.commands = [];
    this.chosen = 0;
    this.session = null;
    this.stopData = null;
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.input.addEventListener("input", () => this.edited());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => this.closeMenu());
    this.stopButton.addEventListener("click", () => this.stop());
    byId("composer").addEventListener("click", (event) => {
      if (event.target.id === "composer") this.input.focus();
    });
  }

  /** Another session: its own draft. */
  open(session) {
    this.session = session;
    this.set(localStorage.getItem(STORE + (session || "")) || "");
  }

  /** Put text into the field, for example one that was refused. */
  set(text) {
    this.input.value = text;
    this.edited();
  }

  focus() {
    // On a phone the keyboard would cover the chat that was just opened.
    if (matchMedia("(hover: hover)").matches) this.input.focus();
  }

  edited() {
    const text = this.input.value;
    if (text) localStorage.setItem(STORE + (this.session || ""), text);
    else localStorage.removeItem(STORE + (this.session || ""));
    this.sendButton.disabled = !text.trim();
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
    this.openMenu(text);
  }

  key(event) {
    // While a Chinese or Japanese word is composed, Enter takes the word; Safari tells so by code 229 only.
    if (event.isComposing || event.keyCode === 229) return;
    if (!this.menu.hidden && this.menuKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.send();
    }
  }

  send() {
    const text = this.input.value.trim();
    if (!text) return;
    this.set("");
    this.on.send(text);
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

  openMenu(text) {
    const typed = /^\/(\S*)$/.exec(text);
    const found = typed ? this.commands.filter((c) => c.name.startsWith(typed[1].toLowerCase())) : [];
    if (!found.length) {
      this.closeMenu();
      return;
    }
    this.found = found;
    this.menu.replaceChildren(...found.map((command, index) => this.option(command, index)));
    this.menu.hidden = false;
    this.choose(0);
  }

  option(command, index) {
    const name = h("strong", {}, `/${command.name}`);
    const item = h("li", { role: "option", id: `command-${index}` }, name, h("span", {}, command.description));
    item.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps its focus
      this.complete(index);
    });
    return item;
  }

  choose(index) {
    this.chosen = index;
    [...this.menu.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    this.menu.children[index].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `command-${index}`);
  }

  menuKey(event) {
    const count = this.found.length;
    if (event.key === "ArrowDown") this.choose((this.chosen + 1) % count);
    else if (event.key === "ArrowUp") this.choose((this.chosen + count - 1) % count);
    else if (event.key === "Escape") this.closeMenu();
    else if (event.key === "Tab" && !event.shiftKey) this.complete(this.chosen);
    else if (event.key === "Enter" && !event.shiftKey) {
      if (this.input.value === `/${this.found[this.chosen].name}`) return false;
      this.complete(this.chosen);
    } else return false;
    return true;
  }

  complete(index) {
    this.set(`/${this.found[index].name} `);
    this.closeMenu();
    this.input.focus();
  }

  closeMenu() {
    this.menu.hidden = true;
    this.input.removeAttribute("aria-activedescendant");
  }
}
