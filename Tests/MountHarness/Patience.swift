/// How many times longer than its limit anything may take before it counts as hung.
///
/// The limits in the tests are what a machine needs that does nothing else. One whose two cores are shared may take
/// several times as long, and a limit decides only how soon a failure is known.
package let patience = 4.0
