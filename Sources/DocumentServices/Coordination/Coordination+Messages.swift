import ControlAPI
import Coordination

extension CoordinationRequest.Intent {
    var isMetadataOnly: Bool {
        options.contains(.immediatelyAvailableMetadataOnly) || options.contains(.contentIndependentMetadataOnly)
    }
}

extension ClaimIntent {
    init(_ subject: ClaimSubject, otherwise: ClaimSubject?, _ intent: CoordinationRequest.Intent) {
        let options = intent.options
        let access: Access =
            intent.isWriting
            ? .writing(
                savesFirst: options.contains(.forMerging) || options.contains(.forMoving),
                deletes: options.contains(.forDeleting) || options.contains(.forReplacing))
            : .reading(savesFirst: !options.contains(.withoutChanges))
        self.init(subject, otherwise: otherwise, access, isMetadataOnly: intent.isMetadataOnly)
    }
}

extension PresenterMessage {
    init(_ question: PresenterQuestion) {
        let kind: Kind =
            switch question.kind {
            case .relinquishToReader: .relinquishToReader
            case .relinquishToWriter: .relinquishToWriter
            case .saveChanges: .saveChanges
            case .accommodateDeletion: .accommodateDeletion
            case .reacquire: .reacquire
            }
        self.init(kind, question: question.kind == .reacquire ? nil : question.number)
    }
}
