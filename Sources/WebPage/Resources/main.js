// The page: its views, by the address, and what happens in the domains.

import { ask, enter, follow } from "./api.js";
import { FolderView, SearchView } from "./folder.js";
import { failed, make, say } from "./parts.js";
import { PlacesView, StateView } from "./state.js";
import { word } from "./words.js";

const main = document.getElementById("main");
let view = null;
let rows = null;
let isClosed = false;

function tabs() {
  const current = location.hash === "#/state" ? "state" : "places";
  document.getElementById("tabs").replaceChildren(...["places", "state"].map((name) =>
    make("a", { href: name === "places" ? "#/" : "#/state", "aria-current": name === current ? "page" : null }, word(name))));
}

function route() {
  if (isClosed) return;
  view?.end();
  tabs();
  say("");
  const parts = location.hash.slice(2).split("/").map(decodeURIComponent);
  if (parts[0] === "folder" && parts[1]) view = new FolderView(parts[1], parts[2] ?? "");
  else if (parts[0] === "search" && parts[1]) view = new SearchView((rows ?? []).map((row) => row.mountPoint), parts[1]);
  else if (parts[0] === "state") view = new StateView();
  else view = new PlacesView();
  view.show(main);
  if (rows) view.domains?.(rows);
}

function search() {
  const field = document.getElementById("query");
  field.placeholder = word("search");
  field.setAttribute("aria-label", word("searchIn"));
  let timer = null;
  const go = () => {
    const text = field.value.trim();
    if (text) location.replace("#/search/" + encodeURIComponent(text));
    else if (view instanceof SearchView) location.replace("#/");
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(go, 200);
  });
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, dialog, [role=listbox]")) return;
    event.preventDefault();
    field.focus();
  });
}

async function live() {
  while (!isClosed) {
    try {
      await follow("live", {}, undefined, (line) => {
        if (line.domains) {
          rows = line.domains;
          view.domains?.(rows);
        }
        if (line.events) {
          if (view instanceof FolderView) { if (view.domain === line.domain) view.news(line.events); }
          else view.news?.(line.events, line.domain);
        }
      });
    } catch (error) {
      if (!isClosed) failed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function close(text) {
  isClosed = true;
  view?.end();
  view = null;
  main.replaceChildren(make("p", { class: "bad", id: "closed" }, text));
}

async function begin() {
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
  document.addEventListener("closed", () => close(word("closed")));
  try {
    if (!(await enter())) return close(word("closed"));
    rows = await ask("domains");
  } catch (error) {
    return close(error.message || word("closed"));
  }
  search();
  window.addEventListener("hashchange", route);
  route();
  live();
}

begin();
