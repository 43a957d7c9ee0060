// Requests to the gateway. A failure is a Failure with the server's code; no answer at all has the code "offline".

export class Failure extends Error {
  constructor(code, status, message) {
    super(message || code);
    this.code = code;
    this.status = status;
  }

  /** Whether the same request may succeed later. */
  get temporary() {
    return this.code === "offline" || this.status === 429 || this.status >= 500;
  }
}

export function toLogin() {
  location.assign("/login");
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Failure("offline", 0);
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  if (response.status === 401) toLogin();
  throw new Failure(body.error || "failed", response.status, body.message);
}

const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const getSessions = () => request("/chat/sessions");
export const createSession = () => post("/chat/sessions", {});
export const getCommands = (language) => request(`/chat/commands?language=${language}`);
export const postMessage = ({ session, key, text, files, again }) =>
  post("/chat/messages", { session, key, text, files: files.map((file) => file.ref), again });
/** Hand a file over for a message of `session`; resolves to the file as the server has it. */
export const postFile = (session, name, file, signal) =>
  request(`/chat/files?session=${encodeURIComponent(session)}&name=${encodeURIComponent(name)}`, {
    method: "POST", headers: { "Content-Type": file.type || "application/octet-stream" }, body: file, signal,
  });
export const postPress = (session, messageId, data) =>
  post("/chat/presses", { session, message_id: messageId, data, key: newKey() });

/** A UUID; crypto.randomUUID is missing on plain http away from localhost. */
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
