// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/channel/hostile_sender.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/memfd.h"
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

// One message of each kind at least, in the order in which a good process
// sends them.
constexpr const char* kFromExecutor[] = {
    "ready { driver { path: 'libholdfast_software.so' }"
    "  devices { ordinal: 0 name: 'a device' uuid: '0123456789abcdef'"
    "    compute_capability_major: 9 total_memory: 1073741824"
    "    free_memory: 1073741824"
    "    attributes { key: 'warp_size' value: 32 } }"
    "  devices { ordinal: 1 name: 'a device' uuid: '1123456789abcdef'"
    "    compute_capability_major: 9 total_memory: 1073741824 } }",
    "ready { } error { code: 14 message: 'no driver'"
    "  details { type_url: 'type/of.nothing' } }",
    "question: 1 serving { }",
    "question: 1 serving { lost { handle: 3 reason: 'a variable' }"
    "  lost_count: 1 }",
    "question: 1 serving { } error { code: 14 message: 'no driver' }",
    "reserve { place { device: 0 } bytes: 65536 }",
    "reserve { place { device: 1 } bytes: 65536 }",
    "reserve { place { host: HOST_MEMORY_PINNED } bytes: 4096 }",
    "reserve { place { host: HOST_MEMORY_ARENA } bytes: 4096 }",
    "reserve { place { buffers: true } bytes: 4096 }",
    "chunk_created { chunk: 7 device: 0 address: 105553116266496 size: 65536 }",
    "chunk_created { chunk: 8 device: 1 address: 105553116332032 size: 65536 }",
    "host_memory_created { handle: 5 size: 4096 }",
    "fetch_object { sha256: 'ssssssssssssssssssssssssssssssss' }",
    "sharing { export_resource { kind: HANDLE_KIND_BUFFER chunk: 7 size: 4096"
    "  terms { max_imports: 2 lifetime { seconds: 1 } } } }",
    "sharing { export_resource { kind: HANDLE_KIND_SEMAPHORE chunk: 7"
    "  size: 64 terms { rights: RIGHTS_READ_WRITE } } }",
    "sharing { event_page: 8 }",
    "sharing { export_resource { kind: HANDLE_KIND_EVENT chunk: 8 size: 64"
    "  terms { rights: RIGHTS_READ } } }",
    "sharing { import_resource { kind: HANDLE_KIND_BUFFER"
    "  token: 'tttttttttttttttt' } }",
    "sharing { export_resource { kind: HANDLE_KIND_BUFFER import: 1"
    "  size: 16 } }",
    "sharing { commit { buffers { chunk: 7 size: 4096 } } }",
    "sharing { open { name: 'weights' } }",
    "sharing { reopen: 1 }",
    "sharing { imported_event_page: 1 }",
    "sharing { abandoned_event: 1 }",
    "sharing { sleep: 1 }",
    "sharing { wake { import: 1 open { name: 'weights' } } }",
    "sharing { revoke: 'tttttttttttttttt' }",
    "load_code { key: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }",
    "store_code { key: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }",
    "store_code { key: 'a' }",
    "question: 2 usage { usage { device_bytes { used: 4096 } }"
    "  copies { bytes: 1 } }",
    "usage { usage { device_bytes { used: 8192 } } }",
    "import_released { import: 1 }",
    "host_memory_released { handle: 5 }",
    "chunk_released { chunk: 7 }",
    "release { place { host: HOST_MEMORY_PINNED } bytes: 4096 }",
    "question: 3 quiesced { }",
    "question: 3 quiesced { } error { code: 9 message: 'a stream waits' }",
    "question: 4 memory_saved { }",
    "question: 4 chunk_copied { }",
    "question: 4 chunk_copied { } error { code: 8 message: 'no memory' }",
    "fault { error { code: 10 message: 'an illegal address' } device: 1"
    "  kernel: 'k' block { x: 1 } thread { x: 2 } source_line: 'k.cu:3' }",
};

