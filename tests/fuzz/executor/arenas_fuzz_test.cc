// SPDX-License-Identifier: Apache-2.0
//
// Descriptors and arenas: messages of any form with descriptors of any kind on
// the session's descriptor socket, and RegisterArena for what came. An
// arena is made if, and only if, its descriptor is fit: then no client can turn
// an access of the executor's into a fault.
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/executor/hosted_executor.h"
#include "tests/fuzz/executor/neighbour.h"

namespace holdfast::fuzz {
namespace {

using executor::FdReceiver;

constexpr uint64_t kPage = 4096;
constexpr std::chrono::seconds kCallLimit{30};

// The descriptors that a client may hand over.
struct Descriptor {
  UniqueFd fd;
  // An arena of up to so many bytes can be made of it.
  uint64_t fit_bytes = 0;
};

Descriptor MakeMemfd(Random& random) {
  constexpr uint64_t kSizes[] = {0,       kPage,         16 * kPage,
                                 1 << 20, (1 << 20) - 1, uint64_t{1} << 43};
  constexpr int kSeals[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE,
                            F_SEAL_FUTURE_WRITE, F_SEAL_SEAL};
  const bool sealable = !random.OneIn(8);
  const unsigned flags = MFD_CLOEXEC | (sealable ? MFD_ALLOW_SEALING : 0) |
                         (random.OneIn(10) ? MFD_HUGETLB : 0);
  Descriptor made{UniqueFd(memfd_create("fuzz", flags))};
  const uint64_t size = random.Pick(kSizes);
  if (ftruncate(made.fd.get(), static_cast<off_t>(size)) != 0) return made;
  int seals = random.OneIn(6) ? 0 : F_SEAL_SHRINK;
  for (uint64_t more = random.OneIn(2) ? 0 : random.Below(3); more > 0;
       --more) {
    seals |= random.Pick(kSeals);
  }
  const bool sealed = fcntl(made.fd.get(), F_ADD_SEALS, seals) == 0;
  const bool read_only = random.OneIn(8);
  if (read_only) {
    const std::string path = absl::StrCat("/proc/self/fd/", made.fd.get());
    made.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  const bool fit = sealable && sealed && !read_only &&
                   (flags & MFD_HUGETLB) == 0 && (seals & F_SEAL_SHRINK) != 0 &&
                   (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0;
  made.fit_bytes = fit ? size / kPage * kPage : 0;
  return made;
}

Descriptor MakeOther(Random& random) {
  int ends[2];
  switch (random.Below(9)) {
    case 0:
      return {UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC))};
    case 1:
      return {UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC))};
    case 2:
      return {UniqueFd(open("/tmp", O_RDONLY | O_CLOEXEC | O_DIRECTORY))};
    case 3:
      return {UniqueFd(open("/tmp", O_RDWR | O_CLOEXEC | O_TMPFILE, 0600))};
    case 4:
      return {UniqueFd(open("/proc/self/exe", O_PATH | O_CLOEXEC))};
    case 5:
      return {UniqueFd(eventfd(0, EFD_CLOEXEC))};
    case 6:
      return {UniqueFd(epoll_create1(EPOLL_CLOEXEC))};
    case 7:
      if (pipe2(ends, O_CLOEXEC) != 0) return {};
      break;
    default:
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return {};
      }
  }
  const UniqueFd other(ends[1]);
  return {UniqueFd(ends[0])};
}

Descriptor MakeDescriptor(Random& random) {
  return random.OneIn(4) ? MakeOther(random) : MakeMemfd(random);
}

UniqueFd Connect(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    return UniqueFd();
  }
  return fd;
}

