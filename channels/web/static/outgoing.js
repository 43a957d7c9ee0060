// What a person sent and the server has not confirmed. It is tried again, with the same key, until it is; the server
// takes each key once. It outlives a reload of the page.

import { createSession, newKey, postMessage } from "/static/api.js";
import { anewKey } from "/static/versions.js";

const STORE = "swarmgate.outgoing";
const RETRY = [1000, 2000, 4000, 8000, 15000];

function load() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORE) || "[]");
    return stored.map((entry) => ({ files: [], again: null, ...entry }));
  } catch {
    return [];
  }
}

export class Outgoing {
  /** `on.state(entry, "sending" | "unsent" | "sent")`, `on.session(id, text)` for a new chat, `on.refused(entry, failure)`. */
  constructor(on) {
    this.on = on;
    this.entries = load();
    this.busy = false;
    this.wake = null;
    this.making = null;
    window.addEventListener("online", () => this.wake && this.wake());
  }

  /** Ids on their way to `session`. */
  pending(session) {
    return this.entries.filter((entry) => entry.session === session);
  }

  /** `again`: the id of the message that this one says anew. Null for one that is on its way already. */
  add(session, { text, files, again }) {
    const entry = { key: again ? anewKey(again) : newKey(), session, text, files, again };
    if (this.entries.some((other) => other.key === entry.key)) return null;
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
      const session = await this.place();
      entry.session ??= session; // unless those that wait for one have got it meanwhile
      this.save();
      this.on.session(session, entry.text);
    }
    await postMessage(entry);
    this.done(entry.key);
    this.on.state(entry, "sent");
  }

  /** A new session; those who ask while it is made get the same. */
  place() {
    this.making ||= createSession().then(({ id }) => id).finally(() => { this.making = null; });
    return this.making;
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
