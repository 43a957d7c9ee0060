// Every page: the menu on a phone, questions before what cannot be undone, and what changes while one looks.
import { follow } from "/console/static/live.js";

document.documentElement.classList.add("scripted");

const menu = document.getElementById("menu");
const opener = document.querySelector(".menu-button");
opener.addEventListener("click", () => {
  const open = menu.classList.toggle("open");
  opener.setAttribute("aria-expanded", String(open));
});

const dialog = document.getElementById("confirm");
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
  if (!question || form.dataset.sure) return;
  event.preventDefault();
  const submitter = event.submitter;
  document.getElementById("confirm-text").textContent = question;
  dialog.returnValue = "no";
  dialog.showModal();
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return submitter?.focus();
    form.dataset.sure = "yes";
    form.requestSubmit(submitter);
  }, { once: true });
});

// g and a letter: to a page, as in other tools of this kind.
const KEYS = { o: "", a: "/approvals", s: "/sessions", r: "/runs", p: "/presets", u: "/people", d: "/deliveries", c: "/usage", l: "/search" };
let waitsForKey = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const now = Date.now();
  if (event.key === "g") { waitsForKey = now; return; }
  if (now - waitsForKey < 1000 && event.key in KEYS) location.assign(`/console${KEYS[event.key]}`);
  if (event.key === "/") {
    const field = document.querySelector("main input[type=search]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});

if (document.querySelector(".editor")) import("/console/static/editor.js");
follow();
