// What a person sent and the server has not confirmed. It is tried again, with the same key, until it is; the server
// takes each key once. It outlives a reload of the page.

import { createSession, newKey, postMessage } from "/static/api.js";

const STORE = "swarmgate.outgoing";
const RETRY = [1000, 2000, 4000, 8000, 15000];

function load() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE) || "[]");
  } catch {
    return [];
  }
}

export class Outgoing {
  /** `on.state(entry, "sending" | "unsent" | "sent")`, `on.session(entry)` for a new chat, `on.refused(entry, failure)`. */
  constructor(on) {
    this.on = on;
    this.entries = load();
    this.busy = false;
    this.wake = null;
    window.addEventListener("online", () => this.wake && this.wake());
  }

  /** Ids on their way to `session`. */
  pending(session) {
    return this.entries.filter((entry) => entry.session === session);
  }

  add(session, text) {
    const entry = { key: newKey(), session, text };
    this.entries.push(entry);
    this.save();
    this.run();
    return entry;
  }

  save() {
    sessionStorage.setItem(STORE, JSON.stringify(this.entries));
  }

  done(key) {
    this.entries = this.entries.filter((entry) => entry.key !== key);
    this.save();
  }

  /** Send in order, one at a time. */
  async run() {
    if (this.busy) return;
    this.busy = true;
    let tries = 0;
    while (this.entries.length) {
      const entry = this.entries[0];
      try {
        await this.send(entry);
        tries = 0;
      } catch (failure) {
        if (failure.temporary) {
          this.on.state(entry, "unsent");
          await this.pause(RETRY[Math.min(tries++, RETRY.length - 1)]);
        } else {
          if (failure.status === 401) break; // kept: it goes out after the login
          this.done(entry.key);
          this.on.refused(entry, failure);
        }
      }
    }
    this.busy = false;
  }

  async send(entry) {
    this.on.state(entry, "sending");
    if (!entry.session) {
      entry.session = (await createSession()).id;
      this.save();
      this.on.session(entry);
    }
    await postMessage(entry.session, entry.key, entry.text);
    this.done(entry.key);
    this.on.state(entry, "sent");
  }

  pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
