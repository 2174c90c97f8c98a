// The server's answers. The token is this tab's: sessionStorage belongs to this port, cookies would go to all.

const KEY = "hydrant.token";

export class Problem extends Error {
  constructor(message, code, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

// The address has a code once, which is gone from it and from the history at once.
export async function enter() {
  const found = /^#code=([0-9a-f]{64})$/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", "/");
    const response = await fetch("/api/session", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code: found[1] }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Problem(answer.error, answer.code, response.status);
    sessionStorage.setItem(KEY, answer.token);
  }
  return sessionStorage.getItem(KEY) !== null;
}

function headers(type) {
  return { Authorization: "Bearer " + sessionStorage.getItem(KEY), ...(type ? { "Content-Type": type } : {}) };
}

async function request(name, call, signal) {
  const response = await fetch("/api/" + name, {
    method: "POST", headers: headers("application/json"), body: JSON.stringify(call ?? {}), signal,
  });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  if (response.status === 403 && answer.code === "") document.dispatchEvent(new Event("closed"));
  throw new Problem(answer.error ?? response.statusText, answer.code ?? "", response.status);
}

export async function ask(name, call, signal) {
  return (await request(name, call, signal)).json();
}

export async function picture(call, signal) {
  return URL.createObjectURL(await (await request("thumbnail", call, signal)).blob());
}

// Calls take() with each line of an answer that comes in lines.
export async function follow(name, call, signal, take) {
  const response = await request(name, call, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) take(JSON.parse(line));
  }
}

// XMLHttpRequest tells how much was sent.
export function upload(domain, path, file, replace, onProgress) {
  const query = new URLSearchParams({ domain, path, name: file.name, replace: replace ? "1" : "0" });
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("PUT", "/api/upload?" + query);
    for (const [name, value] of Object.entries(headers())) sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => onProgress(event.loaded, event.total);
    sending.onerror = () => reject(new Problem("", "broken", 0));
    sending.onload = () => {
      let answer = {};
      try { answer = JSON.parse(sending.responseText); } catch { /* (no JSON) */ }
      if (sending.status === 200) resolve();
      else reject(new Problem(answer.error ?? "", answer.code ?? "", sending.status));
    };
    sending.send(file);
  });
}

// Paths are bytes, in base64.
export function bytesOf(path) { return Uint8Array.from(atob(path), (one) => one.charCodeAt(0)); }
export function pathOf(bytes) { return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join("")); }
export function pathOfText(text) { return pathOf(new TextEncoder().encode(text)); }

export function parentOf(path) {
  const bytes = bytesOf(path);
  const slash = bytes.lastIndexOf(47);
  return pathOf(bytes.slice(0, Math.max(0, slash)));
}

// The folders of a path, the topmost first: path and name.
export function partsOf(path) {
  const bytes = bytesOf(path);
  const parts = [];
  for (let end = 1; end <= bytes.length; end++) {
    if (end < bytes.length && bytes[end] !== 47) continue;
    const whole = bytes.slice(0, end);
    const name = whole.slice(whole.lastIndexOf(47) + 1);
    parts.push({ path: pathOf(whole), name: new TextDecoder().decode(name) });
  }
  return parts;
}
