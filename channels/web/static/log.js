// The messages of the session that is open, in order; the answer in the making is always the last.

import { byId } from "/static/dom.js";
import { AnswerView, LiveView, UserView } from "/static/messages.js";

const NEAR = 80; // px from the end within which new text keeps the end in view

export class Log {
  /** `act` as in AnswerView, and `act.changed()` after the answer in the making came, changed or went. */
  constructor(act) {
    this.act = act;
    this.root = byId("log");
    this.scroller = byId("scroll");
    this.latest = byId("latest");
    this.announcer = byId("announce");
    this.views = new Map();
    this.live = null;
    this.follow = true;
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.latest.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.keepEnd()).observe(this.root);
    new ResizeObserver(() => this.keepEnd()).observe(this.scroller);
  }

  get empty() {
    return this.views.size === 0 && !this.live;
  }

  clear() {
    this.views.clear();
    this.live = null;
    this.root.replaceChildren();
    this.follow = true;
    this.act.changed();
  }

  /** The history anew: what is there already stays as it is; `pending` are ids still on their way. */
  history({ messages, live }, pending) {
    const wanted = new Set(messages.map((message) => message.id));
    for (const [id, view] of this.views) {
      if (wanted.has(id) || pending.has(id)) continue;
      view.root.remove();
      this.views.delete(id);
    }
    const waiting = this.live?.liveId === null && (live || pending.size || messages.at(-1)?.role === "user");
    if (this.live && this.live.liveId !== live && !waiting) this.dropLive();
    let after = null;
    for (const message of messages) {
      const view = this.views.get(message.id) || this.make(message);
      if (view instanceof UserView) view.state("sent");
      const place = after ? after.nextSibling : this.root.firstChild;
      if (place !== view.root) this.root.insertBefore(view.root, place);
      after = view.root;
    }
    this.act.changed();
    this.keepEnd();
  }

  make(message) {
    const view = message.role === "user" ? new UserView(message) : new AnswerView(this.act).finish(message);
    this.views.set(message.id, view);
    return view;
  }

  /** A person's message: one of this page comes in state "sending". */
  user(message, state = "sent") {
    const known = this.views.get(message.id);
    if (known) {
      known.state(state);
      return;
    }
    const view = new UserView(message, state);
    this.views.set(message.id, view);
    this.add(view);
    if (state === "sending") this.toEnd();
  }

  remove(id) {
    const view = this.views.get(id);
    if (view) view.root.remove();
    this.views.delete(id);
  }

  /** Something is being done about a message that was just sent, but nothing is known of it yet. */
  wait() {
    if (!this.live) this.startLive(null);
  }

  preview(event) {
    if (this.live && this.live.liveId === null) this.live.liveId = event.id;
    if (!this.live || this.live.liveId !== event.id) {
      this.dropLive();
      this.startLive(event.id);
    }
    this.live.update(event, () => {
      this.keepEnd();
      this.act.changed();
    });
  }

  message({ message, preview }) {
    const known = this.views.has(message.id);
    const mine = this.live && (preview ? this.live.liveId === preview : this.live.liveId === null);
    if (mine && !known) {
      this.views.set(message.id, this.live.finish(message));
      this.live = null;
    } else {
      if (mine) this.dropLive();
      if (!known) this.add(this.make(message));
    }
    if (!known) this.announcer.textContent = this.views.get(message.id).text.textContent;
    this.act.changed();
    this.keepEnd();
  }

  startLive(id) {
    this.live = new LiveView(id, this.act);
    this.root.append(this.live.root);
    this.act.changed();
    this.keepEnd();
  }

  dropLive() {
    if (!this.live) return;
    cancelAnimationFrame(this.live.frame);
    this.live.root.remove();
    this.live = null;
  }

  add(view) {
    this.root.insertBefore(view.root, this.live ? this.live.root : null);
    this.act.changed();
    this.keepEnd();
  }

  scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    this.follow = scrollHeight - scrollTop - clientHeight < NEAR;
    this.latest.hidden = this.follow;
  }

  keepEnd() {
    if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
    else this.scrolled();
  }

  toEnd() {
    this.follow = true;
    this.keepEnd();
  }
}
