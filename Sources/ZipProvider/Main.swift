import Daemon

/// `hydrant mount zip:ARCHIVE MOUNTPOINT`.
@main struct Main {
    static func main() async {
        await ProviderMain.run(scheme: "zip", version: "1.0") { location in
            try await ZipProvider(path: location.path)
        }
    }
}
