// The messages of the session that is open, in order; the answer in the making is always the last.

import { announce, byId } from "/static/dom.js";
import { AnswerView, LiveView, UserView } from "/static/messages.js";
import { Fold, arranged, isCommand, place } from "/static/versions.js";

const NEAR = 80; // px from the end within which scrolling down takes hold of the end again
const AT_END = 2; // px: browsers round

export class Log {
  /** `act` as in AnswerView, and `act.changed()` after the answer in the making came, changed or went. */
  constructor(act) {
    this.act = act;
    this.root = byId("log");
    this.scroller = byId("scroll");
    this.latest = byId("latest");
    this.views = new Map(); // of messages by id, in their order
    this.folds = new Map(); // by the id of the first message that is folded
    this.loaded = false; // the history has come
    this.live = null;
    this.follow = true; // keep the end in view; only a person who scrolls up lets go of it
    this.seen = { top: 0, height: 0, view: 0 }; // where we left the scroller
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.latest.addEventListener("click", () => this.toEnd());
    this.root.addEventListener("click", (event) => {
      if (event.target.closest("summary")) this.follow = false; // what was clicked stays under the pointer
    });
    new ResizeObserver(() => this.keepEnd()).observe(this.root);
    new ResizeObserver(() => this.keepEnd()).observe(this.scroller);
  }

  get empty() {
    return this.views.size === 0 && !this.live;
  }

  clear() {
    this.views.clear();
    this.folds.clear();
    this.loaded = false;
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
    const known = this.live?.liveId;
    const waiting = known === null && (live || pending.size || messages.at(-1)?.role === "user");
    if (this.live && !waiting && (known === null || known !== live)) this.dropLive();
    const before = this.views;
    this.views = new Map();
    for (const message of messages) {
      const view = before.get(message.id) || this.make(message);
      if (view instanceof UserView) view.state("sent");
      this.views.set(message.id, view);
      before.delete(message.id);
    }
    for (const [id, view] of before) this.views.set(id, view); // still on their way
    this.loaded = true;
    this.arrange();
  }

  /** Put the messages into their places: in sight, or folded above what says them anew. The live one is the last. */
  arrange() {
    const items = [...this.views].map(([id, view]) => ({ id, again: view.message?.again }));
    const folds = new Map();
    const nodes = [];
    let question = null;
    let last = null; // the last answer to it, which offers to ask again
    for (const { id, ids } of arranged(items)) {
      if (ids) {
        const fold = this.folds.get(ids[0]) || new Fold();
        fold.show(ids.map((each) => this.views.get(each).root));
        folds.set(ids[0], fold);
        nodes.push(fold.root);
        continue;
      }
      const view = this.views.get(id);
      if (view instanceof UserView) {
        question = isCommand(view.message.text) ? null : view.message;
        last = null;
      } else {
        last?.answers(null);
        view.answers(question);
        last = view;
      }
      nodes.push(view.root);
    }
    for (const [id, fold] of this.folds) if (!folds.has(id)) fold.root.remove();
    this.folds = folds;
    place(this.root, nodes);
    this.act.changed();
    this.keepEnd();
  }

  make(message) {
    const mine = message.role === "user";
    const view = mine ? new UserView(message, this.act) : new AnswerView(this.act).finish(message);
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
    this.views.set(message.id, new UserView(message, this.act, state));
    this.arrange();
    if (state === "sending") this.toEnd();
  }

  remove(id) {
    const view = this.views.get(id);
    if (view) view.root.remove();
    this.views.delete(id);
    this.arrange(); // what it said anew is in sight once more
  }

  /** The person's newest message that can be edited, or null. */
  lastQuestion() {
    const mine = [...this.views.values()].filter((view) => view instanceof UserView);
    const message = mine.at(-1)?.message;
    return message && !isCommand(message.text) ? message : null;
  }

  /** The files of all pictures in sight, in order. */
  pictures() {
    return [...this.root.querySelectorAll(":scope > .message .enlarge")].map((button) => button.file);
  }

  /** Move the focus to the message before or after the one that has it; from elsewhere, to the last one. */
  step(steps) {
    const all = [...this.root.querySelectorAll(":scope > .message")];
    const at = all.indexOf(document.activeElement?.closest(".log > .message"));
    const next = at < 0 ? all.at(-1) : all[at + steps];
    if (next) next.focus();
    return Boolean(next);
  }

  /** Something is being done about the message `key` that was just sent, but nothing is known of it yet. */
  wait(key) {
    const answered = this.views.get(key)?.root.nextSibling; // a command's answer may be faster than the confirmation
    if (!this.live && !answered) this.startLive(null);
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
    } else if (known) {
      if (mine && preview) this.dropLive();
      this.views.get(message.id).finish(message); // it may say something else now, as a decided question does
    } else {
      if (mine) this.dropLive();
      this.make(message);
    }
    if (!known) announce(this.views.get(message.id).text.textContent);
    this.arrange();
    if (this.live) this.live.draw(); // whether it waits for a person may have changed
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

  /** A person scrolled, or the browser did because the content became shorter: only the former lets go of the end. */
  scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    const { top, height, view } = this.seen;
    const gap = scrollHeight - scrollTop - clientHeight;
    const byHand = scrollHeight === height && clientHeight === view;
    if (this.follow && !byHand) {
      this.keepEnd();
      return;
    }
    if (this.follow) this.follow = gap < AT_END || scrollTop >= top;
    else this.follow = gap < AT_END || (byHand && gap < NEAR && scrollTop > top);
    this.remember();
    this.latest.hidden = this.follow || gap < NEAR;
  }

  keepEnd() {
    if (!this.follow) {
      this.scrolled();
      return;
    }
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.remember();
    this.latest.hidden = true;
  }

  remember() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    this.seen = { top: scrollTop, height: scrollHeight, view: clientHeight };
  }

  toEnd() {
    this.follow = true;
    this.keepEnd();
  }
}
