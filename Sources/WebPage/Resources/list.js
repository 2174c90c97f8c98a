// A list of any length, of which only the rows in sight are elements. The keyboard stays on the list itself; the chosen row
// is its active descendant.

import { make } from "./parts.js";

const ROW = 40;
const TALLEST = 8_000_000;
const CHUNK = 100;
// Rows outside of sight, above and below.
const SPARE = 6;

export class List {
  // load(offset, count) gives { total, entries }; draw(row, entry, index) fills a row; onOpen, onKey: of the chosen entry.
  constructor({ label, load, draw, onOpen, onKey, onChoose, onFind }) {
    Object.assign(this, { load, draw, onOpen, onKey, onChoose, onFind });
    this.total = 0;
    this.chosen = 0;
    this.chunks = new Map();
    this.asked = new Set();
    this.rows = new Map();
    this.space = make("div", { class: "space", role: "presentation" });
    this.element = make("div", { class: "grid", role: "listbox", tabindex: "0", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.show(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("dblclick", (event) => {
      if (event.target.closest(".row") && this.entry) this.onOpen(this.entry);
    });
    this.sizes = new ResizeObserver(() => this.show());
    this.sizes.observe(this.element);
    this.typed = "";
    this.typedAt = 0;
  }

  get entry() { return this.at(this.chosen); }
  at(index) { return this.chunks.get(Math.floor(index / CHUNK))?.[index % CHUNK]; }

  end() { this.sizes.disconnect(); }

  // Asks again for what is in sight; what was there stays until the answer.
  async refresh(fresh) {
    const { first, last } = this.sight();
    const chunks = [];
    for (let chunk = Math.floor(first / CHUNK); chunk <= Math.floor(last / CHUNK); chunk++) chunks.push(chunk);
    for (const chunk of [...this.chunks.keys()]) if (!chunks.includes(chunk)) this.chunks.delete(chunk);
    for (const chunk of chunks) await this.fetch(chunk, fresh && chunk === chunks[0]);
  }

  async fetch(chunk, fresh) {
    this.asked.add(chunk);
    try {
      const page = await this.load(chunk * CHUNK, CHUNK, fresh);
      if (this.total !== page.total) {
        this.total = page.total;
        this.chosen = Math.min(this.chosen, Math.max(0, page.total - 1));
        for (const known of [...this.chunks.keys()]) if (known * CHUNK >= page.total) this.chunks.delete(known);
      }
      this.chunks.set(chunk, page.entries);
      // What comes or goes above the chosen item moves it: it stays chosen.
      const moved = page.entries.findIndex((entry) => entry.path === this.chosenPath);
      if (moved >= 0) this.chosen = chunk * CHUNK + moved;
      else if (Math.floor(this.chosen / CHUNK) === chunk) this.chosenPath = this.entry?.path;
    } finally {
      this.asked.delete(chunk);
    }
    this.show(true);
    if (Math.floor(this.chosen / CHUNK) === chunk) this.onChoose?.(this.entry);
  }

  get height() { return Math.min(this.total * ROW, TALLEST); }

  // Of a list that is taller than browsers draw, a row of the scroll bar stands for several.
  sight() {
    const view = this.element.clientHeight || 400;
    const all = this.total * ROW;
    const room = Math.max(1, this.height - view);
    const offset = all <= TALLEST ? this.element.scrollTop : (this.element.scrollTop / room) * (all - view);
    const first = Math.max(0, Math.floor(offset / ROW) - SPARE);
    return { first, last: Math.max(0, Math.min(this.total - 1, Math.ceil((offset + view) / ROW) + SPARE)), offset, view };
  }

  show(isNew) {
    this.space.style.height = this.height + "px";
    const { first, last, offset } = this.sight();
    for (const [index, row] of this.rows) {
      if (index < first || index > last || index >= this.total) {
        row.element.remove();
        this.rows.delete(index);
      }
    }
    if (this.total === 0) return;
    for (let index = first; index <= last; index++) {
      const entry = this.at(index);
      const chunk = Math.floor(index / CHUNK);
      if (!entry && !this.asked.has(chunk) && !this.chunks.has(chunk)) this.fetch(chunk).catch(() => {});
      let row = this.rows.get(index);
      if (!row) {
        row = { element: make("div", { class: "row", role: "option", id: "row-" + index }), text: null };
        row.element.dataset.index = index;
        this.rows.set(index, row);
        this.space.append(row.element);
      }
      row.element.style.top = this.element.scrollTop + index * ROW - offset + "px";
      row.element.setAttribute("aria-setsize", this.total);
      row.element.setAttribute("aria-posinset", index + 1);
      row.element.setAttribute("aria-selected", index === this.chosen ? "true" : "false");
      const text = JSON.stringify(entry ?? null);
      if (row.text !== text) {
        row.text = text;
        row.element.replaceChildren();
        if (entry) this.draw(row.element, entry, index);
      }
    }
    if (this.rows.has(this.chosen)) this.element.setAttribute("aria-activedescendant", "row-" + this.chosen);
    else this.element.removeAttribute("aria-activedescendant");
  }

  choose(index) {
    this.chosen = Math.max(0, Math.min(this.total - 1, index));
    this.chosenPath = this.entry?.path;
    const { offset, view } = this.sight();
    const [top, bottom] = [this.chosen * ROW, this.chosen * ROW + ROW];
    const wanted = top < offset ? top : bottom > offset + view ? bottom - view : null;
    if (wanted !== null) {
      const all = this.total * ROW;
      const room = Math.max(1, this.height - view);
      this.element.scrollTop = all <= TALLEST ? wanted : (wanted / Math.max(1, all - view)) * room;
    }
    this.show();
    this.onChoose?.(this.entry);
  }

  click(event) {
    const row = event.target.closest(".row");
    if (row) this.choose(Number(row.dataset.index));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return this.onKey?.(event, this.entry);
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.total, End: this.total };
    if (event.key in steps) this.choose(this.chosen + steps[event.key]);
    else if (event.key === "Enter") { if (this.entry) this.onOpen(this.entry); }
    else if (event.key.length === 1 && this.onFind) this.find(event.key);
    else return this.onKey?.(event, this.entry);
    event.preventDefault();
  }

  // Typing goes to the name that begins so.
  async find(letter) {
    const now = Date.now();
    const isNext = now - this.typedAt < 1000;
    this.typed = isNext ? this.typed + letter : letter;
    this.typedAt = now;
    // (An answer to the letters before may come late.)
    const typed = this.typed;
    const index = await this.onFind(typed, typed.length > 1 ? this.chosen : this.chosen + 1).catch(() => undefined);
    if (index !== undefined && typed === this.typed) this.choose(index);
  }
}
