// What is mounted, and what waits and why.

import { ask, pathOfText, picture } from "./api.js";
import { addressOf } from "./folder.js";
import { button, bytes, failed, make, moment, question, say } from "./parts.js";
import { word } from "./words.js";

const WHAT = { upload: "uploadChange", create: "create", move: "moveChange", delete: "deleteChange", metadata: "metadata" };
const MOST_LINES = 1500;

function connection(row) {
  if (row.error) return make("span", { class: "bad" }, word("noAnswer") + ": " + row.error);
  const state = row.status.connection;
  if (state?.needsSignIn) return make("span", { class: "bad" }, word("signIn"));
  if (state && !state.isOnline) return make("span", { class: "bad" }, word("offline") + (state.reason ? ": " + state.reason : ""));
  return make("span", { class: "good" }, word("online"));
}

function title(row) { return row.status?.title || row.mountPoint.split("/").pop() || row.mountPoint; }

export class PlacesView {
  show(main) {
    this.main = make("div", { id: "places" });
    main.replaceChildren(make("h1", {}, word("places")), this.main);
  }

  domains(rows) {
    const had = document.activeElement?.dataset?.place;
    this.main.replaceChildren(...rows.map((row) => this.card(row)), rows.length ? "" : make("p", {}, word("nothingMounted")));
    if (had) [...this.main.querySelectorAll("[data-place]")].find((one) => one.dataset.place === had)?.focus();
  }

  card(row) {
    const facts = [];
    if (row.status) {
      const { disk, store, conflicts, heldDeletions } = row.status;
      facts.push(word("disk", bytes(disk.here), bytes(disk.free)));
      if (store) facts.push(store.total ? word("store", bytes(store.used), bytes(store.total)) : word("storeUsed", bytes(store.used)));
      if (row.pending) facts.push(word("waiting", row.pending));
      if (conflicts) facts.push(word("conflictsCount", conflicts));
      if (heldDeletions) facts.push(word("held", heldDeletions.items, moment(heldDeletions.since)));
    }
    const link = make("a", { href: addressOf(row.mountPoint, ""), "data-place": row.mountPoint }, title(row));
    return make("section", { class: "card" }, make("h2", {}, link),
      make("div", {}, connection(row)), make("div", { class: "faint" }, row.mountPoint), make("div", { class: "faint" }, facts.join(" · ")));
  }

  end() {}
}

// The lines of both, each as kept, removed or added: the longest common subsequence between equal beginnings and ends.
export function difference(theirs, mine) {
  const [one, other] = [theirs.split("\n"), mine.split("\n")];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let [end, last] = [one.length, other.length];
  while (end > start && last > start && one[end - 1] === other[last - 1]) { end--; last--; }
  const [rows, columns] = [end - start, last - start];
  if (rows > MOST_LINES || columns > MOST_LINES) return null;
  const table = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      table[row][column] = one[start + row] === other[start + column]
        ? table[row + 1][column + 1] + 1 : Math.max(table[row + 1][column], table[row][column + 1]);
    }
  }
  const lines = one.slice(0, start).map((text) => ({ kind: "same", text }));
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    if (row < rows && column < columns && one[start + row] === other[start + column]) {
      lines.push({ kind: "same", text: one[start + row] });
      row++;
      column++;
    } else if (column >= columns || (row < rows && table[row + 1][column] >= table[row][column + 1])) {
      lines.push({ kind: "removed", text: one[start + row++] });
    } else {
      lines.push({ kind: "added", text: other[start + column++] });
    }
  }
  return lines.concat(one.slice(end).map((text) => ({ kind: "same", text })));
}

// The equal lines far from any other are left out.
function drawDifference(lines) {
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - 3), index + 4).some((one) => one.kind !== "same"));
  const marks = { same: "  ", removed: "− ", added: "+ " };
  const box = make("div", { class: "difference", tabindex: "0", role: "group", "aria-label": word("compare") });
  lines.forEach((line, index) => {
    if (near[index]) box.append(make("div", { class: line.kind }, make("span", {}, marks[line.kind]), line.text));
    else if (index === 0 || near[index - 1]) box.append(make("div", { class: "faint" }, "⋯"));
  });
  return box;
}

