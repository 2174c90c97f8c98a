public import Foundation

/// What a program is going to do with one item, and where that item is once it may.
///
/// Source: Apple, `NSFileAccessIntent`.
public struct FileAccessIntent: Sendable, Hashable {
    let isWriting: Bool
    let readingOptions: FileCoordinator.ReadingOptions
    let writingOptions: FileCoordinator.WritingOptions
    /// Before the access is granted, as it was given; afterwards, where the item is by then: others may have moved it. With
    /// ``FileCoordinator/ReadingOptions/forUploading`` the copy.
    public internal(set) var url: URL

    /// To read an item.
    public static func readingIntent(with url: URL, options: FileCoordinator.ReadingOptions = []) -> Self {
        FileAccessIntent(isWriting: false, readingOptions: options, writingOptions: [], url: url)
    }

    /// To write an item, or to make it.
    public static func writingIntent(with url: URL, options: FileCoordinator.WritingOptions = []) -> Self {
        FileAccessIntent(isWriting: true, readingOptions: [], writingOptions: options, url: url)
    }
}

extension FileCoordinator {
    /// How an item is going to be read.
    ///
    /// Source: Apple, `NSFileCoordinator.ReadingOptions`.
    public struct ReadingOptions: OptionSet, Sendable, Hashable {
        /// A bit an option.
        public let rawValue: Int
        /// See ``rawValue``.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Presenters are not asked to save first.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// Of a symbolic link, what it points to.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// Name, size, dates: nothing is downloaded, and presenters are not asked.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// A copy that stays as it is while the access lasts, and is gone afterwards. Of a folder, all that is in it is
        /// downloaded, and each document is as it was at one moment; what is excluded from every store is left out.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)
    }

    /// How an item is going to be written. Without any: its contents are changed, or it is made.
    ///
    /// Source: Apple, `NSFileCoordinator.WritingOptions`.
    public struct WritingOptions: OptionSet, Sendable, Hashable {
        /// A bit an option.
        public let rawValue: Int
        /// See ``rawValue``.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Presenters are asked to make do without it.
        public static let forDeleting = WritingOptions(rawValue: 1 << 0)
        /// Presenters are asked to save first.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// Presenters are asked to save first, and all of it is downloaded.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// Another item takes its place: presenters are asked to make do without it.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Mode, dates, attributes: nothing is downloaded, and presenters are not asked.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)
    }
}
