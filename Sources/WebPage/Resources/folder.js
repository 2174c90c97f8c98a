// A folder, and what can be done with the items in it.

import { ask, follow, parentOf, partsOf, pathOfText, picture, upload } from "./api.js";
import { List } from "./list.js";
import { button, bytes, day, failed, icon, make, question, say } from "./parts.js";
import { word } from "./words.js";

const EMBLEMS = { placeholder: "☁", partial: "◐", downloaded: "✓" };
const PICTURED = /\.(png|jpe?g|gif|webp|svg|pdf|od[tspg]|docx?|pptx?|xlsx?|heic|tiff?|mp4|mov)$/i;
const POLL = 700;

export function addressOf(domain, path) { return "#/folder/" + encodeURIComponent(domain) + "/" + encodeURIComponent(path); }

export function stateText(entry) {
  const words = [];
  if (entry.conditions.includes("error")) words.push(word("errorState"));
  if (entry.conditions.includes("conflict")) words.push(word("conflictState"));
  if (entry.conditions.includes("uploading")) words.push(word("uploadingState"));
  if (entry.conditions.includes("downloading")) words.push(word("downloadingState"));
  if (entry.conditions.includes("excluded")) words.push(word("excludedState"));
  if (entry.conditions.includes("unlisted")) words.push(word("unlistedState"));
  if (entry.state && entry.kind === "document") words.push(word(entry.state));
  if (entry.conditions.includes("pinned")) words.push(word("pinned"));
  return words.join(", ");
}

function emblem(entry) {
  if (entry.error || entry.conditions.includes("error")) return "⚠";
  if (entry.conditions.includes("conflict")) return "⚡";
  if (entry.conditions.includes("uploading")) return "↑";
  if (entry.conditions.includes("downloading")) return "↓";
  const mark = entry.kind === "document" ? EMBLEMS[entry.state] ?? "" : "";
  return mark + (entry.conditions.includes("pinned") ? " ★" : "");
}

// Pictures of documents, by contents; a few at a time, the last wanted first.
class Pictures {
  constructor(domain) {
    Object.assign(this, { domain, known: new Map(), waiting: [], running: 0, stop: new AbortController() });
  }

  want(entry, place) {
    const key = entry.path + " " + entry.modified + " " + entry.size;
    const found = this.known.get(key);
    if (found) this.put(place, found);
    if (found !== undefined) return;
    this.waiting.push({ key, entry, place });
    if (this.waiting.length > 60) this.waiting.shift();
    this.next();
  }

  put(place, address) { place.replaceChildren(make("img", { src: address, alt: "" })); }

  async next() {
    if (this.running >= 2) return;
    const one = this.waiting.pop();
    if (!one) return;
    if (!one.place.isConnected || this.known.has(one.key)) return this.next();
    this.running += 1;
    try {
      const address = await picture({ domain: this.domain, path: one.entry.path, size: 64 }, this.stop.signal);
      this.known.set(one.key, address);
      this.put(one.place, address);
    } catch {
      this.known.set(one.key, null);
    }
    if (this.known.size > 500) {
      const [key, address] = this.known.entries().next().value;
      if (address) URL.revokeObjectURL(address);
      this.known.delete(key);
    }
    this.running -= 1;
    this.next();
  }

  end() {
    this.stop.abort();
    for (const address of this.known.values()) if (address) URL.revokeObjectURL(address);
  }
}

function drawRow(row, entry, pictures) {
  const sign = make("span", { class: "icon", "aria-hidden": "true" }, icon(entry.kind));
  const state = stateText(entry);
  row.append(sign, make("span", { class: "name", title: entry.name }, entry.name),
    make("span", { class: "size faint" }, entry.kind === "document" ? bytes(entry.size) : ""),
    make("span", { class: "date faint" }, entry.modified ? day(entry.modified) : ""),
    make("span", { class: "mark" + (entry.error ? " bad" : ""), title: entry.error ?? state },
      make("span", { "aria-hidden": "true" }, emblem(entry) + " "), state));
  if (entry.kind === "document" && PICTURED.test(entry.name)) pictures.want(entry, sign);
}