// One domain: its sections are drawn again when what they show has changed.
class DomainState {
  constructor(row) {
    this.mountPoint = row.mountPoint;
    this.head = make("div", {});
    this.transfers = make("div", {});
    this.waiting = make("div", {});
    this.held = make("div", {});
    this.conflicts = make("div", { class: "conflicts" });
    this.settings = make("div", {});
    this.events = [];
    this.log = make("ul", { class: "items events" });
    this.element = make("section", { class: "card" }, this.head, this.settings, this.held, this.transfers, this.waiting,
      this.conflicts, make("details", {}, make("summary", {}, word("events")), this.log));
    this.seen = {};
  }

  // Draws a part only when its values are others than before, so that nobody loses the focus.
  part(name, place, value, draw) {
    const text = JSON.stringify(value ?? null);
    if (this.seen[name] === text) return;
    this.seen[name] = text;
    place.replaceChildren(...draw().flat());
  }

  update(row) {
    this.part("head", this.head, [row.error, row.status?.connection, row.status?.title], () =>
      [make("h2", {}, title(row) + " — " + row.mountPoint), make("div", {}, connection(row))]);
    const status = row.status;
    if (!status) return;
    this.part("settings", this.settings, status.settings, () => this.drawSettings(status.settings));
    this.part("held", this.held, status.heldDeletions, () => this.drawHeld(status.heldDeletions));
    this.part("transfers", this.transfers, status.transfers, () => this.drawTransfers(status.transfers ?? []));
    this.part("waiting", this.waiting, status.pending, () => this.drawWaiting(status.pending));
    if (this.seen.count !== status.conflicts) {
      this.seen.count = status.conflicts;
      this.loadConflicts().catch(failed);
    }
  }

  ask(name, call) { return ask(name, { domain: this.mountPoint, ...call }); }
  relative(path) { return path.startsWith(this.mountPoint + "/") ? path.slice(this.mountPoint.length + 1) : path; }

  drawSettings(settings) {
    if (!settings) return [];
    const toggle = settings.paused
      ? button(word("resume"), () => this.ask("resume").catch(failed)) : button(word("pause"), () => this.ask("pause").catch(failed));
    const limit = (key, label, value) => {
      const input = make("input", { inputmode: "numeric", size: 8, placeholder: word("limitHint"), "aria-label": label + ", " + word("limitHint") });
      input.value = value ? Math.round(value / 1024) : "";
      const set = () => this.ask("limit", { [key]: Math.max(0, Math.floor(Number(input.value) || 0)) * 1024 }).then(() => say(word("done")), failed);
      return make("label", {}, label + " ", input, button(word("set"), set));
    };
    return [make("div", { class: "bar" }, toggle, settings.paused ? make("span", { class: "bad" }, word("paused")) : ""),
      make("details", {}, make("summary", {}, word("limits")), limit("download", word("downloads"), settings.downloadLimit),
        limit("upload", word("uploads"), settings.uploadLimit))];
  }

  drawHeld(held) {
    if (!held) return [];
    const resolve = (keep) => this.ask("resolve", { path: "", keep }).then(() => say(word("done")), failed);
    return [make("p", { class: "bad" }, word("held", held.items, moment(held.since)), " ",
      held.incomplete ? word("incomplete", held.incomplete) : ""),
    make("div", { class: "bar" }, button(word("putBack"), () => resolve("mine")), button(word("carryOut"), () => resolve("theirs")))];
  }

  drawTransfers(transfers) {
    const items = transfers.map((one) => make("li", {}, (one.direction === "download" ? "↓ " : "↑ ") + this.relative(one.path),
      make("progress", { max: Math.max(1, one.total), value: one.bytes, "aria-label": this.relative(one.path) }),
      make("span", { class: "faint" }, bytes(one.bytes) + " / " + bytes(one.total)), " ",
      one.direction === "download"
        ? button(word("cancel"), () => this.ask("cancel", { path: pathOfText(this.relative(one.path)) }).catch(failed)) : ""));
    return [make("h2", {}, word("transfers")), items.length ? make("ul", { class: "items" }, items) : make("p", { class: "faint" }, word("noTransfers"))];
  }

  drawWaiting(pending) {
    const items = pending.map((change) => {
      const path = pathOfText(this.relative(change.path));
      const reason = [change.error, change.remedy, change.nextTry ? word("nextTry", moment(change.nextTry)) : ""].filter(Boolean).join(" · ");
      return make("li", {}, word(WHAT[change.what] ?? change.what) + ": " + this.relative(change.path),
        make("div", { class: change.error ? "bad" : "faint" }, reason),
        make("div", { class: "bar" }, button(word("retry"), () => this.ask("retry", { paths: [path] }).then(() => say(word("done")), failed)),
          button(word("discard"), () => this.discard(path).catch(failed))));
    });
    return [make("h2", {}, word("waits")), items.length ? make("ul", { class: "items" }, items) : make("p", { class: "faint" }, word("nothingWaits"))];
  }

