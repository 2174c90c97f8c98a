public import Foundation

/// A program's intended access to one item, and the item's place when the access is granted.
///
/// Source: Apple, `NSFileAccessIntent`.
public struct FileAccessIntent: Sendable, Hashable {
    let isWriting: Bool
    let readingOptions: FileCoordinator.ReadingOptions
    let writingOptions: FileCoordinator.WritingOptions
    /// Before the grant, the given URL; afterwards, the item's present place, because others may have moved it. With
    /// ``FileCoordinator/ReadingOptions/forUploading``, the copy.
    public internal(set) var url: URL

    /// An intent to read an item.
    public static func readingIntent(with url: URL, options: FileCoordinator.ReadingOptions = []) -> Self {
        FileAccessIntent(isWriting: false, readingOptions: options, writingOptions: [], url: url)
    }

    /// An intent to write an item, or to make it.
    public static func writingIntent(with url: URL, options: FileCoordinator.WritingOptions = []) -> Self {
        FileAccessIntent(isWriting: true, readingOptions: [], writingOptions: options, url: url)
    }
}

extension FileCoordinator {
    /// Options for reading an item.
    ///
    /// Source: Apple, `NSFileCoordinator.ReadingOptions`.
    public struct ReadingOptions: OptionSet, Sendable, Hashable {
        /// A bit an option.
        public let rawValue: Int
        /// See ``rawValue``.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Do not ask presenters to save first.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// Read the target of a symbolic link.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// Read name, size and dates only: download nothing, and ask no presenters.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// Read a copy, which stays unchanged while the access lasts, and is removed afterwards. For a folder
        /// everything in it is downloaded, each document is copied at one moment, and items that are excluded from
        /// every store are left out.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)
    }

    /// Options for writing an item. Without any, the program changes the contents, or makes the item.
    ///
    /// Source: Apple, `NSFileCoordinator.WritingOptions`.
    public struct WritingOptions: OptionSet, Sendable, Hashable {
        /// A bit an option.
        public let rawValue: Int
        /// See ``rawValue``.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Ask presenters to accommodate the deletion.
        public static let forDeleting = WritingOptions(rawValue: 1 << 0)
        /// Ask presenters to save first.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// Ask presenters to save first, and download the whole item.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// Another item replaces this one: ask presenters to accommodate the deletion.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Write mode, dates and attributes only: download nothing, and ask no presenters.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)
    }
}
