package import FUSE
import Volume

extension MountFrontend {
    package func getattr(_ request: consuming FUSERequest, node: UInt64, handle: UInt64?) {
        answerNow(request) { () throws(VolumeError) in
            try view.attributes(of: NodeID(rawValue: node))
        } _: { request, attributes in
            request.reply(attributes: attributes.stat, timeout: isCached ? attributes.timeout : 0)
        }
    }

    package func setattr(
        _ request: consuming FUSERequest, node: UInt64, to attributes: FUSESetAttributes, handle: UInt64?
    ) {
        changeNow(request) { () throws(VolumeError) in
            try view.setAttributes(
                NodeID(rawValue: node), to: AttributeRequest(attributes), through: handle.map(HandleID.init(rawValue:)))
        } _: { [isCached] request, attributes in
            request.reply(attributes: attributes.stat, timeout: isCached ? attributes.timeout : 0)
        }
    }

    package func statfs(_ request: consuming FUSERequest, node: UInt64) {
        answerNow(request) { () throws(VolumeError) in
            try volume.statistics()
        } _: { request, statistics in
            request.reply(statistics: statistics)
        }
    }
}