export class FolderView {
  constructor(domain, path) {
    Object.assign(this, { domain, path, stop: new AbortController(), pictures: new Pictures(domain) });
    this.list = new List({
      label: word("folder"),
      load: (offset, count, fresh) => ask("list", { domain, path, offset, count, fresh: fresh === true }, this.stop.signal),
      draw: (row, entry) => drawRow(row, entry, this.pictures),
      onOpen: (entry) => this.open(entry),
      onKey: (event, entry) => this.key(event, entry),
      onChoose: (entry) => this.showActions(entry),
      onFind: async (text, offset) => (await ask("find", { domain, path, text, offset })).index,
    });
    this.actions = make("div", { class: "bar", role: "toolbar" });
    this.count = make("span", { class: "faint", id: "count" });
    this.progress = make("div", {});
    this.input = make("input", { type: "file", multiple: true, hidden: true, onchange: () => this.send([...this.input.files]) });
  }

  show(main) {
    const crumbs = make("ol", { class: "crumbs" },
      make("li", {}, make("a", { href: "#/" }, word("places"))),
      make("li", {}, make("a", { href: addressOf(this.domain, "") }, this.domain.split("/").pop() || "/")),
      partsOf(this.path).map((part) => make("li", {}, make("a", { href: addressOf(this.domain, part.path) }, part.name))));
    const bar = make("div", { class: "bar" },
      button(word("newFolder"), () => this.makeFolder()), button(word("upload"), () => this.input.click()), this.count, this.input);
    main.replaceChildren(make("nav", { "aria-label": word("folder") }, crumbs), bar, this.actions, this.progress, this.list.element);
    main.ondragover = (event) => {
      event.preventDefault();
      this.list.element.classList.add("drop");
    };
    main.ondragleave = () => this.list.element.classList.remove("drop");
    main.ondrop = (event) => {
      event.preventDefault();
      this.list.element.classList.remove("drop");
      this.send([...event.dataTransfer.files]);
    };
    this.count.textContent = word("loading");
    this.update().then(() => this.list.element.focus());
    this.timer = setInterval(() => { if (!document.hidden && !this.isBusy) this.update(); }, POLL);
  }

  end() {
    clearInterval(this.timer);
    this.stop.abort();
    this.list.end();
    this.pictures.end();
    const main = document.getElementById("main");
    main.ondragover = main.ondragleave = main.ondrop = null;
  }

  async update(fresh) {
    this.isBusy = true;
    try {
      await this.list.refresh(fresh);
      this.count.textContent = this.list.total === 0 ? word("empty") : word("items", this.list.total.toLocaleString());
    } catch (error) {
      failed(error);
    }
    this.isBusy = false;
  }

  // Something happened in the domain.
  news(events) {
    const folder = this.domain + (this.path ? "/" + partsOf(this.path).map((part) => part.name).join("/") : "");
    if (events.some((event) => event.path && event.path.slice(0, event.path.lastIndexOf("/")) === folder)) this.update(true);
  }

  showActions(entry) {
    const text = entry ? JSON.stringify([entry.path, entry.state, entry.conditions, entry.here === entry.size]) : "";
    if (text === this.shownActions) return;
    this.shownActions = text;
    this.actions.setAttribute("aria-label", entry?.name ?? "");
    if (!entry) return this.actions.replaceChildren();
    const isPinned = entry.conditions.includes("pinned");
    const isHere = entry.kind === "document" && entry.state === "downloaded";
    const had = this.actions.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    const act = (name, label, action) => button(label, () => action(entry).catch(failed), { "data-act": name });
    this.actions.replaceChildren(
      entry.kind === "folder" ? act("open", word("open"), async () => this.open(entry)) : "",
      !isHere ? act("download", word("download"), (one) => this.act("download", one)) : "",
      entry.state !== "placeholder" || entry.kind === "folder" ? act("evict", word("evict"), (one) => this.act("evict", one)) : "",
      isPinned ? act("pin", word("unpin"), (one) => this.act("unpin", one)) : act("pin", word("pin"), (one) => this.act("pin", one)),
      act("rename", word("rename"), (one) => this.rename(one)), act("move", word("move"), (one) => this.move(one)),
      act("share", word("share"), (one) => this.share(one)), act("remove", word("remove"), (one) => this.remove(one)));
    if (had) this.actions.querySelector(`[data-act="${had}"]`)?.focus();
  }

  key(event, entry) {
    if (event.key === "Backspace" || (event.altKey && event.key === "ArrowUp")) {
      location.hash = this.path ? addressOf(this.domain, parentOf(this.path)) : "#/";
    } else if (event.key === "F2" && entry) this.rename(entry).catch(failed);
    else if (event.key === "Delete" && entry) this.remove(entry).catch(failed);
    else if ((event.key === "F10" && event.shiftKey) || event.key === "ContextMenu") this.actions.querySelector("button")?.focus();
    else return;
    event.preventDefault();
  }

