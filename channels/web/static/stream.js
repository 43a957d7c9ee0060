// The events of one session. Each connection begins with the history, so a lost one costs nothing but a moment.

import { getSessions } from "/static/api.js";

const NAMES = ["history", "preview", "message", "user", "answer"];
const RETRY = [500, 1000, 2000, 4000, 8000];
const HIDDEN = 30_000; // ms after which a hidden page lets go: browsers allow six connections to one server

export class Stream {
  /** `on[name](data)` for each event; `on.state("open" | "lost" | "gone")`. */
  constructor(on) {
    this.on = on;
    this.session = null;
    this.source = null;
    this.tries = 0;
    this.timer = 0;
    this.hiddenTimer = 0;
    document.addEventListener("visibilitychange", () => this.visibility());
    window.addEventListener("online", () => this.again());
    window.addEventListener("pagehide", () => this.close());
    window.addEventListener("pageshow", (event) => event.persisted && this.open(this.session));
  }

  open(session) {
    this.close();
    this.session = session;
    if (!session) return;
    const source = new EventSource(`/chat/events?session=${encodeURIComponent(session)}`);
    this.source = source;
    for (const name of NAMES) {
      source.addEventListener(name, (event) => {
        if (source !== this.source) return;
        if (name === "history") {
          this.tries = 0;
          this.on.state("open");
        }
        this.on[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("reload", () => source === this.source && this.open(session));
    source.onerror = () => source === this.source && this.lost();
  }

  close() {
    clearTimeout(this.timer);
    if (this.source) this.source.close();
    this.source = null;
  }

  lost() {
    this.close();
    this.on.state("lost");
    const wait = RETRY[Math.min(this.tries++, RETRY.length - 1)];
    this.timer = setTimeout(() => this.check(), wait);
  }

  /** An EventSource does not tell why it failed; this request does, and goes to the login page if need be. */
  async check() {
    const session = this.session;
    const mine = () => session === this.session && !this.source;
    try {
      const { sessions } = await getSessions();
      if (!mine()) return;
      if (sessions.some((item) => item.id === session)) this.open(session);
      else this.on.state("gone");
    } catch {
      if (mine()) this.lost();
    }
  }

  again() {
    if (this.session && !this.source) {
      clearTimeout(this.timer);
      this.check();
    }
  }

  visibility() {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) this.hiddenTimer = setTimeout(() => this.close(), HIDDEN);
    else this.again();
  }
}
