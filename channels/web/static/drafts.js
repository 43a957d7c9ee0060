// What was written and not sent, for each chat: it outlives a reload, like all else that the page shows.

const STORE = "swarmgate.draft:";

/** {text, files, again}: `again` is the id of the message that is being edited, null for a new one. */
export function loadDraft(session) {
  const stored = localStorage.getItem(STORE + (session || "")) || "";
  try {
    const { text, files, again } = JSON.parse(stored);
    if (typeof text === "string") return { text, files: files || [], again: again || null };
  } catch {
    // plain words, as earlier versions kept them
  }
  return { text: stored, files: [], again: null };
}

export function saveDraft(session, draft) {
  const empty = !draft.text && !draft.files.length && !draft.again;
  if (empty) localStorage.removeItem(STORE + (session || ""));
  else localStorage.setItem(STORE + (session || ""), JSON.stringify(draft));
}
