# SPDX-License-Identifier: Apache-2.0
"""The functions that absl_mutex.cc and grpc_queue.cc wrap."""

_MUTEX = [
    "4LockEv",
    "7TryLockEv",
    "6UnlockEv",
    "10ReaderLockEv",
    "13ReaderTryLockEv",
    "12ReaderUnlockEv",
    "8LockWhenERKNS0_9ConditionE",
    "19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
    "20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE",
    "5AwaitERKNS0_9ConditionE",
    "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
    "17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE",
]

_CONDVAR = [
    "4WaitEPNS0_5MutexE",
    "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
    "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE",
]

_NOTIFICATION = [
    "_ZN4absl7debian312Notification6NotifyEv",
    "_ZNK4absl7debian312Notification19WaitForNotificationEv",
    "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
    "_ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE",
]

_GRPC = [
    "grpc_call_start_batch",
    "grpc_completion_queue_next",
    "grpc_completion_queue_pluck",
    "_Z14grpc_cq_end_opP21grpc_completion_queuePvN4absl7debian36StatusEPFvS1_P18grpc_cq_completionES1_S6_b",
]

TSAN_LINKOPTS = ["-Wl,--wrap=" + symbol for symbol in [
    "_ZN4absl7debian35Mutex" + name
    for name in _MUTEX
] + [
    "_ZN4absl7debian37CondVar" + name
    for name in _CONDVAR
] + _NOTIFICATION + _GRPC + [
    "_ZN4absl7debian319ReleasableMutexLock7ReleaseEv",
]]
