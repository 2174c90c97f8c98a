public import FileProvider
import Foundation

/// The entry point of a program that serves `hydrant mount SCHEME:… MOUNTPOINT`: an executable with the name
/// `hydrant-provider-SCHEME` in a folder of `PATH`.
///
/// ```swift
/// @main struct Main {
///     static func main() async {
///         await ProviderMain.run(scheme: "zip") { location in try await ZipProvider(path: location.path) }
///     }
/// }
/// ```
///
/// The command starts the program and hands it what is to be mounted and how; the program becomes the daemon of that
/// mount. Run by hand it says what it is and how it is used; `--version` says its version.
///
/// In the background, standard output goes nowhere and standard error to the log. What is logged with
/// [swift-log](https://github.com/apple/swift-log) goes to the log of the daemon at the level that the user wants.
public enum ProviderMain {
    /// Serves one mount; returns to nobody.
    ///
    /// - Parameters:
    ///   - scheme: what the user writes before the colon: a letter, then letters, digits, `+`, `-` and `.`; the program is
    ///     called `hydrant-provider-` and this, in lower case.
    ///   - locations: what stands behind the colon. A path, an address or a name is known again in different ways
    ///     (``StoreLocation/canonical``).
    ///   - version: of the provider, for `--version`.
    ///   - makeProvider: makes the provider of one store. What it throws is the line that the user reads, after which
    ///     nothing is mounted: the message of a `FileProviderError`, the description of another error. Make sure here that
    ///     the store is there and is what it should be; take no longer than two minutes. A provider whose `isReadOnly` is
    ///     true is mounted read-only.
    public static func run(
        scheme: String, locations: StoreLocation.Kind = .path, version: String? = nil,
        makeProvider: @escaping @Sendable (StoreLocation) async throws -> any FileProviderExtension
    ) async -> Never {
        let scheme = scheme.lowercased()
        let program = "hydrant-provider-\(scheme)"
        if DaemonHandover.isOffered {
            let own = ProviderRegistration(scheme: scheme, kind: locations) { location, _ in
                try await makeProvider(location)
            }
            exit(await DaemonProcess(ProviderRegistry([own]), program: program).run())
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments {
        case ["--version"]:
            print(
                "\(program)\(version.map { " \($0)" } ?? "") (daemon protocol \(DaemonConfiguration.currentVersion))"
            )
        case [], ["--help"], ["-h"], ["help"]: print(usage(scheme, program, locations))
        default:
            let line = "\(program): is not run by hand; run hydrant mount \(example(scheme, locations)) MOUNTPOINT\n"
            FileHandle.standardError.write(Data(line.utf8))
            exit(EX_USAGE)
        }
        exit(0)
    }

    private static func usage(_ scheme: String, _ program: String, _ kind: StoreLocation.Kind) -> String {
        """
        \(program) is a provider of Hydrant: it shows what is in \(scheme): stores as ordinary directories.
        It is not run by hand. Put it into a folder of PATH, then run

            hydrant mount \(example(scheme, kind)) MOUNTPOINT

        `hydrant help mount` says the rest.
        """
    }

    private static func example(_ scheme: String, _ kind: StoreLocation.Kind) -> String {
        switch kind {
        case .path: "\(scheme):PATH"
        case .url: "\(scheme)://HOST/PATH"
        case .name: "\(scheme):NAME"
        }
    }
}
