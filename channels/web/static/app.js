// The page: which session is open, and what goes where.

import { getCommands, postPress } from "/static/api.js";
import { Composer } from "/static/composer.js";
import { byId, h } from "/static/dom.js";
import { acceptDrops } from "/static/dropping.js";
import { listenToKeys } from "/static/keyboard.js";
import { Log } from "/static/log.js";
import { Outgoing } from "/static/outgoing.js";
import { Sessions } from "/static/sessions.js";
import { Stream } from "/static/stream.js";
import { examples, language, t, translatePage } from "/static/texts.js";
import { anewKey, isCommand } from "/static/versions.js";
import { viewPicture } from "/static/viewer.js";

const NOTE = 5000; // ms that a note stays

let current = null;
let noteTimer = 0;

translatePage();

const log = new Log({ press, view: (file) => viewPicture(file, log.pictures()), changed, edit, retry });
const composer = new Composer({
  send, place, problem, stop: (data) => press(log.live?.liveId, data), editLast: () => edit(log.lastQuestion()),
});
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
    sessions.note(current, titleOf(message));
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
  for (const entry of outgoing.pending(session)) log.user({ ...entry, id: entry.key }, "unsent");
  sessions.select(session);
  composer.open(session);
  stream.open(session);
  changed();
  composer.focus();
}

function send(words) {
  problem("");
  if (isCommand(words.text)) words = { ...words, again: null }; // it takes the place of no question
  if (words.again && log.views.has(anewKey(words.again))) return; // asked again already
  const entry = outgoing.add(current, words);
  if (!entry) return;
  if (entry.session === current) log.user({ ...words, id: entry.key }, "sending");
  if (current) sessions.note(current, titleOf(words));
}

/** Ask the same again: a new message, whose id follows from that of the old one. */
function retry({ id, text, files }) {
  send({ text, files, again: id });
  composer.focus();
}

function edit(message) {
  if (message && !log.live) composer.edit(message);
}

function titleOf({ text, files }) {
  return text || files.map((file) => file.name).join(" ");
}

/** How a message that this page sent fares. */
function sent(entry, state) {
  if (entry.session !== current) return;
  log.user({ ...entry, id: entry.key }, state);
  if (state === "sent") log.wait(entry.key);
}

/** The session of a new chat, made when its first file is handed over. */
async function place() {
  if (!current) created(await outgoing.place(), "");
  return current;
}

/** The first message of a new chat, or a file for it, has made its session. */
function created(session, text) {
  sessions.note(session, text);
  if (current !== null) return;
  current = session;
  history.replaceState(null, "", `#${encodeURIComponent(current)}`);
  for (const other of outgoing.pending(null)) other.session = current; // written before the session was there
  outgoing.save();
  composer.moved(current);
  sessions.select(current);
  stream.open(current);
}

function refused(entry, failure) {
  if (entry.session !== current) return;
  log.remove(entry.key);
  composer.restore(entry);
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
  const known = ["too_long", "unknown_session", "unknown_file", "offline"];
  const line = byId("problem");
  const words = typeof what === "string" ? what : t(known.includes(what.code) ? what.code : "failed");
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
  byId("empty").hidden = !(log.empty && (current === null || log.loaded));
  byId("log").toggleAttribute("data-busy", Boolean(log.live)); // meanwhile nothing can be said anew
  composer.offerStop(log.live ? log.live.stopButton() : null);
}

function titled(title) {
  byId("title").textContent = title;
  document.title = title === t("new_chat") ? "Swarmgate" : `${title} · Swarmgate`;
}

async function refreshSessions() {
  try {
    composer.tray.limits = await sessions.load();
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
    const ask = () => send({ text, files: [], again: null });
    byId("examples").append(h("li", {}, h("button", { type: "button", onclick: ask }, text)));
  }
  if (window.visualViewport) fitKeyboard();
  window.addEventListener("popstate", () => fromAddress() !== current && open(fromAddress()));
  acceptDrops((files) => composer.tray.add(files));
  listenToKeys({ focus: () => composer.input.focus(), fresh: () => sessions.pick(null), step: (n) => log.step(n) });
  open(fromAddress());
  outgoing.run();
  await refreshSessions();
  composer.menu.commands = (await getCommands(language).catch(() => ({ commands: [] }))).commands;
}

start();
