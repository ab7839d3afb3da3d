// SPDX-License-Identifier: Apache-2.0
//
// Suppressions for ThreadSanitizer. gRPC, protobuf and Abseil come from the
// distribution and are not instrumented: the order that their reference counts
// and lock-free queues make is not seen, only the memory that they touch by way
// of memcpy, new and delete.

extern "C" const char* __tsan_default_options() {
  // memcpy of such a library cannot be told from that of Holdfast's own (see
  // memory.h): what it reads and writes is not looked at.
  return "ignore_interceptors_accesses=1"
         // gRPC's threads are meant to run until the process ends.
         ":report_thread_leaks=0"
         // Tests fork processes that start threads.
         ":die_after_fork=0"
         // A daemon or executor that has a race shall not go on as if it had
         // none: nobody looks at the exit code of one that a test kills.
         ":halt_on_error=1";
}

extern "C" const char* __tsan_default_suppressions() {
  return
      // Statuses that gRPC hands from thread to thread.
      "race:^absl::debian3::Status::PrepareToModify\n"
      "race:^absl::debian3::Status::UnrefNonInlined\n"
      // Messages: bytes that one thread of gRPC has received and the caller's
      // parses, and the other way round.
      "race:^google::protobuf::internal::\n"
      "race:^google::protobuf::io::\n"
      // Code of gRPC's headers in our files: the other users of its objects
      // are in the library, and count their references there.
      "race_top:^grpc::\n"
      // The same, where the standard library's function is on top.
      "race:^grpc::internal::CallbackWithSuccessTag::\n"
      // gRPC's transport and endpoints.
      "race:^grpc_core::\n"
      "race:^read_action_locked\n"
      "race:^destroy_made_transport_op\n"
      "race:^tcp_\n"
      "race:^fd_orphan\n"
      "race:^encode_scalar\n";
}
