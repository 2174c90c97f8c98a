import ChildProcess
import ControlAPI
import Foundation
import Synchronization

/// Makes a PDF of a document with LibreOffice, without a window, with a profile of its own, without macros and fetches.
final class OfficeConverter: Sendable {
    let folder: TemporaryFolder
    private let shown: String
    private let copy = Mutex("")
    private static let patience = Duration.seconds(180)
    /// The largest document, and the largest file that LibreOffice may write, in bytes.
    private static let (mostRead, mostWritten) = (64 << 20, 256 << 20)

    init(shown: String) throws {
        self.shown = shown
        folder = try TemporaryFolder()
    }

    /// Copies the document, so that LibreOffice makes no lock file beside it, and other programs do not wait for
    /// LibreOffice.
    func take(_ path: String) throws {
        var status = stat()
        guard ByteText.withPath(path, { stat($0, &status) }) == 0 else { throw FileBytes.failure(path) }
        guard status.st_size > 0 else { throw DocumentInteractionError(.nothingToShow, "\(shown): is empty") }
        guard status.st_size <= Self.mostRead else {
            throw DocumentInteractionError(
                .tooMuch, "\(shown): larger than \(Self.mostRead >> 20) MiB, the limit for LibreOffice")
        }
        let suffix = (path as NSString).pathExtension.lowercased()
        let isPlain = suffix.wholeMatch(of: /[a-z0-9]{1,10}/) != nil
        let target = "\(folder.path)/document" + (isPlain ? ".\(suffix)" : "")
        do {
            try FileManager.default.copyItem(
                at: ByteText.url(path), to: URL(filePath: target, directoryHint: .notDirectory))
        } catch { throw DocumentInteractionError(.failed, "\(shown): \(error.localizedDescription)") }
        copy.withLock { $0 = target }
    }

    /// Converts the copy.
    ///
    /// - Returns: the PDF's path, in ``folder``.
    func pdf(_ stop: ChildProcess.Stop) throws -> String {
        try writeSettings(folder.path + "/profile/user")
        let out = folder.path + "/out"
        let profile = FileURI.text(folder.path + "/profile") ?? ""
        let words = [
            try program(),
            "-env:UserInstallation=\(profile)", "--headless", "--norestore", "--nologo",
            "--nodefault", "--nolockcheck", "--convert-to", "pdf", "--outdir", out, copy.withLock { $0 },
        ]
        let bounded = BoundedProgram.words(
            words, seconds: 2 * Self.patience.components.seconds, file: Self.mostWritten)
        let ending: ChildProcess.Ending
        do {
            ending = try ChildProcess(bounded, limit: Self.patience, stop: stop).run(reading: .standardOutputAlone)
        } catch .stopped {
            throw CancellationError()
        } catch .tooSlow {
            throw DocumentInteractionError(
                .tooMuch, "\(shown): LibreOffice took longer than \(Self.patience.components.seconds) s for it")
        } catch { throw DocumentInteractionError(.failed, "\(shown): LibreOffice \(error)") }
        let made = out + "/document.pdf"
        guard FileManager.default.fileExists(atPath: made) else {
            // Without memory LibreOffice may end with status 0.
            if ending.memory > BoundedProgram.memory / 2 {
                throw DocumentInteractionError(
                    .tooMuch,
                    "\(shown): LibreOffice needs more than \(BoundedProgram.memory >> 30) GiB of memory for it")
            }
            throw DocumentInteractionError(
                .nothingToShow,
                "\(shown): LibreOffice could not make a PDF; the document may be damaged, need a password, or need a part of LibreOffice "
                    + "that is not installed (libreoffice-writer, -calc, -impress, -draw)")
        }
        return made
    }

    private func program() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        for name in ["soffice", "libreoffice"] {
            for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        }
        throw DocumentInteractionError(
            .missingProgram,
            "\(shown): shown and printed through LibreOffice, which is not installed; install it")
    }

    /// Disables macros, and the fetching of what a document refers to. LibreOffice fetches some kinds in spite of the
    /// settings; so these also set a proxy that does not exist (port 9, *discard*).
    private func writeSettings(_ folder: String) throws {
        func item(_ path: String, _ name: String, _ value: String) -> String {
            "<item oor:path=\"/org.openoffice.\(path)\"><prop oor:name=\"\(name)\" oor:op=\"fuse\">"
                + "<value>\(value)</value></prop></item>"
        }
        let proxy = [
            ("ooInetProxyType", "2"), ("ooInetHTTPProxyName", "127.0.0.1"), ("ooInetHTTPProxyPort", "9"),
            ("ooInetHTTPSProxyName", "127.0.0.1"), ("ooInetHTTPSProxyPort", "9"), ("ooInetNoProxy", ""),
        ]
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<oor:items xmlns:oor=\"http://openoffice.org/2001/registry\">",
            item("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
            item("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
            item("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
            item("Office.Writer/Content/Update", "Link", "0"), item("Office.Calc/Content/Update", "Link", "1"),
        ]
        for (name, value) in proxy { lines.append(item("Inet/Settings", name, value)) }
        lines += ["</oor:items>", ""]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(lines.joined(separator: "\n").utf8).write(
            to: URL(filePath: folder + "/registrymodifications.xcu", directoryHint: .notDirectory))
    }
}
