"""Walks through the page in Debian's Chromium: walk.py SCENARIO ADDRESS MOUNTPOINT FOLDER. The folder gets screenshots; each
scenario prints what the test checks, as JSON."""
import http.server, json, os, pathlib, sys, threading, time
from playwright.sync_api import expect, sync_playwright

scenario, address, mount, out = sys.argv[1:5]
LIMIT = 90_000
expect.set_options(timeout=LIMIT)
place = os.path.basename(mount)


def browser(play, *arguments):
    return play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", *arguments])


def opened(context):
    """The page, which must report no error in its console."""
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda line: page.faults.append(line.text) if line.type == "error" else None)
    page.goto(address)
    return page


def enter(page):
    """Into this test's place; the machine may have others."""
    page.locator(f'a[data-place="{mount}"]').click()
    expect(page.locator(".grid")).to_be_focused()


def row(page, name):
    return page.locator(".row").filter(has=page.locator(".name", has_text=name))


def picture(page, name):
    page.screenshot(path=f"{out}/{name}.png")


def folder(play):
    """A folder of 10,000 documents that are not here."""
    page = opened(browser(play).new_context())
    began = time.monotonic()
    enter(page)
    expect(page.locator("#count")).to_contain_text("10,000")
    expect(row(page, "d00000.txt")).to_be_visible()
    shown = time.monotonic() - began
    expect(row(page, "d00000.txt").locator(".mark")).to_contain_text("not here")
    most = page.locator(".row").count()
    page.keyboard.press("End")
    expect(row(page, "d09999.txt")).to_be_visible()
    page.evaluate("document.querySelector('.grid').scrollTop = 200000")
    expect(row(page, "d05000.txt")).to_be_visible()
    page.keyboard.type("d07777")
    expect(page.locator('.row[aria-selected="true"] .name')).to_have_text("d07777.txt")
    most = max(most, page.locator(".row").count())
    picture(page, "folder")
    assert not page.faults, page.faults
    return {"shown": round(shown, 3), "rows": most}


def work(play):
    """Search, renaming, keeping, freeing, uploading by drop, a name with markup."""
    page = opened(browser(play).new_context())
    enter(page)
    expect(row(page, "<img src=x onerror=document.title=666>.txt")).to_be_visible()
    assert page.locator("img[src='x']").count() == 0 and page.title() == "Hydrant", page.title()
    # Keep, and see it kept, within a second of the answer.
    row(page, "letter.txt").click()
    times = {}

    def act(button, name, text):
        with page.expect_response(lambda response: "/api/" in response.url and any(
                part in response.url for part in ("/pin", "/unpin", "/evict", "/download"))):
            page.get_by_role("toolbar").get_by_role("button", name=button, exact=True).click()
        began = time.monotonic()
        expect(row(page, name).locator(".mark")).to_contain_text(text)
        times[button] = round(time.monotonic() - began, 3)

    act("Always keep here", "letter.txt", "kept")
    expect(row(page, "letter.txt").locator(".mark")).to_contain_text("here, kept")
    act("No longer keep", "letter.txt", "here")
    expect(row(page, "letter.txt").locator(".mark")).not_to_contain_text("kept")
    act("Free space", "letter.txt", "not here")
    # A change by another program.
    pathlib.Path(os.environ["SCRATCH"], "ready").touch()
    expect(row(page, "from outside.txt")).to_be_visible()
    # Renaming.
    row(page, "letter.txt").click()
    page.keyboard.press("F2")
    expect(page.get_by_role("dialog")).to_contain_text("letter.txt")
    page.keyboard.type("renamed")
    page.keyboard.press("Enter")
    expect(row(page, "renamed.txt")).to_be_visible()
    # Uploading by drop.
    page.evaluate("""() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["dropped\\n"], "dropped.txt"));
        const list = document.querySelector(".grid");
        for (const name of ["dragover", "drop"])
            list.dispatchEvent(new DragEvent(name, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }""")
    expect(row(page, "dropped.txt")).to_be_visible()
    # A name that is taken is asked about, and skipped here.
    page.locator("input[type=file]").set_input_files(
        [{"name": "dropped.txt", "mimeType": "text/plain", "buffer": b"another"}])
    expect(page.get_by_role("dialog")).to_contain_text("is there already")
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    # A new folder, a deletion.
    page.get_by_role("button", name="New folder").click()
    page.keyboard.type("made")
    page.keyboard.press("Enter")
    expect(row(page, "made")).to_be_visible()
    row(page, "old.txt").click()
    page.keyboard.press("Delete")
    expect(page.get_by_role("dialog")).to_contain_text("old.txt")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page, "old.txt")).to_have_count(0)
    # Search as one types; the result leads to its folder.
    page.locator("#query").press_sequentially("june")
    expect(page.locator("#results")).to_contain_text("june.txt")
    picture(page, "search")
    page.locator("#results").get_by_role("link", name="june.txt").click()
    expect(row(page, "june.txt")).to_be_visible()
    # (A name that is taken is an answer of 409, which the console counts as an error.)
    faults = [fault for fault in page.faults if "409" not in fault]
    assert not faults, faults
    return times


