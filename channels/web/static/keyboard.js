// Shortcuts, and the dialog that tells them.

import { byId } from "/static/dom.js";

const STORE = "swarmgate.single-keys";
const dialog = byId("help");
const single = byId("single-keys");

/** Who speaks to their computer, or shakes, can switch keys off that act without a modifier (WCAG 2.1.4). */
const singleKeys = () => localStorage.getItem(STORE) !== "off";

const writing = (target) => target.closest("textarea, input, select, [contenteditable]") !== null;

function showHelp() {
  single.checked = singleKeys();
  dialog.showModal();
}

/** `act.focus()` goes to the field, `act.fresh()` to a new chat, `act.step(±1)` to the message before or after. */
export function listenToKeys(act) {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the part of the address behind # names the chat
    act.focus();
  });
  byId("help-open").addEventListener("click", showHelp);
  byId("help-close").addEventListener("click", () => dialog.close());
  single.addEventListener("change", () => localStorage.setItem(STORE, single.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.altKey && !event.ctrlKey && !event.metaKey) withAlt(event, act);
    else if (!event.ctrlKey && !event.metaKey && singleKeys() && !writing(event.target)) alone(event, act);
  });
}

function withAlt(event, act) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step) act.step(step);
  else if (event.code === "KeyN") act.fresh();
  else return;
  event.preventDefault();
}

function alone(event, act) {
  if (event.key === "?") showHelp();
  else if (event.key === "/") act.focus();
  else return;
  event.preventDefault();
}
