import Testing

@testable import Accounts

@Suite struct PlainTextTests {
    private func warning(_ url: String, user: String? = "ada", usesToken: Bool = false) -> String? {
        var settings = AccountSettings()
        settings.url = url
        settings.user = user
        settings.usesToken = usesToken
        return settings.plainTextWarning
    }

    @Test("Hydrant warns of a password or token that would go to another machine unencrypted, and of nothing else")
    func warnings() {
        for url in [
            "http://nas:8080/", "http://192.168.1.7/dav/", "http://127.example.org/", "http://[::2]/", "dav://nas/",
        ] {
            #expect(warning(url)?.contains("the password") == true, "\(url)")
            #expect(warning(url, user: nil, usesToken: true)?.contains("the token") == true, "\(url)")
            #expect(warning(url, user: nil) == nil, "\(url)")
        }
        for url in [
            "https://nas/", "http://localhost:8080/", "http://127.0.0.1/", "http://127.9.9.9:80/", "http://[::1]/",
        ] {
            #expect(warning(url) == nil, "\(url)")
        }
    }

    @Test("a bucket's server is in its settings, or in its URL")
    func buckets() {
        #expect(warning("s3://docs/x?endpoint=http://nas:9000")?.contains("http://nas:9000") == true)
        #expect(warning("s3://docs/x?endpoint=https://nas:9000") == nil)
        #expect(warning("s3://docs/x") == nil)
        var settings = AccountSettings()
        settings.url = "s3://docs"
        settings.s3.endpoint = "http://nas:9000"
        #expect(settings.plainTextWarning?.contains("http://nas:9000") == true)
    }
}
