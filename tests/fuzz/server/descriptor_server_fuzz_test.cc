// SPDX-License-Identifier: Apache-2.0
//
// The socket on which processes with a CUDA context of their own take
// descriptors of exported memory: whatever they say, the server hands over what
// a token is for and nothing else, and keeps neither a connection nor memory
// of those that have gone. A neighbour takes its memory all the time.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/memory/device_memory.h"
#include "server/rpc/unix_socket.h"
#include "server/services/descriptor_server.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/open_descriptors.h"

namespace holdfast::fuzz {
namespace {

constexpr uint64_t kSize = 4096;
constexpr size_t kTokens = 4;
constexpr int kAnswerMilliseconds = 10'000;
constexpr absl::Duration kCloseLimit = absl::Seconds(10);

// An answer: one zero byte with a descriptor, or why there is none.
struct Answer {
  bool closed = false;
  std::string text;
  UniqueFd descriptor;
};

Answer Receive(int socket) {
  Answer answer;
  pollfd event = {.fd = socket, .events = POLLIN, .revents = 0};
  if (poll(&event, 1, kAnswerMilliseconds) <= 0) return answer;
  char text[512];
  iovec part = {text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  answer.closed = size <= 0;
  if (size > 0) answer.text.assign(text, static_cast<size_t>(size));
  const cmsghdr* const item = CMSG_FIRSTHDR(&message);
  if (item != nullptr && item->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(item), sizeof fd);
    answer.descriptor = UniqueFd(fd);
  }
  return answer;
}

// Sends a message with so many descriptors.
bool Say(int socket, const std::string& text, size_t descriptors) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* const item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    const std::vector<int> fds(descriptors, STDERR_FILENO);
    std::memcpy(CMSG_DATA(item), fds.data(), descriptors * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// A server with some exports, in this process.
class Server {
 public:
  Server() {
    SetLogLevel(LogLevel::kError);
    char name[] = "/tmp/holdfast-fuzz-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/socket";
    server_ = DescriptorServer::Serve(
                  ListenOnUnixSocket(path_, SOCK_SEQPACKET, 0600).value(),
                  path_, exports_)
                  .value();
    for (size_t i = 0; i < kTokens; ++i) tokens_.push_back(Export(i));
  }
  ~Server() {
    server_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  const std::vector<std::string>& tokens() const { return tokens_; }

  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    const int failed = connect(
        fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return failed == 0 ? std::move(fd) : UniqueFd();
  }

 private:
  // Its memory is full of its index.
  std::string Export(size_t index) {
    UniqueFd fd = CreateMemfd("chunk", kSize).value();
    const std::string bytes(kSize, static_cast<char>('a' + index));
    if (pwrite(fd.get(), bytes.data(), bytes.size(), 0) < 0) std::abort();
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    memory_.NoteTaken(0, kSize);
    SharedResource resource;
    resource.kind = v1::HANDLE_KIND_BUFFER;
    resource.chunk = std::make_shared<SharedChunk>(SharedChunk::Options{
        .descriptor = std::move(fd),
        .size = kSize,
        .owner_ended = std::make_shared<std::atomic<bool>>(false),
        .memory = &memory_});
    resource.size = kSize;
    resource.rights = v1::RIGHTS_READ;
    v1::ExportResource terms;
    terms.set_rights(v1::RIGHTS_READ);
    terms.set_max_imports(ExportRegistry::kMaxImports);
    terms.set_foreign(v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);
    return exports_.Export("s-1", std::move(resource), terms).value();
  }

  std::string directory_;
  std::string path_;
  DeviceMemory memory_;
  ExportRegistry exports_;
  std::vector<std::string> tokens_;
  std::unique_ptr<DescriptorServer> server_;
};

absl::Status CheckMemory(const Answer& answer, size_t index) {
  HOLDFAST_FUZZ_EXPECT(answer.text == std::string(1, '\0'), answer.text);
  std::string bytes(kSize, '\0');
  const ssize_t size =
      pread(answer.descriptor.get(), bytes.data(), bytes.size(), 0);
  HOLDFAST_FUZZ_EXPECT(size == static_cast<ssize_t>(kSize), size);
  HOLDFAST_FUZZ_EXPECT(
      bytes == std::string(kSize, static_cast<char>('a' + index)), index);
  HOLDFAST_FUZZ_EXPECT(pwrite(answer.descriptor.get(), "x", 1, 0) < 0,
                       "memory that was exported for reading is written");
  return absl::OkStatus();
}

class DescriptorServerTarget final : public FuzzTarget {
 public:
  absl::Status Execute(Random& random) override {
    const auto before = OpenDescriptors();
    absl::Status status;
    {
      const Server server;
      status = Play(server, random);
    }
    const absl::Time deadline = absl::Now() + kCloseLimit;
    std::string more;
    while (!(more = NewDescriptors(before, OpenDescriptors())).empty() &&
           absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    HOLDFAST_FUZZ_EXPECT(more.empty(), more);
    return status;
  }

  std::string Summary() const override {
    return absl::StrCat(messages_, " messages, ", taken_,
                        " descriptors taken; ", rounds_,
                        " rounds of a neighbour verified");
  }

 private:
  absl::Status Play(const Server& server, Random& random) {
    std::vector<UniqueFd> open;  // that say nothing, or hold memory
    for (uint64_t acts = 10 + random.Below(60); acts > 0; --acts) {
      switch (random.Below(6)) {
        case 0:
          open.push_back(server.Connect());
          break;
        case 1:
          if (!open.empty()) {
            open.erase(open.begin() +
                       static_cast<ptrdiff_t>(random.Below(open.size())));
          }
          break;
        case 2:  // Says more than once, or to one that has closed.
          if (!open.empty() && open.back().valid()) {
            Say(random.Pick(open).get(), random.Bytes(random.Below(20)), 0);
            ++messages_;
          }
          break;
        default:
          HOLDFAST_RETURN_IF_ERROR(Ask(server, &open, random));
      }
      // The neighbour.
      const UniqueFd connection = server.Connect();
      Say(connection.get(), server.tokens()[0], 0);
      HOLDFAST_RETURN_IF_ERROR(CheckMemory(Receive(connection.get()), 0));
      ++rounds_;
    }
    return absl::OkStatus();
  }

  absl::Status Ask(const Server& server, std::vector<UniqueFd>* open,
                   Random& random) {
    UniqueFd connection = server.Connect();
    const size_t index = random.Below(kTokens);
    std::string text = server.tokens()[index];
    bool good = true;
    if (random.OneIn(2)) {
      good = false;
      switch (random.Below(4)) {
        case 0:
          text.resize(random.Below(text.size()));
          break;
        case 1:
          text += random.Bytes(1 + random.Below(10'000));
          break;
        case 2:
          text[random.Below(text.size())] ^=
              static_cast<char>(1 << random.Below(8));
          break;
        default:
          text = random.Bytes(text.size());
      }
    }
    const size_t descriptors = random.OneIn(3) ? random.Below(9) : 0;
    if (!Say(connection.get(), text, descriptors)) return absl::OkStatus();
    ++messages_;
    if (random.OneIn(8)) return absl::OkStatus();  // Gone before the answer.
    const Answer answer = Receive(connection.get());
    if (!good) {
      HOLDFAST_FUZZ_EXPECT(!answer.descriptor.valid(), text.size());
      HOLDFAST_FUZZ_EXPECT(answer.closed || answer.text.size() > 1, text.size(),
                           " bytes: ", answer.text);
      return absl::OkStatus();
    }
    ++taken_;
    HOLDFAST_RETURN_IF_ERROR(CheckMemory(answer, index));
    if (random.OneIn(2)) open->push_back(std::move(connection));
    return absl::OkStatus();
  }

  uint64_t messages_ = 0;
  uint64_t taken_ = 0;
  uint64_t rounds_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::DescriptorServerTarget>();
  });
}
