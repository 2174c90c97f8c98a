// swift-tools-version: 6.2

import PackageDescription

/// Every target of ours is compiled the same way: strict imports, explicit existentials,
/// and a warning is an error in `scripts/check`.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let collections = product(name: "Collections", package: "swift-collections")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let logging = product(name: "Logging", package: "swift-log")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let crypto = product(name: "Crypto", package: "swift-crypto")
}

let package = Package(
    name: "hydrant",
    products: [
        .library(name: "FileProvider", targets: ["FileProvider"]),
        .library(name: "FileProviderTesting", targets: ["FileProviderTesting"]),
        .executable(name: "hydrant", targets: ["hydrant"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CFUSE", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .target(name: "FUSE", dependencies: ["CFUSE"]),
        .target(name: "CLinux"),

        .target(name: "FileProvider"),
        .target(name: "FileProviderTesting", dependencies: ["FileProvider"]),
        .target(
            name: "DirectoryProvider",
            dependencies: ["CLinux", "FileProvider", .logging, .nioPosix]),

        .target(name: "ItemCatalog", dependencies: ["FileProvider", .grdb]),
        .target(name: "ContentStore", dependencies: ["CLinux"]),
        .target(
            name: "SyncEngine",
            dependencies: [
                "FileProvider", "ItemCatalog", "ContentStore", .crypto, .logging, .nioPosix,
            ]),
        .target(
            name: "Volume",
            dependencies: ["FileProvider", "ItemCatalog", "ContentStore", "SyncEngine", .logging]),
        .target(
            name: "MountFrontend", dependencies: ["FUSE", "FileProvider", "ItemCatalog", "SyncEngine", "Volume"]),

        .target(name: "ControlAPI", dependencies: [.logging, .nioCore, .nioPosix]),
        .target(
            name: "Daemon",
            dependencies: [
                "FUSE", "FileProvider", "ItemCatalog", "ContentStore", "SyncEngine", "Volume",
                "MountFrontend", "DirectoryProvider", "ControlAPI", .crypto, .logging,
            ]),
        .executableTarget(
            name: "hydrant", dependencies: ["Daemon", "ControlAPI", .argumentParser, .logging]),

        // Tests. MountHarness is what every test at a real mount, or in process, stands on.
        .target(
            name: "MountHarness",
            dependencies: [
                "ContentStore", "ControlAPI", "FileProvider", "FileProviderTesting", "ItemCatalog", "SyncEngine",
                "Volume", .logging,
            ],
            path: "Tests/MountHarness"),
        .testTarget(name: "FUSETests", dependencies: ["FUSE"]),
        .testTarget(
            name: "DirectoryProviderTests",
            dependencies: ["DirectoryProvider", "FileProvider", "FileProviderTesting", .logging]),
        .testTarget(name: "FileProviderTestingTests", dependencies: ["FileProvider", "FileProviderTesting"]),
        .testTarget(name: "ControlAPITests", dependencies: ["ControlAPI", .logging]),
        .testTarget(name: "ItemCatalogTests", dependencies: ["FileProvider", "ItemCatalog"]),
        .testTarget(name: "ContentStoreTests", dependencies: ["ContentStore"]),
        .testTarget(
            name: "SyncEngineTests",
            dependencies: [
                "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog", "MountHarness", "SyncEngine",
                "Volume", .logging,
            ]),
        .testTarget(
            name: "VolumeTests",
            dependencies: [
                "ContentStore", "FileProvider", "FileProviderTesting", "ItemCatalog", "MountHarness", "SyncEngine",
                "Volume", .logging,
            ]),
        .testTarget(name: "MountTests", dependencies: ["ControlAPI", "FileProvider", "MountHarness", "hydrant"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
