// The editor of a preset: checks what is written while it is written, shows line and column, saves as a whole.
const PAUSE_MS = 350;
const form = document.querySelector("form.editor");
const field = form.querySelector("textarea");
const save = form.querySelector("button.main");
const verdict = document.getElementById("verdict");
const list = document.getElementById("problems");
const place = document.getElementById("place");
const path = `/api/v1/presets/${encodeURIComponent(form.dataset.name)}`;
let base = form.dataset.base;
let saved = field.value;
let round = 0;
let timer = 0;

async function post(action, body) {
  const headers = { "Content-Type": "application/json", "X-Console-Form": document.body.dataset.form };
  const answer = await fetch(`${path}/${action}`, { method: "POST", headers, body: JSON.stringify(body) });
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.message);
  return data;
}

function say(text, tone = "") {
  verdict.textContent = text;
  verdict.className = tone;
}

function goTo(line, column) {
  const lines = field.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  field.focus();
  field.setSelectionRange(at, at + 1);
  field.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(field).lineHeight));
}

function show(problems) {
  list.replaceChildren(...problems.map((p) => {
    const item = document.createElement("li");
    item.className = p.severity;
    const where = document.createElement("button");
    where.type = "button";
    const words = list.dataset.line.replace("{line}", p.line).replace("{column}", p.column);
    where.textContent = `${p.file}: ${words}`;
    where.addEventListener("click", () => goTo(p.line, p.column));
    const said = document.createElement("p");
    said.textContent = `${p.message} [${p.code}]`;
    const cure = document.createElement("p");
    cure.className = "soft";
    cure.textContent = p.cure;
    item.append(where, said, cure);
    return item;
  }));
}

async function check() {
  const mine = ++round;
  say(form.dataset.checking, "soft");
  try {
    const found = await post("check", { text: field.value });
    if (mine !== round) return;
    show(found.problems);
    save.disabled = !found.fine || field.value === saved;
    say(found.fine ? form.dataset.fine : "", "");
  } catch (error) {
    if (mine === round) say(error instanceof TypeError ? form.dataset.lost : error.message, "bad-text");
  }
}

function where() {
  const before = field.value.slice(0, field.selectionStart).split("\n");
  place.textContent = list.dataset.line.replace("{line}", before.length).replace("{column}", before.at(-1).length + 1);
}

field.addEventListener("input", () => {
  save.disabled = true;
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE_MS);
});
for (const name of ["keyup", "click", "input", "focus"]) field.addEventListener(name, where);
field.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    if (!save.disabled) form.requestSubmit(save);
  }
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = field.value;
  save.disabled = true;
  try {
    const done = await post("save", { text, base });
    show(done.problems);
    say(done.said, done.saved ? "" : "bad-text");
    if (done.saved) { saved = text; base = done.digest; }
  } catch (error) {
    say(error instanceof TypeError ? form.dataset.lost : error.message, "bad-text");
    save.disabled = false;
  }
});

addEventListener("beforeunload", (event) => { if (field.value !== saved) event.preventDefault(); });
check();
