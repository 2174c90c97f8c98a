import Foundation
import MountHarness

/// `hydrant pick --json`, driven from Python.
enum PickerDriver {
    static let python = #"""
        import json
        HYDRANT = os.environ["HYDRANT"]

        class Picker:
            """A picker; `view` is what it shows."""
            def __init__(self, *words):
                self.process = subprocess.Popen(
                    [HYDRANT, "pick", "--json", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                self.view, self.answer = {"screen": None}, None
            def next(self):
                line = self.process.stdout.readline()
                if not line: raise Exception(f"the picker has ended with {self.process.wait()}; last: {self.view}")
                value = json.loads(line)
                if "result" in value: self.answer = value
                else: self.view = value
            def until(self, condition):
                while not condition(self.view): self.next()
                return self.view
            def do(self, what, **more):
                self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
                self.process.stdin.flush()
            def page(self, location=[]):
                return self.until(lambda view: view.get("screen") == "page" and not view["page"]["isLoading"]
                                  and view["page"]["location"] == location)["page"]
            def entries(self, location=[]):
                return {entry["name"]: entry for entry in self.page(location)["entries"]}
            def error(self):
                message = self.until(lambda view: view.get("screen") == "error")["error"]
                self.do("dismiss")
                self.until(lambda view: view.get("screen") != "error")
                return message
            def result(self):
                while self.answer is None: self.next()
                self.status = self.process.wait()
                return self.answer["result"]

        def hydrant(*words):
            return subprocess.run([HYDRANT, *words], capture_output=True, text=True)
        def wait_until(condition, what, seconds=60):
            end = time.time() + seconds
            while not condition():
                if time.time() > end: raise Exception(f"not in time: {what}")
                time.sleep(0.05)

        """#

    /// With documents of several kinds.
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("letter.txt", "letter\n")
        try seeding.file("photo.jpg", "photo\n")
        try seeding.file("Folder/report.odt", "report\n")
        try seeding.file("Folder/Below/deep.txt", "deep\n")
    }

    static func run(_ mount: MountedStore, _ program: String, limit: Double = 30) throws {
        try mount.python(python + program, limit: limit)
    }
}