// Sends one message; returns the answer, one zero byte for "taken", or nullopt
// if the other end was closed without one.
std::optional<std::string> SendFd(const std::string& path,
                                  const std::string& text,
                                  const std::vector<Descriptor>& given) {
  const UniqueFd connection = Connect(path);
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!given.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(given.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(given.size() * sizeof(int));
    for (size_t i = 0; i < given.size(); ++i) {
      const int fd = given[i].fd.get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  if (sendmsg(connection.get(), &message, MSG_NOSIGNAL) < 0) {
    return std::nullopt;
  }
  char answer[1000];
  const ssize_t size = recv(connection.get(), answer, sizeof answer, 0);
  if (size <= 0) return std::nullopt;
  return std::string(answer, static_cast<size_t>(size));
}

// One client and its executor.
class Client {
 public:
  explicit Client(Random& random)
      : random_(random),
        transfers_(v1::TransferService::NewStub(executor_.channel())) {}

  absl::Status Act() {
    switch (random_.Below(8)) {
      case 0:  // Connects and says nothing.
        silent_.push_back(Connect(executor_.descriptor_path()));
        return absl::OkStatus();
      case 1:
      case 2:
      case 3:
        return Send();
      case 4:
        return Use();
      default:
        return Register();
    }
  }

  uint64_t made() const { return made_; }

  absl::Status End() {
    silent_.clear();
    transfers_.reset();
    return executor_.End();
  }

 private:
  absl::Status Send() {
    const std::string token = random_.Bytes(FdReceiver::kTokenBytes);
    std::string text = HostedSession::token() + token;
    std::vector<Descriptor> given;
    given.push_back(MakeDescriptor(random_));
    bool good = given[0].fd.valid();
    if (random_.OneIn(4)) {
      good = false;
      switch (random_.Below(4)) {
        case 0:
          text.resize(random_.Below(text.size()));
          break;
        case 1:
          text += random_.Bytes(1 + random_.Below(70'000));
          break;
        case 2:
          text[random_.Below(FdReceiver::kTokenBytes)] ^=
              static_cast<char>(1 << random_.Below(8));
          break;
        default:
          given.resize(random_.Below(2) * (2 + random_.Below(6)));
          for (Descriptor& descriptor : given) {
            if (!descriptor.fd.valid()) descriptor = MakeMemfd(random_);
          }
      }
    }
    given.erase(
        std::remove_if(given.begin(), given.end(),
                       [](const Descriptor& d) { return !d.fd.valid(); }),
        given.end());
    const auto answer = SendFd(executor_.descriptor_path(), text, given);
    const bool taken = answer.has_value() && *answer == std::string(1, '\0');
    HOLDFAST_FUZZ_EXPECT(taken == good, "a message of ", text.size(),
                         " bytes with ", given.size(),
                         " descriptors: ", answer.value_or("no answer"));
    HOLDFAST_FUZZ_EXPECT(!answer.has_value() || !answer->empty(), text.size());
    if (!taken) return absl::OkStatus();
    waiting_.emplace_back(token, given[0].fit_bytes);
    if (waiting_.size() > FdReceiver::kMaxWaiting) waiting_.pop_front();
    tokens_.push_back(token);
    return absl::OkStatus();
  }

  absl::Status Register() {
    std::string token = tokens_.empty() || random_.OneIn(10)
                            ? random_.Bytes(random_.Below(40))
                            : random_.Pick(tokens_);
    // Mostly what is there.
    if (!waiting_.empty() && !random_.OneIn(4)) {
      token = random_.Pick(waiting_).first;
    }
    const auto came =
        std::find_if(waiting_.begin(), waiting_.end(),
                     [&](const auto& item) { return item.first == token; });
    const uint64_t fit = came == waiting_.end() ? 0 : came->second;
    if (came != waiting_.end()) waiting_.erase(came);  // It is claimed once.

    v1::RegisterArenaRequest request;
    const uint64_t handle =
        random_.OneIn(6) ? random_.Boundary()
                         : Handle{HandleKind::kArena, 1,
                                  static_cast<uint32_t>(random_.Below(70))}
                               .Pack();
    // Mostly as much as there is, up to some pages.
    const uint64_t pages = std::min<uint64_t>(300, fit / kPage);
    const uint64_t size = random_.OneIn(4)
                              ? random_.Boundary()
                              : kPage * (1 + random_.Below(pages + 1));
    request.set_arena(handle);
    request.set_size(size);
    request.set_descriptor_token(token);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    HostedExecutor::Authorize(&context);
    v1::RegisterArenaResponse response;
    const grpc::Status status =
        transfers_->RegisterArena(&context, request, &response);
    const bool may_be = size > 0 && size % kPage == 0 && size <= fit;
    HOLDFAST_FUZZ_EXPECT(!status.ok() || may_be, "an arena of ", size,
                         " bytes was made, ", fit, " bytes are fit");
    if (!status.ok()) {
      // No reason to refuse it: a plain new handle, and room for it.
      const Handle name = Handle::Unpack(handle);
      const bool plain = name.kind == HandleKind::kArena &&
                         name.generation == 1 && name.index < 70 &&
                         used_.count(name.index) == 0 &&
                         bytes_ + size <= HostedSession::kArenaBytes;
      HOLDFAST_FUZZ_EXPECT(!may_be || !plain, status.error_message());
      return CheckError(status.error_code(), status.error_message());
    }
    used_.insert(Handle::Unpack(handle).index);
    arenas_[handle] = size;
    bytes_ += size;
    ++made_;
    return absl::OkStatus();
  }

  // Copies through an arena, or frees it.
  absl::Status Use() {
    if (arenas_.empty()) return absl::OkStatus();
    const auto arena = std::next(
        arenas_.begin(), static_cast<ptrdiff_t>(random_.Below(arenas_.size())));
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence_);
    constexpr uint64_t kStream = Handle{HandleKind::kStream, 1, 0}.Pack();
    constexpr uint64_t kBuffer = Handle{HandleKind::kBuffer, 1, 0}.Pack();
    if (sequence_ == 1) {
      batch.add_commands()->mutable_create_stream()->set_stream(kStream);
      auto& allocate = *batch.add_commands()->mutable_allocate_buffer();
      allocate.set_buffer(kBuffer);
      allocate.set_device(0);
      allocate.set_size(kPage);
    }
    auto& copy = *batch.add_commands()->mutable_copy_in();
    copy.set_stream(kStream);
    copy.set_buffer(kBuffer);
    copy.set_arena(arena->first);
    copy.set_arena_offset(arena->second - kPage);
    copy.set_size(kPage);
    auto& back = *batch.add_commands()->mutable_copy_out();
    back.set_stream(kStream);
    back.set_buffer(kBuffer);
    back.set_arena(arena->first);
    back.set_size(kPage);
    const bool free = random_.OneIn(2);
    if (free) {
      batch.add_commands()->mutable_free_arena()->set_arena(arena->first);
    }
    batch.add_commands()->mutable_synchronize_stream()->set_stream(kStream);
    sequence_ += static_cast<uint64_t>(batch.commands_size());
    HOLDFAST_ASSIGN_OR_RETURN(const v1::ResultBatch results,
                              executor_.session().Run(batch));
    HOLDFAST_FUZZ_EXPECT(
        results.results_size() == 1 && results.results(0).has_done(),
        results.ShortDebugString());
    if (free) arenas_.erase(arena);  // Its bytes come back a little later.
    return absl::OkStatus();
  }

  Random& random_;
  HostedExecutor executor_;
  std::unique_ptr<v1::TransferService::Stub> transfers_;
  std::vector<UniqueFd> silent_;
  // The executor's record: a token, and the largest arena that it can be.
  std::deque<std::pair<std::string, uint64_t>> waiting_;
  std::vector<std::string> tokens_;  // that were ever taken
  std::map<uint64_t, uint64_t> arenas_;
  std::set<uint32_t> used_;  // indices
  uint64_t bytes_ = 0;       // of all arenas that were ever made
  uint64_t sequence_ = 1;
  uint64_t made_ = 0;
};

class ArenasTarget : public FuzzTarget {
 public:
  ArenasTarget() {
    Random random(0);
    static_cast<void>(Play(random));
  }

  absl::Status Execute(Random& random) override {
    const Holdings before;
    absl::Status status = Play(random);
    status.Update(before.CheckNothingMore());
    status.Update(neighbour_.Check());
    return status;
  }

  std::string Summary() const override {
    return absl::StrCat(made_, " arenas made; ", neighbour_.rounds(),
                        " rounds of a neighbour verified");
  }

 private:
  absl::Status Play(Random& random) {
    Client client(random);
    absl::Status status;
    for (uint64_t acts = 4 + random.Below(30); acts > 0 && status.ok();
         --acts) {
      status = client.Act();
    }
    made_ += client.made();
    status.Update(client.End());
    return status;
  }

  Neighbour neighbour_;
  uint64_t made_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::ArenasTarget>();
  });
}
