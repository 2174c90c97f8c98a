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
/// The command starts the program and passes the store, the mount point and the options to it; the program becomes the
/// daemon of that mount. Run by hand, the program prints its usage; `--version` prints its version.
///
/// In the background, standard output is discarded and standard error goes to the log. Messages of
/// [swift-log](https://github.com/apple/swift-log) go to the daemon's log at the level that the user has set.
public enum ProviderMain {
    /// Serves one mount; never returns.
    ///
    /// - Parameters:
    ///   - scheme: the text before the colon in a location: a letter, then letters, digits, `+`, `-` and `.`. The
    ///     program's name is `hydrant-provider-` followed by the scheme in lower case.
    ///   - locations: the kind of the text after the colon: a path, an address or a name. The kind determines how a
    ///     store is recognized (``StoreLocation/canonical``).
    ///   - version: the provider's version, for `--version`.
    ///   - makeProvider: creates the provider of one store. If the closure throws, nothing is mounted, and the user
    ///     sees one line: the message of a `FileProviderError`, or the description of another error. Check here that
    ///     the store exists and has the right format; take at most two minutes. A provider whose `isReadOnly` is true
    ///     is mounted read-only.
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
        // `hydrant mount` asks which kind of program this is: one that becomes the daemon, not one that it talks to.
        case ["--hydrant-protocol"]: exit(EX_USAGE)
        default:
            let line =
                "\(program): only hydrant mount starts it; run hydrant mount \(example(scheme, locations)) MOUNTPOINT\n"
            FileHandle.standardError.write(Data(line.utf8))
            exit(EX_USAGE)
        }
        exit(0)
    }

    private static func usage(_ scheme: String, _ program: String, _ kind: StoreLocation.Kind) -> String {
        """
        \(program) is a provider of Hydrant: it shows \(scheme): stores as ordinary directories.
        Do not run it by hand. Put it into a folder of PATH, then run

            hydrant mount \(example(scheme, kind)) MOUNTPOINT

        `hydrant help mount` lists the options.
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