constexpr const char* kToExecutor[] = {
    "assign { session_id: 's-1' token: '0123456789abcdef' devices: 0"
    "  limits { device_bytes: 4096 } epoch: 1 }",
    "listening_socket { purpose: PURPOSE_CALLS }",
    "listening_socket { purpose: PURPOSE_DESCRIPTORS }",
    "journal { }",
    "restore_journal { }",
    "restore_chunk { chunk: 7 address: 105553116266496 size: 65536 }",
    "restore_chunk { chunk: 8 size: 65536 saved: true saved_offset: 4096 }",
    "restore_host_memory { handle: 5 size: 4096 }",
    "restore_variables { }",
    "tenant_page { }",
    "update_limits { device_bytes: 4096 pinned_bytes: 1 }",
    "object { symbols { key: 'name' value: 'symbol' } }",
    "object { }",
    "report_usage { }",
    "reserve_reply { }",
    "reserve_reply { } error { code: 8 message: 'no more' }",
    "code { }",
    "sharing { token: 'tttttttttttttttt' descriptor_address: '/d' }",
    "sharing { imported { import: 1 chunk_size: 65536 size: 4096"
    "  rights: RIGHTS_READ } }",
    "resume { }",
    "quiesce { timeout_ns: 1000000 memory_stays: true }",
    "save_memory { chunks { chunk: 7 offset: 4096 } }",
    "copy_file { }",
    "save_chunk { device: 0 size: 65536 }",
    "load_chunk { device: 0 size: 65536 }",
    "shutdown { }",
};

constexpr const char* kFromCompiler[] = {
    "ready { backend: 'NVRTC 13.0' confinement: 'nothing'"
    "  installation { identity: 'identity' files: '/usr/lib/libnvrtc.so' } }",
    "ready { error { code: 14 message: 'no compiler' } }",
    "compiled { response { log: 'a warning' } }",
    "compiled { error { code: 3 message: 'x is not declared' }"
    "  retires: true }",
};

constexpr const char* kFromSpawner[] = {
    "spawned { child: 1 pid: 2147483647 }",
    "spawned { child: 2 error: 'fork: no more processes' }",
    "exited { child: 1 }",
    "exited { child: 2 signal: 9 }",
};

// Every kind of message that a process may say is among the seeds.
void CheckComplete(const Corpus& corpus) {
  const auto& message = *corpus.front();
  const auto* const kinds = message.GetDescriptor()->oneof_decl(0);
  for (int i = 0; i < kinds->field_count(); ++i) {
    const auto* const kind = kinds->field(i);
    const bool found =
        std::any_of(corpus.begin(), corpus.end(), [kind](const auto& seed) {
          return seed->GetReflection()->HasField(*seed, kind);
        });
    if (found) continue;
    std::fprintf(stderr, "no seed has %s\n", kind->full_name().c_str());
    std::abort();
  }
}

