// Small parts of the page. Text from elsewhere goes in as text, never as markup.

import { word } from "./words.js";

// Characters that change the direction of text or are not seen: a name with them looks like another one.
const ACTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]/g;

export function shown(text) {
  return String(text).replace(ACTIVE, (one) => "\\u{" + one.codePointAt(0).toString(16) + "}");
}

// An element with attributes ("on…": listeners) and children, of which strings become text.
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(child));
  }
  return element;
}

export function button(label, action, attributes) {
  return make("button", { type: "button", onclick: action, ...attributes }, label);
}

// Drawn here: not every machine has a font with such signs.
const SHAPES = {
  folder: "M2 6.5A1.5 1.5 0 0 1 3.5 5h5l2 2.5h10A1.5 1.5 0 0 1 22 9v9.5a1.5 1.5 0 0 1-1.5 1.5h-17A1.5 1.5 0 0 1 2 18.5z",
  document: "M6 2h8l5 5v14a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1zm7 1.5V8h4.5z",
  link: "M9 7h9v9h-2V10.4L7.4 19 6 17.6 14.6 9H9z",
};

export function icon(kind) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("class", "shape " + kind);
  drawing.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", SHAPES[kind] ?? SHAPES.document);
  drawing.append(shape);
  return drawing;
}

export function say(text) { document.getElementById("live").textContent = shown(text); }

export function failed(error) {
  if (error?.name === "AbortError") return;
  say(error?.message || word("broken"));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: unit ? 1 : 0 }) + " " + UNITS[unit];
}

export function moment(seconds) {
  const options = { dateStyle: "short", timeStyle: "short" };
  return new Date(seconds * 1000).toLocaleString(document.documentElement.lang, options);
}

export function day(seconds) { return new Date(seconds * 1000).toLocaleDateString(document.documentElement.lang); }

// Asks; gives the text of the field, or true, or null when the person does not want to.
export function question(text, { field, label, choices } = {}) {
  return new Promise((resolve) => {
    const input = field === undefined ? null : make("input", { "aria-label": text });
    if (input) input.value = field;
    let answer = null;
    const buttons = (choices ?? [{ label: label ?? word("ok"), value: true }]).map((choice, index) =>
      make("button", { value: "ok", class: index === 0 ? "main" : null, onclick: () => { answer = choice.value; } }, choice.label));
    const form = make("form", { method: "dialog" }, make("p", {}, text), input,
      make("div", { class: "bar" }, make("button", { value: "", type: "button", onclick: () => dialog.close() }, word("cancel")), buttons));
    const dialog = make("dialog", { "aria-label": text }, form);
    const before = document.activeElement;
    form.addEventListener("submit", () => { if (answer === null) answer = choices ? null : true; });
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus();
      resolve(answer === true && input ? input.value : answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    if (input) {
      input.focus();
      const dot = field.lastIndexOf(".");
      input.setSelectionRange(0, dot > 0 ? dot : field.length);
    }
  });
}