  // Asked twice: what would be lost, and whether the person means it.
  async discard(path) {
    const changes = await this.ask("discard", { paths: [path] });
    if (!changes.length) return say(word("nothingWaits"));
    const lost = bytes(changes.reduce((sum, change) => sum + change.bytes, 0));
    const names = changes.slice(0, 5).map((change) => this.relative(change.path)).join(", ") + (changes.length > 5 ? ", …" : "");
    if (!(await question(word("discardFirst", names, lost), { label: word("discard") }))) return;
    if (!(await question(word("discardSecond"), { label: word("discard") }))) return;
    await this.ask("discard", { paths: [path], agreed: changes });
    say(word("done"));
  }

  async loadConflicts() {
    const conflicts = await this.ask("conflicts");
    const items = conflicts.map((one) => this.conflict(one));
    this.conflicts.replaceChildren(make("h2", {}, word("conflicts")),
      items.length ? make("ul", { class: "items" }, items) : make("p", { class: "faint" }, word("noConflicts")));
  }

  conflict(one) {
    const [original, copy] = [one.originalPlace ?? pathOfText(this.relative(one.original)), one.copyPlace ?? pathOfText(this.relative(one.copy))];
    const shown = make("div", {});
    const resolve = (keep) => this.ask("resolve", { path: copy, keep }).then(() => say(word("done")), failed);
    return make("li", {}, make("strong", {}, this.relative(one.original)), make("div", {}, word("mineIs") + ": " + this.relative(one.copy)),
      make("div", { class: "faint" }, moment(one.moment) + ": " + one.explanation), shown,
      make("div", { class: "bar" }, button(word("compare"), () => this.compare(original, copy, shown).catch(failed)),
        button(word("mine"), () => resolve("mine")), button(word("theirs"), () => resolve("theirs")), button(word("both"), () => resolve("both"))));
  }

  // Asked for: so documents that are not here are downloaded.
  async compare(original, copy, place) {
    place.replaceChildren(word("loading"));
    const [theirs, mine] = await Promise.all([original, copy].map((path) => this.ask("text", { path })));
    if (theirs.text !== undefined && mine.text !== undefined) {
      const lines = difference(theirs.text, mine.text);
      if (!lines) return place.replaceChildren(word("tooLarge"));
      return place.replaceChildren(lines.some((line) => line.kind !== "same") ? drawDifference(lines) : word("same"));
    }
    const side = async (path, label, facts) => {
      const box = make("div", {}, make("div", {}, label + ": " + bytes(facts.size)));
      try { box.append(make("img", { src: await picture({ domain: this.mountPoint, path, size: 512 }), alt: label })); } catch { /* (none) */ }
      return box;
    };
    place.replaceChildren(make("div", { class: "sides" }, await side(original, word("theirsIs"), theirs), await side(copy, word("mineIs"), mine)));
  }

  news(events) {
    this.events = events.concat(this.events).slice(0, 100);
    this.events.sort((one, other) => (one.time < other.time ? 1 : -1));
    this.log.replaceChildren(...this.events.map((event) =>
      make("li", {}, make("span", { class: "faint" }, event.time + " "), event.event + " ", this.relative(event.path ?? ""), " ", event.message ?? "")));
    if (events.some((event) => event.event === "conflict")) this.loadConflicts().catch(failed);
  }
}

export class StateView {
  constructor() { this.states = new Map(); }

  show(main) {
    this.main = make("div", { id: "state" });
    main.replaceChildren(make("h1", {}, word("state")), this.main);
  }

  domains(rows) {
    const mounted = new Set(rows.map((row) => row.mountPoint));
    for (const [mountPoint, state] of this.states) {
      if (mounted.has(mountPoint)) continue;
      state.element.remove();
      this.states.delete(mountPoint);
    }
    for (const row of rows) {
      if (!this.states.has(row.mountPoint)) {
        const state = new DomainState(row);
        this.states.set(row.mountPoint, state);
        this.main.append(state.element);
      }
      this.states.get(row.mountPoint).update(row);
    }
    if (!rows.length) this.main.replaceChildren(make("p", {}, word("nothingMounted")));
  }

  news(events, domain) { this.states.get(domain)?.news(events); }
  end() {}
}
