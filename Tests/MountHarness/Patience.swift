/// The factor by which any operation may exceed its limit before it counts as hung.
///
/// The limits in the tests are for an idle machine. A machine whose two cores are shared may need several times as
/// long, and a limit only decides how soon a failure is known.
package let patience = 4.0

/// The seconds to wait before an operation counts as hung: a disk that is busy with other writes can stall for half a
/// minute. (Operations that must end in less than a second keep a short limit.)
package func bound(_ limit: Double) -> Double { limit < 1 ? limit * patience : max(limit * patience, 60) }
