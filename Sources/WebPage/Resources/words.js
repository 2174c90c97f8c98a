// The page's texts, in English and German.

const ENGLISH = {
  skip: "Skip to the content", places: "Places", state: "State", search: "Search names, or kind:pdf, size:>10M …",
  searchIn: "Search", results: "{0} found", more: "There are more; search for something narrower.",
  unlisted: "{0} folders were never listed, and not searched.", nothingMounted: "Nothing is mounted. Mount a store: hydrant mount",
  online: "online", offline: "offline", signIn: "asks for another password: hydrant login", noAnswer: "does not answer",
  disk: "{0} here, {1} of the disk free", store: "{0} of {1} used in the store", storeUsed: "{0} used in the store",
  waiting: "{0} changes wait", conflictsCount: "{0} conflicts", held: "The store has deleted {0} items since {1}. They stay here until you decide.",
  incomplete: "{0} of them are not whole here and cannot be put back.", carryOut: "Delete here as well", putBack: "Put back into the store",
  name: "Name", size: "Size", changed: "Changed", folder: "Folder", empty: "This folder is empty.", loading: "…",
  download: "Download", evict: "Free space", pin: "Always keep here", unpin: "No longer keep", rename: "Rename", move: "Move",
  remove: "Delete", newFolder: "New folder", upload: "Upload", share: "Copy link", open: "Open", cancel: "Cancel", ok: "OK",
  newName: "New name of “{0}”", folderName: "Name of the new folder", target: "Move “{0}” to the folder (from the top of this place)",
  reallyDelete: "Delete “{0}”, here and in the store?", exists: "“{0}” is there already.", replace: "Replace", skipOne: "Skip",
  uploading: "Sending “{0}”: {1} of {2}", uploaded: "{0} sent", done: "Done", broken: "The connection broke off.",
  closed: "This page has ended. Open it again: hydrant web --open", linkMade: "The link is on the clipboard: {0}", link: "Link to “{0}”",
  placeholder: "not here", partial: "partly here", downloaded: "here", pinned: "kept", uploadingState: "waits to be sent",
  downloadingState: "being downloaded",
  errorState: "error", conflictState: "conflict", excludedState: "this machine only", unlistedState: "found by the store",
  started: "The download has begun.", items: "{0} items", transfers: "Transfers", noTransfers: "Nothing is being transferred.",
  waits: "What waits", nothingWaits: "Everything is in the store.", retry: "Try again", discard: "Discard",
  discardFirst: "Discard the change of “{0}”? {1} exist nowhere else.", discardSecond: "Really discard it? Nobody can bring it back.",
  conflicts: "Conflicts", noConflicts: "No conflicts.", mine: "Keep mine", theirs: "Keep theirs", both: "Keep both",
  mineIs: "mine", theirsIs: "theirs", compare: "Compare", tooLarge: "Too large to compare here.", same: "Both have the same text.", pause: "Pause",
  resume: "Resume", paused: "Paused: nothing is sent, and nothing is downloaded that nobody waits for.", limits: "Limits", downloads: "Downloads", uploads: "Uploads",
  unlimited: "no limit", perSecond: "{0}/s", set: "Set", events: "Events", noEvents: "Nothing yet.", limitHint: "KiB/s, empty: no limit",
  create: "create", uploadChange: "send", moveChange: "move", deleteChange: "delete", metadata: "attributes", nextTry: "next try {0}",
  goneState: "is not mounted any more",
};

