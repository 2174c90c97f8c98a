// swift-tools-version: 6.2

import PackageDescription

/// All our targets are compiled with strict imports and explicit existentials; in `scripts/check` a warning is an
/// error.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let collections = product(name: "Collections", package: "swift-collections")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let sqlite = product(name: "GRDBSQLite", package: "GRDB.swift")
    static let logging = product(name: "Logging", package: "swift-log")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioWebSocket = product(name: "NIOWebSocket", package: "swift-nio")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
    static let tomlKit = product(name: "TOMLKit", package: "TOMLKit")
}

let package = Package(
    name: "hydrant",
    products: [
        .library(name: "FileProvider", targets: ["FileProvider"]),
        .library(name: "FileProviderTesting", targets: ["FileProviderTesting"]),
        .library(name: "FileCoordination", targets: ["FileCoordination"]),
        .library(name: "DocumentPicker", targets: ["DocumentPicker", "FileCoordination", "UniformTypes"]),
        .library(
            name: "MetadataQuery", targets: ["MetadataQuery", "DocumentContainers", "QueryLanguage", "UniformTypes"]),
        .library(name: "DocumentContainers", targets: ["DocumentContainers", "UniformTypes"]),
        .library(name: "Documents", targets: ["Documents", "FileCoordination", "UniformTypes"]),
        .library(
            name: "DocumentInteraction", targets: ["DocumentInteraction", "FileCoordination", "UniformTypes"]),
        // For executables that serve a scheme: ProviderMain, and the SDK for writing a provider.
        .library(name: "Daemon", targets: ["Daemon", "FileProvider"]),
        .executable(name: "hydrant", targets: ["hydrant"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .systemLibrary(name: "CFUSE", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(name: "CURing", pkgConfig: "liburing", providers: [.apt(["liburing-dev"])]),
        .target(name: "FUSE", dependencies: ["CFUSE", "CURing", "CLinux", "Locking", "Surroundings"]),
        .target(name: "CLinux"),
        .target(name: "Locking"),
        .target(name: "Waiting"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "Hashing", dependencies: ["COpenSSL", "FileProvider"]),
        .target(name: "Surroundings"),
        .target(name: "ChildProcess", dependencies: ["CLinux"]),
        .target(
            name: "CPictures",
            linkerSettings: [.linkedLibrary("png"), .linkedLibrary("turbojpeg"), .linkedLibrary("z")]),
        .target(name: "Pictures", dependencies: ["CPictures"]),

        .target(name: "FileProvider"),
        .target(name: "FileProviderTesting", dependencies: ["FileProvider", "Waiting"]),
        .target(
            name: "DirectoryProvider",
            dependencies: ["CLinux", "FileProvider", "Hashing", "Surroundings", .logging, .nioPosix]),

        .target(
            name: "HTTPTransport",
            dependencies: [
                "FileProvider", "Waiting", .asyncHTTPClient, .logging, .nioCore, .nioHTTP1, .nioPosix, .nioSSL,
                .nioWebSocket,
            ]),
        .target(name: "CSecret", linkerSettings: [.linkedLibrary("dl")]),
        .target(
            name: "Accounts", dependencies: ["CSecret", "ChildProcess", "HTTPTransport", "Surroundings", .tomlKit]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .target(name: "XMLStream", dependencies: ["CExpat"]),
        .target(
            name: "WebDAVProvider",
            dependencies: [
                "FileProvider", "HTTPTransport", "Hashing", "Surroundings", "Waiting", "XMLStream", .logging,
                .nioCore,
            ]),
        .target(
            name: "S3Provider",
            dependencies: [
                "ChildProcess", "FileProvider", "HTTPTransport", "Hashing", "Surroundings", "UniformTypes", "XMLStream",
                .logging,
                .nioCore, .nioHTTP1, .nioPosix,
            ]),

        .target(
            name: "RcloneProvider",
            dependencies: [
                "CLinux", "FileProvider", "HTTPTransport", "Hashing", "Surroundings", "Waiting", .logging, .nioCore,
                .nioPosix,
            ]),

        // Providers in other languages.
        .target(
            name: "ProcessProvider",
            dependencies: [
                "CLinux", "FileProvider", "Surroundings", "Waiting", .logging, .nioCore, .nioPosix,
            ]),

        .target(name: "Trees", dependencies: ["FileProvider", "Locking", "Surroundings"]),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "ItemCatalog",
            dependencies: ["CLinux", "CSQLite", "FileProvider", "Locking", "Trees", .grdb, .sqlite]),
        .target(name: "ContentStore", dependencies: ["CLinux", "Locking", "Surroundings"]),
        .target(
            name: "SyncEngine",
            dependencies: [
                "CLinux", "FileProvider", "Hashing", "ItemCatalog", "Trees", "ContentStore", "Locking", "Surroundings",
                "Waiting", .logging, .nioPosix,
            ]),
        .target(
            name: "Volume",
            dependencies: ["FileProvider", "ItemCatalog", "Trees", "ContentStore", "Locking", "SyncEngine", .logging]),
        .target(
            name: "MountFrontend",
            dependencies: ["FUSE", "FileProvider", "ItemCatalog", "Trees", "SyncEngine", "Volume"]),

        .target(
            name: "ControlAPI",
            dependencies: ["CLinux", "QueryLanguage", "Surroundings", .logging, .nioCore, .nioPosix]),
        .target(name: "Coordination"),
        .target(name: "UniformTypes", dependencies: ["Surroundings"]),
        .target(name: "QueryLanguage", dependencies: ["UniformTypes"]),
        .target(
            name: "ItemSearch",
            dependencies: ["FileProvider", "ItemCatalog", "Trees", "QueryLanguage", "Surroundings", "UniformTypes"]),
        .target(
            name: "FileCoordination", dependencies: ["ControlAPI", "Coordination", "Surroundings", .nioPosix]),
        .target(
            name: "DocumentContainers",
            dependencies: ["CLinux", "ControlAPI", "Surroundings", "UniformTypes", .nioPosix, .tomlKit]),
        .target(
            name: "MetadataQuery",
            dependencies: ["ControlAPI", "DocumentContainers", "FileCoordination", "QueryLanguage", "UniformTypes"]),
        .target(
            name: "Documents",
            dependencies: [
                "CLinux", "ControlAPI", "FileCoordination", "MetadataQuery", "Surroundings", "UniformTypes", "Waiting",
                .nioPosix,
            ]),
        .target(
            name: "DocumentPicker",
            dependencies: [
                "CLinux", "ChildProcess", "ControlAPI", "DocumentContainers", "FileCoordination", "Surroundings",
                "UniformTypes", .nioPosix, .tomlKit,
            ]),
        // The desktop's programs and types: GIO, a part of GLib.
        .systemLibrary(name: "CGIO", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(
            name: "DocumentInteraction",
            dependencies: [
                "CGIO", "CLinux", "ChildProcess", "ControlAPI", "FileCoordination", "MetadataQuery", "Surroundings",
                "UniformTypes", .nioPosix, .tomlKit,
            ]),
        // The session's bus, and notices on it.
        .target(name: "SessionBus", dependencies: ["CGIO"]),
        .target(name: "Notices", dependencies: ["ControlAPI", "SessionBus", "Surroundings"]),
        // (Its pkg-config file has flags that SwiftPM considers unsafe.)
        .systemLibrary(name: "CNcurses", providers: [.apt(["libncurses-dev"])]),
        .target(name: "TerminalPicker", dependencies: ["CNcurses", "DocumentPicker", "Surroundings"]),
        .target(
            name: "DocumentServices",
            dependencies: [
                "ChildProcess", "CLinux", "ContentStore", "ControlAPI", "Coordination", "FUSE", "FileProvider",
                "Hashing", "ItemCatalog", "ItemSearch", "MountFrontend", "QueryLanguage", "Surroundings",
                "SyncEngine", "Trees", "UniformTypes", "Volume", "Waiting", .logging,
            ]),
        .target(
            name: "Daemon",
            dependencies: [
                "ChildProcess", "CLinux", "ContentStore", "ControlAPI", "DocumentServices", "FUSE", "FileProvider",
                "Hashing", "ItemCatalog", "MountFrontend", "Pictures", "Surroundings", "SyncEngine", "Trees",
                "UniformTypes", "Volume", .logging,
            ]),
        .target(
            name: "Stores",
            dependencies: [
                "Accounts", "CLinux", "Daemon", "DirectoryProvider", "FileProvider", "HTTPTransport", "ProcessProvider",
                "RcloneProvider", "S3Provider", "Surroundings", "WebDAVProvider", .logging,
            ]),
        // (The extensions are in the program, so that there is nothing to be found beside it.)
        .target(name: "FileManagers", dependencies: ["Surroundings"], resources: [.embedInCode("Resources")]),
        .executableTarget(
            name: "hydrant",
            dependencies: [
                "Accounts", "ChildProcess", "CLinux", "Daemon", "ControlAPI", "DocumentContainers",
                "DocumentInteraction", "DocumentPicker", "FileCoordination", "FileManagers", "FileProvider",
                "FileProviderTesting", "HTTPTransport", "MetadataQuery", "Notices", "Pictures", "ProcessProvider",
                "QueryLanguage", "SessionBus", "Stores", "Surroundings", "TerminalPicker", "UniformTypes",
                .argumentParser, .logging,
            ]),

        // The page in the browser: a program of its own, so that who never opens it need not build it.
        .target(
            name: "WebPage",
            dependencies: ["CLinux", "ControlAPI", "QueryLanguage", "Surroundings", .nioCore, .nioHTTP1, .nioPosix],
            resources: [.embedInCode("Resources")]),
        .executableTarget(name: "hydrant-web", dependencies: ["WebPage"]),

        // The listing in the guide "Write a provider": it sees what a package outside sees.
        .executableTarget(
            name: "hydrant-provider-chapters", dependencies: ["Daemon", "FileProvider"],
            path: "Sources/Examples/ChapterProvider/Sources/hydrant-provider-chapters", packageAccess: false),

        // The program in the documentation of MetadataQuery; it sees what a package outside sees.
        .executableTarget(
            name: "hydrant-watch", dependencies: ["MetadataQuery", "QueryLanguage"], path: "Sources/Examples/Watch",
            packageAccess: false),

        // The program in the documentation of DocumentContainers.
        .executableTarget(
            name: "hydrant-memo", dependencies: ["DocumentContainers", "MetadataQuery", "QueryLanguage"],
            path: "Sources/Examples/Memo", packageAccess: false),

        // The program in the documentation of thumbnails.
        .executableTarget(
            name: "hydrant-give-picture", dependencies: ["FileCoordination"], path: "Sources/Examples/PictureGiver",
            packageAccess: false),

        // The program in the documentation of Documents, and an editor; they also see what a package outside sees.
        .executableTarget(
            name: "hydrant-jot", dependencies: ["Documents", "UniformTypes"], path: "Sources/Examples/Jot",
            packageAccess: false),
        .executableTarget(
            name: "hydrant-note", dependencies: ["Documents", "UniformTypes"], path: "Sources/Examples/Note",
            packageAccess: false),

        // The program in the documentation of DocumentInteraction.
        .executableTarget(
            name: "hydrant-interact", dependencies: ["DocumentInteraction"], path: "Sources/Examples/Interact",
            packageAccess: false),

        // A provider's own picker.
        .executableTarget(
            name: "hydrant-picker-recent", dependencies: ["DocumentPicker", "UniformTypes"],
            path: "Sources/Examples/RecentPicker", packageAccess: false),

        // The larger example of the guide, on a C library; it also sees what a package outside sees.
        .systemLibrary(name: "CZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .executableTarget(
            name: "hydrant-provider-zip", dependencies: ["CZip", "Daemon", "FileProvider", .logging],
            path: "Sources/ZipProvider", packageAccess: false),

        // Tests. MountHarness is the base of every test at a real mount, or in process.
        .target(
            name: "MountHarness",
            dependencies: [
                "CLinux", "ContentStore", "ControlAPI", "FUSE", "FileProvider", "FileProviderTesting", "ItemCatalog",
                "Trees", "MountFrontend", "SyncEngine", "Volume", .logging,
            ],
            path: "Tests/MountHarness",
            exclude: ["Servers/nextcloud_cloud.py", "Servers/nextcloud_double.py", "Servers/nextcloud_live.py"]),
        // Real WebDAV servers.
        .target(
            name: "WebDAVHarness",
            dependencies: [
                "FileProvider", "FileProviderTesting", "HTTPTransport", "MountHarness", "SyncEngine", "WebDAVProvider",
                .logging,
            ],
            path: "Tests/WebDAVHarness"),
        .testTarget(
            name: "WebDAVProviderTests",
            dependencies: [
                "Daemon", "FileProvider", "FileProviderTesting", "HTTPTransport", "ItemCatalog", "Trees",
                "MountHarness",
                "SyncEngine", "Volume", "WebDAVHarness", "WebDAVProvider", "XMLStream",
                .logging,
            ]),
        // A provider program in Swift, also a broken one.
        .executableTarget(
            name: "hydrant-protocol-peer", dependencies: ["FileProvider", "FileProviderTesting", "ProcessProvider"],
            path: "Tests/ProtocolPeer"),
        .testTarget(
            name: "ProcessProviderTests",
            dependencies: [
                "FileProvider", "FileProviderTesting", "MountHarness", "ProcessProvider", "hydrant",
                "hydrant-protocol-peer", .logging,
            ], exclude: ["Servers"]),
        // Real servers that speak S3.
        .target(
            name: "S3Harness",
            dependencies: [
                "FileProvider", "FileProviderTesting", "HTTPTransport", "MountHarness", "S3Provider", .logging,
            ], path: "Tests/S3Harness"),
        .testTarget(
            name: "S3ProviderTests",
            dependencies: [
                "Daemon", "FileProvider", "FileProviderTesting", "HTTPTransport", "ItemCatalog", "MountHarness",
                "S3Harness",
                "S3Provider", "SyncEngine", "Trees", "Volume", "WebDAVHarness", "XMLStream", .logging,
            ]),
        // rclone, and servers for its remotes.
        .testTarget(
            name: "RcloneProviderTests",
            dependencies: [
                "FileProvider", "FileProviderTesting", "HTTPTransport", "MountHarness", "RcloneProvider", "S3Harness",
                "WebDAVHarness", "hydrant", .logging,
            ]),
        .testTarget(name: "AccountsTests", dependencies: ["Accounts", "HTTPTransport"]),
        .testTarget(name: "HTTPTransportTests", dependencies: ["HTTPTransport"]),
        .testTarget(name: "FUSETests", dependencies: ["FUSE", "Surroundings"]),
        .testTarget(
            name: "DirectoryProviderTests",
            dependencies: ["DirectoryProvider", "FileProvider", "FileProviderTesting", "MountHarness", .logging]),
        .testTarget(name: "FileProviderTestingTests", dependencies: ["FileProvider", "FileProviderTesting"]),
        .testTarget(name: "CoordinationTests", dependencies: ["Coordination"]),
        .testTarget(name: "SurroundingsTests", dependencies: ["Surroundings"]),
        .testTarget(name: "WaitingTests", dependencies: ["Waiting"]),
        .testTarget(name: "HashingTests", dependencies: ["FileProviderTesting", "Hashing"]),
        .testTarget(name: "ChildProcessTests", dependencies: ["ChildProcess"]),
        .testTarget(name: "UniformTypesTests", dependencies: ["UniformTypes"]),
        .testTarget(name: "QueryLanguageTests", dependencies: ["QueryLanguage", "UniformTypes"]),
        .testTarget(
            name: "ItemSearchTests",
            dependencies: ["FileProvider", "ItemCatalog", "Trees", "ItemSearch", "QueryLanguage"]),
        .testTarget(name: "DocumentsTests", dependencies: ["Documents", "UniformTypes"]),
        .testTarget(name: "DocumentPickerTests", dependencies: ["ControlAPI", "DocumentPicker", "UniformTypes"]),
        .testTarget(name: "NoticesTests", dependencies: ["ControlAPI", "Notices", "SessionBus"]),
        .testTarget(name: "DocumentInteractionTests", dependencies: ["DocumentInteraction", "UniformTypes"]),
        .testTarget(name: "ControlAPITests", dependencies: ["ControlAPI", "Surroundings", .logging]),
        .testTarget(
            name: "ItemCatalogTests",
            dependencies: ["CSQLite", "FileProvider", "ItemCatalog", "Trees", "MountHarness", "Surroundings", .grdb],
            resources: [.copy("Fixtures")]),
        .testTarget(name: "ContentStoreTests", dependencies: ["CLinux", "ContentStore", "Surroundings"]),
        .target(
            name: "TreesHarness", dependencies: ["FileProvider", "Trees"], path: "Tests/TreesHarness"),
        .testTarget(
            name: "TreesTests", dependencies: ["FileProvider", "ItemCatalog", "Trees", "TreesHarness"]),
        .testTarget(
            name: "SyncEngineTests",
            dependencies: [
                "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog", "Trees", "TreesHarness",
                "Locking",
                "MountHarness", "SyncEngine", "Volume", .logging,
            ]),
        .testTarget(
            name: "VolumeTests",
            dependencies: [
                "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog", "Trees", "MountHarness",
                "SyncEngine",
                "Volume", .logging,
            ]),
        .testTarget(
            name: "DomainTests",
            dependencies: [
                "ContentStore", "ControlAPI", "Daemon", "DirectoryProvider", "DocumentServices", "FUSE", "FileProvider",
                "FileProviderTesting",
                "ItemCatalog", "Trees", "MountFrontend", "MountHarness", "ProcessProvider", "RcloneProvider",
                "S3Provider",
                "SyncEngine", "Surroundings", "Volume", "WebDAVProvider", "hydrant",
                .logging,
            ]),
        .executableTarget(
            name: "hydrant-provider-memory", dependencies: ["Daemon", "FileProvider", "FileProviderTesting", .logging],
            path: "Tests/MemoryProvider", packageAccess: false),
        // One of many processes that claim items at random.
        .executableTarget(
            name: "hydrant-coordination-load", dependencies: ["FileCoordination"], path: "Tests/CoordinationLoad"),
        // The random test against a model, as a separate program: it replaces the clocks and the scheduling of tasks.
        .target(name: "CModelTest", path: "Tests/CModelTest"),
        .executableTarget(
            name: "hydrant-model-test",
            dependencies: [
                "CLinux", "CModelTest", "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog",
                "MountHarness", "S3Harness", "S3Provider", "SyncEngine", "Trees", "TreesHarness", "Volume", .logging,
            ],
            path: "Tests/ModelTest", exclude: ["Replays"]),
        // The benchmarks of the hot paths: scripts/microbench.
        .executableTarget(
            name: "hydrant-microbench",
            dependencies: [
                "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog", "Trees", "ItemSearch",
                "MountHarness",
                "QueryLanguage", "SyncEngine", "Volume", "WebDAVProvider",
            ],
            path: "Tests/Microbenchmarks"),
        .testTarget(
            // Runs the program, and must not be linked with it, as its clocks would apply to all other tests.
            name: "ModelTestTests", dependencies: ["MountHarness", "S3Harness"]),
        .testTarget(
            name: "ZipProviderTests",
            dependencies: [
                "FileProvider", "FileProviderTesting", "MountHarness", "hydrant", "hydrant-provider-zip",
            ]),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "ContentStore", "ControlAPI", "Daemon", "DocumentServices", "FileProvider", "FileProviderTesting",
                "ItemCatalog", "Pictures", "Trees",
                "SyncEngine", "hydrant-provider-chapters",
                .logging,
            ]),
        .testTarget(name: "FileManagersTests", dependencies: ["FileManagers"]),
        .testTarget(name: "WebPageTests", dependencies: ["ControlAPI", "WebPage"]),
        // The page in Debian's Chromium: scripts/test web.
        .testTarget(
            name: "WebTests",
            dependencies: ["ControlAPI", "FileProviderTesting", "MountHarness", "hydrant", "hydrant-web"],
            exclude: ["Scripts"]),
        // Tests with desktop services, whose packages they need: scripts/test desktop.
        .testTarget(
            name: "DesktopTests", dependencies: ["ControlAPI", "FileCoordination", "MountHarness", "hydrant"]),
        .testTarget(
            name: "MountTests",
            dependencies: [
                "ControlAPI", "DocumentContainers", "Documents", "FileCoordination", "FileProvider", "MetadataQuery",
                "MountHarness",
                "QueryLanguage",
                "S3Harness", "S3Provider", "UniformTypes", "WebDAVHarness", "hydrant",
                "hydrant-coordination-load", "hydrant-give-picture", "hydrant-interact", "hydrant-jot", "hydrant-memo",
                "hydrant-microbench", "hydrant-note", "hydrant-picker-recent", "hydrant-provider-chapters",
                "hydrant-protocol-peer", "hydrant-provider-memory", "hydrant-watch",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
