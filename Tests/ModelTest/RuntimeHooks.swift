import CModelTest
import Glibc

/// Gives every job of Swift concurrency to the ``Schedule``.
///
/// The runtime has a hook for jobs of the global executor (swift_task_enqueueGlobal_hook); it passes sleeping tasks to
/// libdispatch (dispatch_after_f), which CModelTest replaces.
enum RuntimeHooks {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    /// The generic executor.
    static let generic = unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)

    static func install() {
        guard let address = dlsym(nil, "swift_task_enqueueGlobal_hook") else {
            fatalError("this Swift runtime has no swift_task_enqueueGlobal_hook")
        }
        address.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in Schedule.shared.add(job) }
        cmodeltest_on_sleep { until, context, wake in
            guard let wake else { return }
            Schedule.shared.sleep(until: until, context, wake)
        }
    }
}
