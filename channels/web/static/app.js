// The page: which session is open, and what goes where.

import { getCommands, postPress } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { byId, h } from "/static/dom.js";
import { Log } from "/static/log.js";
import { Outgoing } from "/static/outgoing.js";
import { Sessions } from "/static/sessions.js";
import { Stream } from "/static/stream.js";
import { examples, language, t, translatePage } from "/static/texts.js";
import { viewPicture } from "/static/viewer.js";

const NOTE = 5000; // ms that a note stays

let current = null;
let noteTimer = 0;

translatePage();

const log = new Log({ press, view: viewPicture, changed });
const composer = new Composer({ send, stop: (data) => press(log.live?.liveId, data) });
const sessions = new Sessions({ open, titled });
const outgoing = new Outgoing({ state: sent, session: created, refused });
const stream = new Stream({
  history: (data) => log.history(data, pendingKeys()),
  preview: (data) => log.preview(data),
  message: (data) => {
    if (noteTimer) note("");
    log.message(data);
    refreshSessions();
  },
  user: ({ message }) => {
    if (!pendingKeys().has(message.id)) log.user(message);
    sessions.note(current, message.text);
  },
  answer: ({ text }) => text && note(text),
  state: connection,
});

function pendingKeys() {
  return new Set(outgoing.pending(current).map((entry) => entry.key));
}

function open(session) {
  current = session;
  const hash = session ? `#${encodeURIComponent(session)}` : "";
  if (location.hash !== hash) history.pushState(null, "", hash || location.pathname);
  connection("open");
  problem("");
  log.clear();
  for (const entry of outgoing.pending(session)) log.user({ id: entry.key, text: entry.text }, "unsent");
  sessions.select(session);
  composer.open(session);
  stream.open(session);
  changed();
  composer.focus();
}

function send(text) {
  problem("");
  const entry = outgoing.add(current, text);
  if (entry.session === current) log.user({ id: entry.key, text }, "sending");
  if (current) sessions.note(current, text);
}

/** How a message that this page sent fares. */
function sent(entry, state) {
  if (entry.session !== current) return;
  log.user({ id: entry.key, text: entry.text }, state);
  if (state === "sent") log.wait(entry.key);
}

/** The first message of a new chat has made its session. */
function created(entry) {
  sessions.note(entry.session, entry.text);
  if (current !== null) return;
  current = entry.session;
  history.replaceState(null, "", `#${encodeURIComponent(current)}`);
  for (const other of outgoing.pending(null)) other.session = current; // written before the session was there
  outgoing.save();
  composer.session = current;
  sessions.select(current);
  stream.open(current);
}

function refused(entry, failure) {
  if (entry.session !== current) return;
  log.remove(entry.key);
  composer.set(composer.input.value ? `${entry.text}\n${composer.input.value}` : entry.text);
  problem(failure);
  changed();
}

async function press(messageId, data) {
  problem("");
  try {
    await postPress(current, messageId, data);
    return true;
  } catch (failure) {
    problem(failure.code === "offline" ? failure : t("press_failed"));
    return false;
  }
}

/** What the gateway says to a press: nothing went wrong, and it goes by itself. */
function note(words) {
  problem(words);
  byId("problem").classList.add("note");
  noteTimer = words ? setTimeout(() => note(""), NOTE) : 0;
}

function problem(what) {
  clearTimeout(noteTimer);
  noteTimer = 0;
  const known = { too_long: "too_long", unknown_session: "unknown_session", offline: "offline" };
  const line = byId("problem");
  const words = typeof what === "string" ? what : known[what.code] ? t(known[what.code]) : t("failed");
  line.classList.remove("note");
  line.textContent = words;
  line.hidden = !words;
}

function connection(state) {
  const line = byId("connection");
  const words = { open: "", gone: t("unknown_session"), lost: t(navigator.onLine ? "reconnecting" : "offline") };
  line.hidden = state === "open";
  line.textContent = words[state];
}

function changed() {
  byId("empty").hidden = !(current === null && log.empty);
  composer.offerStop(log.live ? log.live.stopButton() : null);
}

function titled(title) {
  byId("title").textContent = title;
  document.title = title === t("new_chat") ? "Swarmgate" : `${title} · Swarmgate`;
}

async function refreshSessions() {
  try {
    await sessions.load();
  } catch {
    // the stream notices a lost connection, and says so
  }
}

function fromAddress() {
  return location.hash ? decodeURIComponent(location.hash.slice(1)) : null;
}

function fitKeyboard() {
  // iOS lays the keyboard over the page; the visible part is told by the visual viewport only.
  const view = window.visualViewport;
  const fit = () => document.documentElement.style.setProperty("--height", `${view.height}px`);
  view.addEventListener("resize", fit);
  fit();
}

async function start() {
  for (const text of examples) {
    byId("examples").append(h("li", {}, h("button", { type: "button", onclick: () => send(text) }, text)));
  }
  if (window.visualViewport) fitKeyboard();
  window.addEventListener("popstate", () => fromAddress() !== current && open(fromAddress()));
  open(fromAddress());
  outgoing.run();
  await refreshSessions();
  composer.commands = (await getCommands(language).catch(() => ({ commands: [] }))).commands;
}

start();