def keyboard(play):
    """Without a mouse: into the place, a folder and back, renaming, freeing; then the state."""
    page = opened(browser(play).new_context())
    expect(page.locator(f'a[data-place="{mount}"]')).to_be_visible()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.place") == mount: break
    page.keyboard.press("Enter")
    expect(page.locator(".grid")).to_be_focused()
    expect(row(page, "letters")).to_be_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(row(page, "june.txt")).to_be_visible()
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("F2")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("july")
    page.keyboard.press("Enter")
    expect(row(page, "july.txt")).to_be_visible()
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("Shift+F10")
    assert page.evaluate("document.activeElement.closest('[role=toolbar]') !== null")
    page.keyboard.press("Shift+Tab")
    page.locator(".grid").focus()
    page.keyboard.press("Backspace")
    expect(row(page, "letter.txt")).to_be_visible()
    for role in ("listbox", "option", "toolbar", "status", "search"):
        assert page.locator(f'[role="{role}"]').count() > 0, role
    assert page.locator(".grid").get_attribute("aria-activedescendant")
    assert not page.faults, page.faults
    return {}


def conflict(play):
    """Both versions shown, and mine kept."""
    page = opened(browser(play).new_context())
    page.get_by_role("link", name="State").click()
    card = page.locator("section.card").filter(has_text=mount)
    expect(card.locator(".conflicts strong")).to_have_text("doc.txt")
    card.get_by_role("button", name="Compare").click()
    expect(card.locator(".difference .removed")).to_contain_text("theirs")
    expect(card.locator(".difference .added")).to_contain_text("mine")
    picture(page, "conflict")
    card.get_by_role("button", name="Keep mine").click()
    expect(card.locator(".conflicts")).to_contain_text("No conflicts.")
    # Pausing, and what waits.
    card.get_by_role("button", name="Pause").click()
    expect(card).to_contain_text("Paused")
    pathlib.Path(os.environ["SCRATCH"], "ready").touch()
    expect(card).to_contain_text("waiting.txt")
    picture(page, "state")
    card.get_by_role("button", name="Resume").click()
    expect(card).not_to_contain_text("Paused")
    assert not page.faults, page.faults
    return {}


def looks(play):
    """360 pixels wide, dark, German: nothing sticks out."""
    context = browser(play).new_context(
        viewport={"width": 360, "height": 640}, color_scheme="dark", locale="de-DE")
    page = opened(context)
    expect(page.get_by_role("link", name="Orte")).to_be_visible()

    def fits(view):
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, (view, width)
        picture(page, "narrow-" + view)

    fits("places")
    enter(page)
    expect(row(page, "letter.txt").locator(".mark")).to_contain_text("nicht hier")
    fits("folder")
    page.get_by_role("link", name="Zustand").click()
    expect(page.locator("section.card").filter(has_text=mount)).to_contain_text("Alles ist im Speicher.")
    fits("state")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 23, 27)", ground
    assert not page.faults, page.faults
    return {}


