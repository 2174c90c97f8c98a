/// A provider whose store has accounts: when the user has signed in again, in another process, or signs out, it is told.
public protocol SigningIn: FileProviderExtension {
    /// There may be another password, or token, from now on. Must not block.
    func credentialMayHaveChanged()

    /// The user signs out of the domain (`hydrant logout`): what the provider itself keeps to sign in with, as a token in a
    /// file, goes. What this machine has of the domain is removed by others, and the provider is asked for nothing more.
    func signOut() async
}

extension SigningIn {
    /// For a provider that keeps nothing itself.
    public func signOut() async {}
}
