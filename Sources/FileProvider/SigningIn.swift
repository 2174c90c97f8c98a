/// A provider whose store has accounts: Hydrant tells it when the user has signed in again in another process, or signs
/// out.
public protocol SigningIn: FileProviderExtension {
    /// The password or token may have changed. Must not block.
    func credentialMayHaveChanged()

    /// The user signs out of the domain (`hydrant logout`): delete the credentials that the provider itself keeps, such
    /// as a token in a file. Hydrant deletes what this machine has of the domain, and calls no other hook any more.
    func signOut() async
}

extension SigningIn {
    /// For a provider that keeps nothing itself.
    public func signOut() async {}
}
