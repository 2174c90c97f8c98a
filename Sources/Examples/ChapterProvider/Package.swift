// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "ChapterProvider",
    dependencies: [.package(name: "hydrant", path: "../../..")],
    targets: [
        .executableTarget(
            name: "hydrant-provider-chapters", dependencies: [.product(name: "Daemon", package: "hydrant")])
    ])
