import Foundation
import Synchronization
import UniformTypes

/// Makes a program from an extension, for the `program` of a manifest.
///
/// ```swift
/// @main
/// enum Main {
///     static func main() async { await DocumentPickerExtensionMain.run(NotesPicker.self) }
/// }
/// ```
public enum DocumentPickerExtensionMain {
    /// Serves one presentation over standard input and output, until the picker closes. The program may write nothing
    /// else to standard output.
    public static func run<Extension: DocumentPickerExtension>(_: Extension.Type) async {
        let answers = Mutex<[CheckedContinuation<Void, any Error>]>([])
        let (pending, inbox) = AsyncStream<ExtensionRequest>.makeStream()
        let reading = Task {
            for await line in JSONLine.read(0) {
                guard let request = try? JSONDecoder().decode(ExtensionRequest.self, from: line) else { continue }
                let waiting = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                switch request {
                case .dismissed: waiting?.resume()
                case .refused(let message): waiting?.resume(throwing: DocumentPickerError(message))
                default:
                    if let waiting { answers.withLock { $0.insert(waiting, at: 0) } }
                    inbox.yield(request)
                }
            }
            inbox.finish()
            // The picker was killed; whether it had taken the document is unknown.
            for waiting in answers.withLock({ $0 }) { waiting.resume(throwing: CancellationError()) }
        }
        defer { reading.cancel() }
        var shown: (any DocumentPickerExtension)?
        for await request in pending {
            do {
                switch request {
                case .prepare(let presentation):
                    func folder(_ path: String?) -> URL? { path.map { URL(filePath: $0, directoryHint: .isDirectory) } }
                    let context = DocumentPickerContext(
                        providerIdentifier: presentation.providerIdentifier,
                        documentStorageURL: folder(presentation.documentStorage),
                        documentGroupURL: folder(presentation.documentGroup), shows: { say(.page($0)) },
                        dismisses: { url in
                            try await withCheckedThrowingContinuation {
                                (continuation: CheckedContinuation<Void, any Error>) in
                                answers.withLock { $0.append(continuation) }
                                say(.dismiss(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString))
                            }
                        })
                    let made = Extension(context: context)
                    shown = made
                    context.prepare(
                        DocumentPickerContext.Presentation(
                            mode: presentation.mode,
                            originalURL: presentation.original.map { URL(filePath: $0, directoryHint: .notDirectory) },
                            validTypes: presentation.types?.map { UniformType($0) }))
                    try await made.prepareForPresentation(in: presentation.mode)
                case .action(let action): try await shown?.handle(action)
                default: break
                }
            } catch { say(.failed("\(error)")) }
        }
    }

    private static func say(_ reply: ExtensionReply) {
        guard let line = try? JSONLine.encode(reply) else { return }
        FileHandle.standardOutput.write(line)
    }
}
