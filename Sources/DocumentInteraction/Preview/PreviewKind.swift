import Foundation
import UniformTypes

/// The kinds of previews.
public enum PreviewKind: String, Sendable, Hashable, Codable {
    /// Lines of text.
    case text
    /// Rows and columns.
    case table
    /// Pages of a PDF.
    case pdf
    /// A picture, with its format and size.
    case picture
    /// Pages of the PDF that LibreOffice makes.
    case office

    /// Nil: the type has no preview.
    init?(_ type: UniformType, mimeType: String?) {
        let table = UniformTypeTable.system
        func isOf(_ identifiers: String...) -> Bool {
            identifiers.contains { table.conforms(type, to: UniformType($0)) }
        }
        if isOf("com.adobe.pdf") {
            self = .pdf
        } else if isOf("public.image") {
            self = .picture
        } else if Self.isOffice(mimeType ?? "") || isOf("public.rtf") {
            self = .office
        } else if isOf("public.delimited-values-text") {
            self = .table
        } else if isOf("public.text") {
            self = .text
        } else {
            return nil
        }
    }

    private static let officeTypes = [
        "application/msword", "application/vnd.ms-word", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
        "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-officedocument.", "application/rtf",
        "text/rtf", "application/vnd.sun.xml.", "application/vnd.wordperfect",
    ]

    private static func isOffice(_ mimeType: String) -> Bool { officeTypes.contains { mimeType.hasPrefix($0) } }
}