  open(entry) {
    if (entry.kind === "folder") location.hash = addressOf(this.domain, entry.path);
    else this.actions.querySelector("button")?.focus();
  }

  async act(name, entry) {
    const answer = await ask(name, { domain: this.domain, paths: [entry.path] });
    if (answer.running) say(word("started"));
    else say(answer[0]?.error ?? answer[0]?.note ?? word("done"));
    await this.update();
  }

  async rename(entry) {
    const name = await question(word("newName", entry.name), { field: entry.name, label: word("rename") });
    if (name === null || name === entry.name) return;
    await ask("rename", { domain: this.domain, path: entry.path, name });
    await this.update(true);
  }

  async move(entry) {
    const folder = partsOf(this.path).map((part) => part.name).join("/");
    const target = await question(word("target", entry.name), { field: folder, label: word("move") });
    if (target === null) return;
    await ask("move", { domain: this.domain, path: entry.path, folder: pathOfText(target.replace(/^\/+|\/+$/g, "")) });
    await this.update(true);
  }

  async remove(entry) {
    if (!(await question(word("reallyDelete", entry.name), { label: word("remove") }))) return;
    await ask("delete", { domain: this.domain, path: entry.path });
    await this.update(true);
  }

  async makeFolder() {
    const name = await question(word("folderName"), { field: "", label: word("newFolder") });
    if (!name) return;
    await ask("folder", { domain: this.domain, path: this.path, name }).catch(failed);
    await this.update(true);
  }

  async share(entry) {
    const [link] = await ask("share", { domain: this.domain, path: entry.path });
    try {
      await navigator.clipboard.writeText(link.url);
      say(word("linkMade", link.url));
    } catch {
      await question(word("link", entry.name), { field: link.url });
    }
  }

  // One after the other; a name that is taken asks.
  async send(files) {
    let sent = 0;
    for (const file of files) {
      const bar = make("progress", { max: Math.max(1, file.size), value: 0, "aria-label": file.name });
      const text = make("span", { class: "faint" });
      this.progress.replaceChildren(text, bar);
      const progress = (done, all) => {
        bar.value = done;
        text.textContent = word("uploading", file.name, bytes(done), bytes(all));
      };
      try {
        await upload(this.domain, this.path, file, false, progress).catch(async (error) => {
          if (error.code !== "exists") throw error;
          const choices = [{ label: word("replace"), value: true }, { label: word("skipOne"), value: null }];
          if (!(await question(word("exists", file.name), { choices }))) throw new DOMException("", "AbortError");
          await upload(this.domain, this.path, file, true, progress);
        });
        sent += 1;
      } catch (error) {
        failed(error);
      }
    }
    this.input.value = "";
    this.progress.replaceChildren();
    if (sent > 0) say(word("uploaded", sent));
    await this.update(true);
  }
}

// All domains are searched at once; an older search ends when another one begins.
export class SearchView {
  constructor(places, text) { Object.assign(this, { places, text, stop: new AbortController() }); }

  show(main) {
    this.results = make("ul", { class: "items", id: "results" });
    this.note = make("p", { class: "faint", id: "found" }, word("loading"));
    main.replaceChildren(make("h1", {}, word("searchIn") + ": " + this.text), this.note, this.results);
    this.run().catch(failed);
  }

  async run() {
    let [count, unlisted, more] = [0, 0, false];
    await Promise.all(this.places.map((domain) => follow("search", { domain, text: this.text }, this.stop.signal, (part) => {
      if (part.error) return say(part.error);
      for (const entry of part.found) this.results.append(this.item(domain, entry));
      count += part.found.length;
      unlisted += part.unlisted;
      more ||= part.more;
      this.note.textContent = word("results", count);
    })));
    this.note.textContent = [word("results", count), more ? word("more") : "", unlisted ? word("unlisted", unlisted) : ""].join(" ");
  }

  item(domain, entry) {
    const target = entry.kind === "folder" ? entry.path : parentOf(entry.path);
    const place = partsOf(target).map((part) => part.name).join("/");
    return make("li", {}, icon(entry.kind), " ",
      make("a", { href: addressOf(domain, target) }, entry.name),
      make("span", { class: "faint" }, " " + domain + (place ? "/" + place : "") + " · " + stateText(entry)));
  }

  end() { this.stop.abort(); }
}