def strangers(play):
    """Another site, in the same browser, and a name that points here."""
    found = {}
    port = int(address.split(":")[2].split("/")[0])

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found.setdefault("headers", []).append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>evil</title>")

        def log_message(self, *_): pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    context = browser(play, f"--host-resolver-rules=MAP evil.example 127.0.0.1").new_context()
    page = opened(context)
    expect(page.locator(f'a[data-place="{mount}"]')).to_be_visible()
    other = context.new_page()
    # (A site on another port of 127.0.0.1 counts as the same site, and shares cookies.)
    for origin in (f"http://127.0.0.1:{site.server_port}", f"http://evil.example:{site.server_port}"):
        other.goto(origin)
        result = other.evaluate("""async ([port, mount]) => {
            const got = [];
            for (const host of ["127.0.0.1", "localhost"]) {
                const base = `http://${host}:${port}`;
                const body = JSON.stringify({ domain: mount, path: "", name: "made by a stranger" });
                for (const mode of ["cors", "no-cors"])
                    for (const type of ["application/json", "text/plain"])
                        try {
                            const response = await fetch(base + "/api/folder",
                                { method: "POST", body, mode, credentials: "include", headers: { "Content-Type": type } });
                            got.push([mode, type, response.type, response.status]);
                        } catch { got.push([mode, type, "failed", 0]); }
                await new Promise((resolve) => {
                    const script = document.createElement("script");
                    script.src = base + "/main.js";
                    script.onload = () => { got.push(["script", "", "loaded", 0]); resolve(); };
                    script.onerror = resolve;
                    document.head.append(script);
                });
            }
            const frame = document.createElement("iframe");
            frame.src = `http://127.0.0.1:${port}/`;
            document.body.append(frame);
            await new Promise((resolve) => { frame.onload = resolve; setTimeout(resolve, 5000); });
            return got;
        }""", [port, mount])
        assert all(kind in ("failed", "opaque") for _, _, kind, _ in result), result
        frames = [frame for frame in other.frames if frame.parent_frame]
        assert all("Hydrant" not in frame.content() for frame in frames)
    assert not any("cookie" in {name.lower() for name in headers} for headers in found["headers"])
    # The name that points here.
    response = other.goto(f"http://evil.example:{port}/")
    assert response.status == 421, response.status
    site.shutdown()
    # The code is used up, and gone from the address and the history.
    assert "code" not in page.url, page.url
    again = context.new_page()
    again.goto(address)
    expect(again.locator("#closed")).to_be_visible()
    return {}


def large(play):
    """How long until the first view and the first rows of a folder of very many documents."""
    page = opened(browser(play).new_context())
    expect(page.locator(f'a[data-place="{mount}"]')).to_be_visible()
    first = page.evaluate("""() => performance.now()""")
    began = time.monotonic()
    enter(page)
    expect(page.locator(".row .name").first).to_be_visible()
    rows = time.monotonic() - began
    count = page.locator("#count").text_content()
    began = time.monotonic()
    page.keyboard.press("End")
    expect(page.locator('.row[aria-selected="true"] .name')).to_be_visible()
    end = time.monotonic() - began
    page.get_by_role("link", name="Places").first.click()
    began = time.monotonic()
    page.reload()
    expect(page.locator(f'a[data-place="{mount}"]')).to_be_visible()
    reload = time.monotonic() - began
    return {"first": round(first / 1000, 3), "rows": round(rows, 3), "end": round(end, 3), "reload": round(reload, 3), "count": count}


with sync_playwright() as play:
    print(json.dumps(globals()[scenario](play)))