const GERMAN = {
  skip: "Zum Inhalt", places: "Orte", state: "Zustand", search: "Namen suchen, oder kind:pdf, size:>10M …",
  searchIn: "Suchen", results: "{0} gefunden", more: "Es gibt mehr; suche etwas Engeres.",
  unlisted: "{0} Ordner wurden nie geöffnet und nicht durchsucht.", nothingMounted: "Nichts ist eingehängt. Einhängen: hydrant mount",
  online: "erreichbar", offline: "nicht erreichbar", signIn: "verlangt ein anderes Passwort: hydrant login", noAnswer: "antwortet nicht",
  disk: "{0} hier, {1} der Platte frei", store: "{0} von {1} im Speicher belegt", storeUsed: "{0} im Speicher belegt",
  waiting: "{0} Änderungen warten", conflictsCount: "{0} Konflikte", held: "Im Speicher wurden seit {1} {0} Dinge gelöscht. Sie bleiben hier, bis du entscheidest.",
  incomplete: "{0} davon sind hier nicht vollständig und können nicht zurück.", carryOut: "Hier auch löschen", putBack: "In den Speicher zurück",
  name: "Name", size: "Größe", changed: "Geändert", folder: "Ordner", empty: "Dieser Ordner ist leer.", loading: "…",
  download: "Laden", evict: "Platz schaffen", pin: "Immer hier behalten", unpin: "Nicht mehr behalten", rename: "Umbenennen", move: "Verschieben",
  remove: "Löschen", newFolder: "Neuer Ordner", upload: "Hochladen", share: "Link kopieren", open: "Öffnen", cancel: "Abbrechen", ok: "OK",
  newName: "Neuer Name von „{0}“", folderName: "Name des neuen Ordners", target: "„{0}“ verschieben in den Ordner (von oben an diesem Ort)",
  reallyDelete: "„{0}“ löschen, hier und im Speicher?", exists: "„{0}“ gibt es schon.", replace: "Ersetzen", skipOne: "Auslassen",
  uploading: "„{0}“ wird gesendet: {1} von {2}", uploaded: "{0} gesendet", done: "Fertig", broken: "Die Verbindung brach ab.",
  closed: "Diese Seite ist beendet. Neu öffnen: hydrant web --open", linkMade: "Der Link ist in der Zwischenablage: {0}", link: "Link zu „{0}“",
  placeholder: "nicht hier", partial: "teils hier", downloaded: "hier", pinned: "behalten", uploadingState: "wartet auf das Senden",
  downloadingState: "wird geladen",
  errorState: "Fehler", conflictState: "Konflikt", excludedState: "nur auf diesem Gerät", unlistedState: "im Speicher gefunden",
  started: "Das Laden hat begonnen.", items: "{0} Dinge", transfers: "Übertragungen", noTransfers: "Nichts wird übertragen.",
  waits: "Was wartet", nothingWaits: "Alles ist im Speicher.", retry: "Noch einmal", discard: "Verwerfen",
  discardFirst: "Die Änderung an „{0}“ verwerfen? {1} gibt es sonst nirgends.", discardSecond: "Wirklich verwerfen? Niemand holt sie zurück.",
  conflicts: "Konflikte", noConflicts: "Keine Konflikte.", mine: "Meine behalten", theirs: "Ihre behalten", both: "Beide behalten",
  mineIs: "meine", theirsIs: "ihre", compare: "Vergleichen", tooLarge: "Zu groß für einen Vergleich.", same: "Beide haben denselben Text.", pause: "Anhalten",
  resume: "Fortsetzen", paused: "Angehalten: nichts wird gesendet, und nichts geladen, worauf niemand wartet.", limits: "Grenzen", downloads: "Laden", uploads: "Senden",
  unlimited: "keine Grenze", perSecond: "{0}/s", set: "Setzen", events: "Ereignisse", noEvents: "Noch nichts.", limitHint: "KiB/s, leer: keine Grenze",
  create: "anlegen", uploadChange: "senden", moveChange: "verschieben", deleteChange: "löschen", metadata: "Attribute", nextTry: "nächster Versuch {0}",
  goneState: "ist nicht mehr eingehängt",
};

const isGerman = navigator.language.toLowerCase().startsWith("de");
const words = isGerman ? GERMAN : ENGLISH;
document.documentElement.lang = isGerman ? "de" : "en";

export function word(key, ...values) {
  return (words[key] ?? ENGLISH[key] ?? key).replace(/\{(\d)\}/g, (_, index) => values[Number(index)]);
}
