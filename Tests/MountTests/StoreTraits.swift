import MountHarness
import Testing

extension Trait where Self == ConditionTrait {
    /// The scenario needs something of the store that WebDAV has not. All others in these suites run over Apache as well
    /// (`HYDRANT_TEST_STORE=webdav`).
    static func notOverWebDAV(_ why: Comment) -> Self { .disabled(if: StoreKind.usual == .webdav, why) }
}
