/// A provider whose store has accounts: when the user has signed in again, in another process, it is told.
public protocol SigningIn: FileProviderExtension {
    /// There may be another password, or token, from now on. Must not block.
    func credentialMayHaveChanged()
}
