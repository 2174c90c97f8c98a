import FileProvider
import FileProviderTesting
import MountHarness
import Testing

/// What `hydrant status` says of a document after its troubles are over.
@Suite("The status of a document") struct StatusTests {
    @Test("the error of a document that could not be read is cleared when a program replaces its contents")
    func overwritten()
        async throws
    {
        let provider = FaultInjectingProvider(InMemoryProvider())
        try provider.base.put("doc", "from the store")
        try await withServed(provider, settle: 60) { served in
            try served.run("ls")
            provider.plan.fail(.startProvidingItem, times: 10, with: .notAuthenticated)
            #expect(throws: (any Error).self) { try served.run("cat doc") }
            func status() throws -> String { try served.hydrant("status", served.sandbox.mountPoint + "/doc").stdout }
            #expect(try status().contains("sign in again"))
            try served.run("echo mine > doc")
            #expect(try !status().contains("sign in again"))
            provider.plan.clear()
        }
    }
}
