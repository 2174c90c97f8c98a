package import Daemon

/// The kinds of stores that `hydrant` serves itself. A new kind is a target with its provider, and a line here.
package let builtInStores = ProviderRegistry([
    .directory,
    .webDAV(scheme: "webdavs"), .webDAV(scheme: "webdav"),
    .s3,
    .rclone,
])
