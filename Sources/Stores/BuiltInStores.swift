package import Daemon

/// The kinds of stores that `hydrant` serves by itself. A new one is a target with its provider, and a line here.
package let builtInStores = ProviderRegistry([
    .directory,
    .webDAV(scheme: "webdavs"), .webDAV(scheme: "webdav"),
])
