// The list of commands that a slash opens above the message field.

import { byId, h } from "/static/dom.js";

export class CommandMenu {
  /** `input`: the field; `fill(text)` puts a chosen command into it. */
  constructor(input, fill) {
    this.input = input;
    this.fill = fill;
    this.root = byId("commands");
    this.commands = [];
    this.found = [];
    this.chosen = 0;
    input.addEventListener("blur", () => this.close());
  }

  /** Show what begins as `text` does, or nothing. */
  show(text) {
    const typed = /^\/(\S*)$/.exec(text);
    this.found = typed ? this.commands.filter((c) => c.name.startsWith(typed[1].toLowerCase())) : [];
    if (!this.found.length) {
      this.close();
      return;
    }
    this.root.replaceChildren(...this.found.map((command, index) => this.option(command, index)));
    this.root.hidden = false;
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
    [...this.root.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    this.root.children[index].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `command-${index}`);
  }

  /** Whether the key was for the menu. */
  key(event) {
    if (this.root.hidden) return false;
    const count = this.found.length;
    if (event.key === "ArrowDown") this.choose((this.chosen + 1) % count);
    else if (event.key === "ArrowUp") this.choose((this.chosen + count - 1) % count);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Tab" && !event.shiftKey) this.complete(this.chosen);
    else if (event.key === "Enter" && !event.shiftKey) {
      if (this.input.value === `/${this.found[this.chosen].name}`) return false;
      this.complete(this.chosen);
    } else return false;
    return true;
  }

  complete(index) {
    this.fill(`/${this.found[index].name} `);
    this.close();
    this.input.focus();
  }

  close() {
    this.root.hidden = true;
    this.input.removeAttribute("aria-activedescendant");
  }
}
