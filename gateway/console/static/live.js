// What changes: numbers beside the menu at once, and the page's own content anew where that is what it shows, no more
// often than the gateway says (`pace`, seconds) and never under the hands of somebody who writes.
let pause = 4000;
let known = null;
let last = 0;
let timer = 0;

export function follow() {
  const source = new EventSource("/console/events");
  const offline = document.getElementById("offline");
  source.addEventListener("state", (event) => {
    offline.hidden = true;
    show(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    offline.textContent = document.body.dataset.offline;
    offline.hidden = false;
  });
  addEventListener("pagehide", () => source.close());
  document.addEventListener("visibilitychange", () => { if (!document.hidden && timer === -1) later(0); });
}

function show(state) {
  for (const badge of document.querySelectorAll("[data-badge]")) {
    const number = state[badge.dataset.badge] ?? 0;
    badge.textContent = number > 99 ? "99+" : String(number);
    badge.hidden = !number;
  }
  for (const banner of document.querySelectorAll("[data-state]")) banner.hidden = !state[banner.dataset.state];
  const follows = document.querySelector("#content[data-live]")?.dataset.live.split(" ").filter(Boolean) ?? [];
  const { pace, ...rest } = state;
  pause = pace * 1000;
  const text = JSON.stringify(follows.length ? follows.map((key) => rest[key]) : rest);
  if (known !== null && known !== text) later(Math.max(last + pause - Date.now(), spread()));
  known = text;
}

// Many pages that hear of something at the same moment do not all ask at once.
function spread() {
  return pause > 4000 ? Math.random() * pause : 0;
}

function later(wait) {
  if (document.hidden) { timer = -1; return; }
  if (timer > 0) return;
  timer = setTimeout(refresh, wait);
}

function busy(content) {
  if (document.querySelector("dialog[open]")) return true;
  const held = content.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  const written = [...content.querySelectorAll("input:not([type=hidden]), textarea")].some((f) => f.value !== f.defaultValue);
  const chosen = [...content.querySelectorAll("select")].some((f) => f.selectedIndex !== Math.max(0, [...f.options].findIndex((o) => o.defaultSelected)));
  return held || written || chosen || String(getSelection()).length > 0;
}

async function refresh() {
  timer = 0;
  last = Date.now();
  const content = document.querySelector("#content[data-live]");
  if (!content || busy(content)) return;
  let answer;
  try {
    answer = await fetch(location.href, { headers: { Accept: "text/html", "X-Console-Live": "1" } });
  } catch {
    return; // the stream says that the gateway is away
  }
  if (answer.redirected || !answer.ok) return location.reload();
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#content[data-live]");
  if (!fresh || busy(content) || fresh.innerHTML === content.innerHTML) return;
  const open = new Set([...content.querySelectorAll("details[open][id]")].map((d) => d.id));
  const focused = content.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  content.replaceChildren(...fresh.childNodes);
  for (const id of open) content.querySelector(`details[id="${CSS.escape(id)}"]`)?.setAttribute("open", "");
  if (focused) content.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}
