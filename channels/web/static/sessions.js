// The list of chats: beside the messages on a wide window, a drawer on a narrow one.

import { getSessions } from "/static/api.js";
import { byId, h } from "/static/dom.js";
import { language, t } from "/static/texts.js";

export class Sessions {
  /** `on.open(id)` with null for a new chat, `on.titled(title)` when the open one's title is known. */
  constructor(on) {
    this.on = on;
    this.items = [];
    this.current = null;
    this.layout = document.querySelector(".layout");
    this.opener = byId("drawer-open");
    byId("new").addEventListener("click", () => this.pick(null));
    byId("new-narrow").addEventListener("click", () => this.pick(null));
    this.opener.addEventListener("click", () => this.drawer(true));
    byId("drawer-close").addEventListener("click", () => this.drawer(false));
    byId("shade").addEventListener("click", () => this.drawer(false));
    matchMedia("(max-width: 52rem)").addEventListener("change", () => this.drawer(false));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.layout.classList.contains("drawer-open")) this.drawer(false);
    });
  }

  drawer(open) {
    this.layout.classList.toggle("drawer-open", open);
    this.opener.setAttribute("aria-expanded", String(open));
    document.querySelector("main").inert = open; // the keyboard stays in the drawer
    if (open) byId("drawer-close").focus();
    else if (document.activeElement?.closest("#drawer")) this.opener.focus();
  }

  pick(id) {
    this.drawer(false);
    this.on.open(id);
  }

  /** Read the list anew; resolves to what may be sent in files. */
  async load() {
    const { person, sessions, files } = await getSessions();
    byId("person").textContent = person;
    this.items = sessions;
    this.draw();
    return files;
  }

  select(id) {
    this.current = id;
    this.draw();
  }

  /** A first title from the first message, until the server has its own. */
  note(id, text) {
    const known = this.items.find((item) => item.id === id);
    if (known && known.title) return;
    const title = text.replace(/\s+/g, " ").slice(0, 60);
    if (known) known.title = title;
    else this.items.unshift({ id, title, updated_at: new Date().toISOString() });
    this.draw();
  }

  draw() {
    const today = new Date().toDateString();
    const groups = { today: [], earlier: [] };
    for (const item of this.items) {
      groups[new Date(item.updated_at).toDateString() === today ? "today" : "earlier"].push(this.line(item));
    }
    const parts = Object.entries(groups).filter(([, lines]) => lines.length).map(([name, lines]) =>
      h("li", {}, h("span", { class: "group" }, t(name)), h("ul", { "aria-label": t(name) }, ...lines)));
    byId("sessions").replaceChildren(...parts);
    const open = this.items.find((item) => item.id === this.current);
    this.on.titled(open && open.title ? open.title : t("new_chat"));
  }

  line(item) {
    const now = item.id === this.current;
    const title = item.title || t("new_chat");
    const when = new Date(item.updated_at).toLocaleString(language);
    const link = h("a", { href: `#${encodeURIComponent(item.id)}`, title: `${title}\n${when}` }, title);
    if (now) link.setAttribute("aria-current", "page");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.pick(item.id);
    });
    return h("li", {}, link);
  }
}
