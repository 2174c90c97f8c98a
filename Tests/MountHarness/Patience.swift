/// How many times longer than its limit anything may take before it counts as hung.
///
/// The limits in the tests are what a machine needs that does nothing else. One whose two cores are shared may take
/// several times as long, and a limit decides only how soon a failure is known.
package let patience = 4.0

/// How long to wait for something before it counts as hung, in seconds: a disk that is busy with what others write stands
/// still for half a minute. (What is to be over in less than a second, on purpose, is over then.)
package func bound(_ limit: Double) -> Double { limit < 1 ? limit * patience : max(limit * patience, 60) }
