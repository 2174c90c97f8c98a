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
}