template <typename Message, size_t n>
Corpus Parse(const char* const (&texts)[n]) {
  Corpus corpus;
  for (const char* const text : texts) {
    corpus.push_back(std::make_unique<Message>());
    if (google::protobuf::TextFormat::ParseFromString(text,
                                                      corpus.back().get())) {
      continue;
    }
    std::fprintf(stderr, "not a message: %s\n", text);
    std::abort();
  }
  CheckComplete(corpus);
  return corpus;
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

UniqueFd Sealed(const std::string& bytes) {
  auto fd = CreateSealedMemfd("fuzz", bytes);
  return fd.ok() ? *std::move(fd) : UniqueFd();
}

UniqueFd Fixed(uint64_t size) {
  auto fd = CreateFixedMemfd("fuzz", std::min<uint64_t>(size, 1 << 20));
  return fd.ok() ? *std::move(fd) : UniqueFd();
}

// A collection of one array in one buffer.
std::string Description() {
  v1::CommitCollection description;
  description.set_name("weights");
  description.add_buffers(1);
  v1::ArrayDescription& array = *description.add_arrays();
  array.set_name("w");
  array.set_dtype("<f4");
  array.add_shape(8);
  return description.SerializeAsString();
}

UniqueFd DescriptorFor(const internal::ToExecutor& message) {
  switch (message.message_case()) {
    case internal::ToExecutor::kObject:
    case internal::ToExecutor::kCode:
      return Sealed(std::string(100, 'o'));
    case internal::ToExecutor::kJournal:
    case internal::ToExecutor::kRestoreJournal:
    case internal::ToExecutor::kRestoreChunk:
    case internal::ToExecutor::kRestoreHostMemory:
    case internal::ToExecutor::kListeningSocket:
    case internal::ToExecutor::kSaveMemory:
    case internal::ToExecutor::kCopyFile:
    case internal::ToExecutor::kSaveChunk:
      return Fixed(64 << 10);
    default:
      return UniqueFd();
  }
}

// The descriptor that belongs to such a message; none, if none does.
UniqueFd SuitableDescriptor(const google::protobuf::Message& message) {
  const auto* const told = dynamic_cast<const internal::ToExecutor*>(&message);
  if (told != nullptr) return DescriptorFor(*told);
  const auto* const said =
      dynamic_cast<const internal::FromExecutor*>(&message);
  if (said == nullptr) return UniqueFd();
  switch (said->message_case()) {
    case internal::FromExecutor::kServing:
    case internal::FromExecutor::kChunkCopied:
      return Fixed(64 << 10);
    case internal::FromExecutor::kChunkCreated:
      return Fixed(said->chunk_created().size());
    case internal::FromExecutor::kHostMemoryCreated:
      return Fixed(said->host_memory_created().size());
    case internal::FromExecutor::kStoreCode:
      return Sealed("code");
    case internal::FromExecutor::kSharing:
      return said->sharing().has_commit() ? Sealed(Description()) : UniqueFd();
    default:
      return UniqueFd();
  }
}

std::unique_ptr<google::protobuf::Message> MakeMessage(const Corpus& corpus,
                                                       Random& random) {
  const std::unique_ptr<google::protobuf::Message>& good = random.Pick(corpus);
  std::unique_ptr<google::protobuf::Message> message(good->New());
  message->CopyFrom(*good);
  return message;
}

std::string MakeBody(const Corpus& corpus, Random& random) {
  const auto message = MakeMessage(corpus, random);
  if (!random.OneIn(3)) {
    MessageMutator::Mutate(message.get(), 1 + random.Below(5), random);
  }
  std::string bytes = message->SerializePartialAsString();
  if (random.OneIn(10)) ByteMutator({bytes}).Edit(&bytes, random);
  return bytes;
}

}  // namespace

Corpus FromExecutorMessages() {
  return Parse<internal::FromExecutor>(kFromExecutor);
}

Corpus ToExecutorMessages() { return Parse<internal::ToExecutor>(kToExecutor); }

Corpus FromCompilerMessages() {
  return Parse<internal::FromCompiler>(kFromCompiler);
}

Corpus FromSpawnerMessages() {
  return Parse<internal::FromSpawner>(kFromSpawner);
}

bool SendGoodFrame(Channel& channel, const google::protobuf::Message& message) {
  return channel.Send(message, SuitableDescriptor(message).get()).ok();
}

bool SendOddMessage(Channel& channel, const Corpus& corpus, Random& random,
                    uint64_t question) {
  const auto message = MakeMessage(corpus, random);
  auto* const told = dynamic_cast<internal::ToExecutor*>(message.get());
  if (told != nullptr) told->set_question(question);
  const UniqueFd suitable = SuitableDescriptor(*message);
  if (random.OneIn(3)) {
    MessageMutator::Mutate(message.get(), 1 + random.Below(3), random);
  }
  const UniqueFd other = random.OneIn(12) ? MakeDescriptor(random) : UniqueFd();
  return channel.Send(*message, other.valid() ? other.get() : suitable.get())
      .ok();
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
