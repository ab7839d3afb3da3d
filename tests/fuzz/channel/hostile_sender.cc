// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/channel/hostile_sender.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "holdfast/internal/executor.pb.h"
#include "holdfast/internal/spawner.pb.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/message_mutator.h"

namespace holdfast::fuzz {
namespace {

// As server/channel/channel.cc has it.
struct FrameHeader {
  uint32_t body_bytes = 0;
  uint8_t body_in_memfd = 0;
  uint8_t has_attachment = 0;
  uint8_t reserved[2] = {};
};

template <typename T>
T& Add(Corpus* corpus) {
  corpus->push_back(std::make_unique<T>());
  return static_cast<T&>(*corpus->back());
}

UniqueFd MakeMemfd(const std::string& bytes) {
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (write(fd.get(), bytes.data(), bytes.size()) < 0) return UniqueFd();
  return fd;
}

UniqueFd MakeDescriptor(Random& random) {
  switch (random.Below(6)) {
    case 0:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    case 1:
      return UniqueFd(open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    case 2:
      return UniqueFd(eventfd(0, EFD_CLOEXEC));
    default:
      return MakeMemfd(random.Bytes(random.Below(10'000)));
  }
}

std::string MakeBody(const Corpus& corpus, Random& random) {
  const std::unique_ptr<google::protobuf::Message>& good = random.Pick(corpus);
  const std::unique_ptr<google::protobuf::Message> message(good->New());
  message->CopyFrom(*good);
  if (!random.OneIn(3)) {
    MessageMutator::Mutate(message.get(), 1 + random.Below(5), random);
  }
  std::string bytes = message->SerializePartialAsString();
  if (random.OneIn(10)) ByteMutator({bytes}).Edit(&bytes, random);
  return bytes;
}

}  // namespace

Corpus FromExecutorMessages() {
  Corpus corpus;
  auto& ready = *Add<internal::FromExecutor>(&corpus).mutable_ready();
  ready.mutable_driver()->set_path("libholdfast_software.so");
  for (int i = 0; i < 2; ++i) {
    v1::Device& device = *ready.add_devices();
    device.set_ordinal(i);
    device.set_name("a device");
    device.set_uuid("0123456789abcdef");
    device.set_compute_capability_major(9);
    device.set_total_memory(uint64_t{1} << 30);
    (*device.mutable_attributes())["warp_size"] = 32;
  }
  auto& failed = *Add<internal::FromExecutor>(&corpus).mutable_ready();
  failed.mutable_error()->set_code(14);
  failed.mutable_error()->set_message("no driver");
  failed.mutable_error()->add_details()->set_type_url("type/of.nothing");
  Add<internal::FromExecutor>(&corpus).mutable_serving();
  *Add<internal::FromExecutor>(&corpus).mutable_serving()->mutable_error() =
      failed.error();
  Add<internal::FromExecutor>(&corpus).mutable_fetch_object()->set_sha256(
      std::string(32, 's'));
  auto& chunk = *Add<internal::FromExecutor>(&corpus).mutable_chunk_created();
  chunk.set_chunk(7);
  chunk.set_address(uint64_t{6} << 44);
  chunk.set_size(32 << 20);
  Add<internal::FromExecutor>(&corpus).mutable_chunk_released()->set_chunk(7);
  auto& shared = *Add<internal::FromExecutor>(&corpus)
                      .mutable_sharing()
                      ->mutable_export_resource();
  shared.set_kind(v1::HANDLE_KIND_BUFFER);
  shared.set_chunk(7);
  shared.set_size(4096);
  shared.mutable_terms()->set_max_imports(2);
  shared.mutable_terms()->mutable_lifetime()->set_seconds(1);
  auto& imported = *Add<internal::FromExecutor>(&corpus)
                        .mutable_sharing()
                        ->mutable_import_resource();
  imported.set_kind(v1::HANDLE_KIND_BUFFER);
  imported.set_token(std::string(16, 't'));
  Add<internal::FromExecutor>(&corpus).mutable_sharing()->set_revoke(
      std::string(16, 't'));
  Add<internal::FromExecutor>(&corpus).mutable_import_released()->set_import(1);
  auto& usage = *Add<internal::FromExecutor>(&corpus).mutable_usage();
  usage.mutable_usage()->mutable_device_bytes()->set_used(4096);
  usage.set_asked_for(true);
  usage.add_copies()->set_bytes(1);
  auto& reserve = *Add<internal::FromExecutor>(&corpus).mutable_reserve();
  reserve.mutable_place()->set_host(internal::HOST_MEMORY_PINNED);
  reserve.set_bytes(4096);
  auto& release = *Add<internal::FromExecutor>(&corpus).mutable_release();
  release.mutable_place()->set_host(internal::HOST_MEMORY_PINNED);
  release.set_bytes(4096);
  auto& of_device = *Add<internal::FromExecutor>(&corpus).mutable_reserve();
  of_device.mutable_place()->set_device(0);
  of_device.set_bytes(4096);
  Add<internal::FromExecutor>(&corpus).mutable_load_code()->set_key(
      std::string(64, 'a'));
  Add<internal::FromExecutor>(&corpus).mutable_store_code()->set_key("a");
  return corpus;
}

Corpus ToExecutorMessages() {
  Corpus corpus;
  auto& assign = *Add<internal::ToExecutor>(&corpus).mutable_assign();
  assign.set_session_id("s-1");
  assign.set_token("0123456789abcdef");
  assign.add_devices(0);
  auto& object = *Add<internal::ToExecutor>(&corpus).mutable_object();
  object.set_sha256(std::string(32, 's'));
  object.set_found(true);
  object.set_size(100);
  (*object.mutable_symbols())["name"] = "symbol";
  Add<internal::ToExecutor>(&corpus).mutable_object()->set_sha256("s");
  Add<internal::ToExecutor>(&corpus).mutable_shutdown();
  Add<internal::ToExecutor>(&corpus).mutable_report_usage();
  Add<internal::ToExecutor>(&corpus).mutable_reserve_reply();
  Add<internal::ToExecutor>(&corpus).mutable_listening_socket()->set_purpose(
      internal::ListeningSocket::PURPOSE_DESCRIPTORS);
  auto& code = *Add<internal::ToExecutor>(&corpus).mutable_code();
  code.set_key(std::string(64, 'a'));
  code.set_found(true);
  return corpus;
}

Corpus FromCompilerMessages() {
  Corpus corpus;
  auto& ready = *Add<internal::FromCompiler>(&corpus).mutable_ready();
  ready.set_backend("NVRTC 13.0");
  ready.mutable_installation()->set_identity("identity");
  ready.mutable_installation()->add_files("/usr/lib/libnvrtc.so");
  ready.set_confinement("nothing");
  auto& failed = *Add<internal::FromCompiler>(&corpus).mutable_ready();
  failed.mutable_error()->set_code(14);
  failed.mutable_error()->set_message("no compiler");
  auto& compiled = *Add<internal::FromCompiler>(&corpus).mutable_compiled();
  compiled.mutable_response()->set_log("a warning");
  auto& refused = *Add<internal::FromCompiler>(&corpus).mutable_compiled();
  refused.mutable_error()->set_code(3);
  refused.mutable_error()->set_message("x is not declared");
  refused.set_retires(true);
  return corpus;
}

Corpus FromSpawnerMessages() {
  Corpus corpus;
  auto& spawned = *Add<internal::FromSpawner>(&corpus).mutable_spawned();
  spawned.set_child(1);
  spawned.set_pid(0x7fffffff);
  auto& failed = *Add<internal::FromSpawner>(&corpus).mutable_spawned();
  failed.set_child(2);
  failed.set_error("fork: no more processes");
  Add<internal::FromSpawner>(&corpus).mutable_exited()->set_child(1);
  auto& killed = *Add<internal::FromSpawner>(&corpus).mutable_exited();
  killed.set_child(2);
  killed.set_signal(9);
  return corpus;
}

bool SendHostileFrame(int socket, const Corpus& corpus, Random& random) {
  std::string body = MakeBody(corpus, random);
  FrameHeader header;
  header.body_bytes = static_cast<uint32_t>(body.size());
  std::vector<UniqueFd> descriptors;
  // Large ones travel in a memfd; now and then others do, or it is none.
  if (body.size() > 60'000 || random.OneIn(8)) {
    header.body_in_memfd = 1;
    descriptors.push_back(random.OneIn(4) ? MakeDescriptor(random)
                                          : MakeMemfd(body));
    body.clear();
  }
  if (random.OneIn(2)) {
    header.has_attachment = 1;
    descriptors.push_back(MakeDescriptor(random));
  }
  if (random.OneIn(10)) descriptors.push_back(MakeDescriptor(random));
  if (random.OneIn(10) && !descriptors.empty()) descriptors.pop_back();
  if (random.OneIn(12)) {
    header.body_bytes = static_cast<uint32_t>(random.Boundary());
  }
  size_t header_bytes = sizeof header;
  if (random.OneIn(30)) header_bytes = random.Below(sizeof header);

  iovec parts[] = {{&header, header_bytes}, {body.data(), body.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
  if (!descriptors.empty()) {
    const size_t bytes = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    for (size_t i = 0; i < descriptors.size(); ++i) {
      const int fd = descriptors[i].get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace holdfast::fuzz
