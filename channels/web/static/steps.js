// What tools and sub-agents do: a tree that is open while it grows, and folds up when the answer is there.

import { datesTogether, h } from "/static/dom.js";
import { t } from "/static/texts.js";

const STATES = { running: "running", ok: "ok", failed: "failed_state", stopped: "stopped" };

/** What still ran when the answer came was stopped. */
const ended = (step) => (step.state === "running" ? { ...step, state: "stopped" } : step);

function children(steps) {
  const ids = new Set(steps.map((step) => step.id));
  const map = new Map();
  for (const step of steps) {
    const parent = ids.has(step.parent) && step.parent !== step.id ? step.parent : null;
    if (!map.has(parent)) map.set(parent, []);
    map.get(parent).push(step);
  }
  return map;
}

function line(step) {
  const state = h("span", { class: "state", role: "img", "aria-label": t(STATES[step.state]) });
  const detail = step.detail ? datesTogether(h("span", { class: "detail" }, step.detail)) : null;
  const label = h("span", { class: "label" }, step.label);
  return h("div", { class: "line" }, state, h("span", { class: "words" }, label, detail));
}

function list(map, parent) {
  const steps = map.get(parent);
  if (!steps) return null;
  const items = steps.map((step) => {
    const nested = list(map, step.id);
    const kind = nested ? " agent" : "";
    return h("li", { class: `step ${step.state}${kind}`, "data-step": step.id }, line(step), nested);
  });
  return h("ul", {}, ...items);
}

function summary(steps, live, status) {
  const failed = steps.filter((step) => step.state === "failed").length;
  const words = [status || (live ? t("working") : null)];
  if (steps.length) words.push(steps.length === 1 ? t("step") : t("steps", { n: steps.length }));
  if (failed) words.push(t("failed_steps", { n: failed }));
  return words.filter(Boolean).join(" · ");
}

export class StepsView {
  constructor() {
    this.words = h("span");
    this.body = h("div", { class: "tree" });
    this.root = h("details", { class: "steps" }, h("summary", {}, h("span", { class: "pulse" }), this.words), this.body);
    this.touched = false;
    this.root.querySelector("summary").addEventListener("click", () => { this.touched = true; });
  }

  /** Show the steps; `live` while the turn runs. What a person opened or closed stays so. */
  show(steps, { live, status }) {
    this.root.hidden = !live && !steps.length;
    this.root.classList.toggle("live", live);
    this.root.classList.toggle("bare", !steps.length);
    this.words.textContent = summary(steps, live, status);
    const told = live ? steps : steps.map(ended);
    this.body.replaceChildren(list(children(told), null) || "");
    if (!this.touched) this.root.open = live && steps.length > 0;
  }
}
