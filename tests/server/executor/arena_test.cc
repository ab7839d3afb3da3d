// SPDX-License-Identifier: Apache-2.0
//
// Memory that a client shares with its executor, and clients that mean harm.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/arena_range.h"
#include "core/base/memfd.h"
#include "core/base/sanitizer.h"
#include "core/base/unique_fd.h"
#include "server/executor/service/fd_receiver.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/kernels.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

constexpr uint64_t kSize = uint64_t{1} << 20;
// ThreadSanitizer has taken the addresses for arenas.
#ifdef HOLDFAST_TSAN
constexpr bool kHasArenaRange = false;
#else
constexpr bool kHasArenaRange = true;
#endif
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr char kTaken[] = {'\0'};

constexpr const char* kPtx = test_ptx::kModule<test_ptx::kStore>;

std::string Token(char last) { return std::string(15, 't') + last; }

UniqueFd Memory(uint64_t size, int seals = kSeals) {
  auto memory = CreateMemfd("test-arena", size);
  EXPECT_OK(memory);
  if (seals != 0) {
    EXPECT_EQ(fcntl(memory->get(), F_ADD_SEALS, seals), 0);
  }
  return *std::move(memory);
}

class ArenaTest : public ExecutorTest {
 protected:
  // Stream 0 and buffer 0 of kSize, filled with 7s.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), kSize);
    batch.FillWord(StreamName(0), BufferName(0), 0, kSize, 0x07070707);
    ASSERT_TRUE(Run(batch).empty());
    next_sequence_ = batch.last_sequence() + 1;
  }

  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    descriptor_path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address),
              0);
    return fd;
  }

  // One message with these descriptors; what was answered.
  std::string Send(std::string bytes, const std::vector<int>& descriptors) {
    const UniqueFd fd = Connect();
    std::vector<char> control(CMSG_SPACE(sizeof(int) * descriptors.size()));
    iovec part = {bytes.data(), bytes.size()};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* const item = CMSG_FIRSTHDR(&header);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(item), descriptors.data(),
                  sizeof(int) * descriptors.size());
    }
    EXPECT_GE(sendmsg(fd.get(), &header, MSG_NOSIGNAL), 0);
    char answer[512];
    const ssize_t size = recv(fd.get(), answer, sizeof answer, 0);
    return size < 0 ? "nothing" : std::string(answer, size);
  }

  bool SendFd(const std::string& descriptor_token, int fd) {
    return Send(token() + descriptor_token, {fd}) == std::string(kTaken, 1);
  }

  StatusCode Register(uint64_t arena, const std::string& descriptor_token,
                      uint64_t size, uint64_t wish = 0) {
    v1::RegisterArenaRequest request;
    request.set_arena(arena);
    request.set_descriptor_token(descriptor_token);
    request.set_size(size);
    request.set_address(wish);
    v1::RegisterArenaResponse response;
    const grpc::Status status =
        transfers().RegisterArena(Context().get(), request, &response);
    if (!status.ok()) {
      EXPECT_NE(status.error_message(), "");
    }
    address_ = response.address();
    return status.error_code();
  }

  // The address of an arena of this memory that is to be at `wish`; 0: there is
  // none.
  uint64_t Place(uint64_t arena, int fd, uint64_t wish) {
    EXPECT_TRUE(SendFd(Token('w'), fd));
    EXPECT_EQ(Register(arena, Token('w'), kSize, wish), StatusCode::OK);
    return address_;
  }

  StatusCode Make(uint64_t arena, int fd, uint64_t size = kSize) {
    EXPECT_TRUE(SendFd(Token('m'), fd));
    return Register(arena, Token('m'), size);
  }

  // CopyIn or CopyOut of these fields.
  template <typename Copy>
  static void Fill(Copy& copy, uint64_t offset, uint64_t arena,
                   uint64_t arena_offset, uint64_t size) {
    copy.set_stream(StreamName(0));
    copy.set_buffer(BufferName(0));
    copy.set_offset(offset);
    copy.set_arena(arena);
    copy.set_arena_offset(arena_offset);
    copy.set_size(size);
  }

  // Runs one copy and waits for it; how it ended.
  int In(uint64_t offset, uint64_t arena, uint64_t arena_offset,
         uint64_t size) {
    Batch batch(next_sequence_);
    Fill(*batch.Add().mutable_copy_in(), offset, arena, arena_offset, size);
    return Outcome(batch);
  }
  int Out(uint64_t offset, uint64_t arena, uint64_t arena_offset,
          uint64_t size) {
    Batch batch(next_sequence_);
    Fill(*batch.Add().mutable_copy_out(), offset, arena, arena_offset, size);
    return Outcome(batch);
  }

  // Makes `store` kernel 0.
  void LoadPut() {
    Batch batch(next_sequence_);
    batch.LoadInline(ModuleName(0), kPtx);
    batch.GetKernel(KernelName(0), ModuleName(0), "store");
    ASSERT_EQ(Outcome(batch), 0);
  }

  // Launches `store` on this place of an arena, or on this address, and waits;
  // how it ended.
  int Put(uint64_t arena, uint64_t offset) {
    v1::Argument to;
    to.mutable_buffer()->set_buffer(arena);
    to.mutable_buffer()->set_offset(offset);
    return Put(to);
  }
  int Put(uint64_t address) {
    v1::Argument to;
    to.set_u64(address);
    return Put(to);
  }
  int Put(const v1::Argument& to) {
    Batch batch(next_sequence_);
    v1::Launch& launch = *batch.Add().mutable_launch();
    launch.set_kernel(KernelName(0));
    launch.set_stream(StreamName(0));
    for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    *launch.add_arguments() = to;
    launch.add_arguments()->set_u32(5);
    return Outcome(batch);
  }

  int Outcome(Batch& batch) {
    const uint64_t copy = batch.last_sequence();
    batch.Synchronize(StreamName(0));
    next_sequence_ = batch.last_sequence() + 1;
    const auto results = Run(batch);
    const auto found = results.find(copy);
    return found == results.end() ? 0 : found->second.error().code();
  }

  size_t OpenDescriptors() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(
             absl::StrCat("/proc/", pid(), "/fd"))) {
      ++count;
    }
    return count;
  }

  // The connections themselves are closed by the executor a moment later.
  bool HasDescriptors(size_t at_most) const {
    for (int i = 0; i < 1000; ++i) {
      if (OpenDescriptors() <= at_most) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  uint64_t next_sequence_ = 0;
  uint64_t address_ = 0;  // of the arena that was registered last
};

constexpr int kNotFound = static_cast<int>(StatusCode::NOT_FOUND);
constexpr int kOutOfRange = static_cast<int>(StatusCode::OUT_OF_RANGE);
constexpr int kInvalid = static_cast<int>(StatusCode::INVALID_ARGUMENT);
constexpr int kFailed = static_cast<int>(StatusCode::FAILED_PRECONDITION);

TEST_F(ArenaTest, BytesGoInAndOutAtOffsets) {
  const UniqueFd fd = Memory(kSize);
  const auto mapping =
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite);
  ASSERT_OK(mapping);
  auto* const bytes = static_cast<char*>(mapping->data());
  ASSERT_EQ(Make(ArenaName(0), fd.get()), StatusCode::OK);
  std::memcpy(bytes + 5, "shared", 6);
  EXPECT_EQ(In(100, ArenaName(0), 5, 6), 0);
  EXPECT_EQ(Out(98, ArenaName(0), kSize - 10, 10), 0);
  EXPECT_EQ(std::string(bytes + kSize - 10, 10), "\7\7shared\7\7");
}

TEST_F(ArenaTest, KernelsUseItInPlace) {
  const UniqueFd fd = Memory(kSize);
  const auto mapping =
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite);
  ASSERT_OK(mapping);
  const auto* const words = static_cast<const uint32_t*>(mapping->data());
  ASSERT_EQ(Make(ArenaName(0), fd.get()), StatusCode::OK);
  ASSERT_NO_FATAL_FAILURE(LoadPut());
  EXPECT_EQ(Put(ArenaName(0), 4096), 0);
  EXPECT_EQ(words[1024], 5u);
  EXPECT_EQ(words[1023] + words[1025], 0u);
  EXPECT_EQ(Put(ArenaName(0), kSize + 1), kOutOfRange);
  EXPECT_EQ(Put(ArenaName(1), 0), kNotFound);
  Batch free(next_sequence_);
  free.Add().mutable_free_arena()->set_arena(ArenaName(0));
  EXPECT_EQ(Outcome(free), 0);
  EXPECT_EQ(Put(ArenaName(0), 0), kFailed);
}

TEST_F(ArenaTest, KernelsReachItAtTheAddressThatTheClientHas) {
  if (!kHasArenaRange) GTEST_SKIP() << "there is no place for arenas";
  ASSERT_NO_FATAL_FAILURE(LoadPut());
  const UniqueFd memory = Memory(kSize);
  auto mapping =
      FileMapping::Map(memory.get(), FileMapping::Access::kReadWrite);
  ASSERT_OK(mapping);
  auto* const words = static_cast<unsigned*>(mapping->data());
  const uint64_t wish = kArenaRangeBase + (uint64_t{5} << 30);
  ASSERT_EQ(Place(ArenaName(0), memory.get(), wish), wish);
  EXPECT_EQ(Put(wish + 8), 0);
  EXPECT_EQ(words[2], 5u);
}

// Nothing of the executor's own is ever mapped over.
TEST_F(ArenaTest, AnAddressThatCannotBeHadIsExchangedForAnother) {
  if (!kHasArenaRange) GTEST_SKIP() << "there is no place for arenas";
  ASSERT_NO_FATAL_FAILURE(LoadPut());
  const UniqueFd first = Memory(kSize);
  auto mapping = FileMapping::Map(first.get(), FileMapping::Access::kReadWrite);
  ASSERT_OK(mapping);
  auto* const words = static_cast<unsigned*>(mapping->data());
  const uint64_t taken = kArenaRangeBase + (uint64_t{1} << 40);
  ASSERT_EQ(Place(ArenaName(0), first.get(), taken), taken);
  constexpr uint64_t kPage = 4096;
  constexpr uint64_t kEnd = kArenaRangeBase + kArenaRangeBytes;
  const auto own = reinterpret_cast<uint64_t>(kPtx) / kPage * kPage;
  uint32_t index = 1;
  for (const uint64_t wish :
       {uint64_t{1}, kPage, taken, taken + kPage, taken - kSize + kPage,
        taken + kSize - kPage, taken + (1 << 30) + 1, kArenaRangeBase - kPage,
        kArenaRangeBase - kSize, kEnd - kSize, kEnd - kPage, kEnd, kEnd + kPage,
        kEnd + kArenaRangeBytes / 2, ~uint64_t{0}, ~uint64_t{0} - kPage + 1,
        uint64_t{1} << 63, own}) {
    const UniqueFd memory = Memory(kSize);
    const uint64_t address = Place(ArenaName(index), memory.get(), wish);
    EXPECT_NE(address, wish);
    EXPECT_TRUE(IsInArenaRange(address, kSize)) << std::hex << address;
    EXPECT_TRUE(address + kSize <= taken || address >= taken + kSize);
    EXPECT_EQ(Put(ArenaName(index), 0), 0);
    ++index;
  }
  EXPECT_EQ(words[0], 0u) << "none took the place of the first";
  EXPECT_EQ(Put(taken), 0);
  EXPECT_EQ(words[0], 5u);
}

TEST_F(ArenaTest, AnAddressIsFreeAgainAfterwards) {
  if (!kHasArenaRange) GTEST_SKIP() << "there is no place for arenas";
  const uint64_t wish = kArenaRangeBase + kArenaAlignment;
  for (uint32_t i = 0; i < 3; ++i) {
    const UniqueFd memory = Memory(kSize);
    ASSERT_EQ(Place(ArenaName(i), memory.get(), wish), wish);
    Batch batch(next_sequence_);
    batch.Add().mutable_free_arena()->set_arena(ArenaName(i));
    batch.Fence(/*all_streams=*/true);
    next_sequence_ = batch.last_sequence() + 1;
    Run(batch);
  }
}

TEST_F(ArenaTest, ACopyTellsItsPathIfAsked) {
  ASSERT_EQ(Make(ArenaName(0), Memory(kSize).get()), StatusCode::OK);
  Batch batch(next_sequence_);
  Fill(*batch.Add().mutable_copy_in(), 0, ArenaName(0), 0, 1000);
  v1::CopyOut& out = *batch.Add().mutable_copy_out();
  Fill(out, 0, ArenaName(0), 0, 2000);
  out.set_report(true);
  out.set_staged(true);
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 1u);
  const v1::CopyReport& report = results.at(batch.last_sequence()).copy();
  EXPECT_EQ(report.path(), v1::COPY_PATH_STAGED);
  EXPECT_EQ(report.size(), 2000u);
}

TEST_F(ArenaTest, WhatReachesBeyondEitherEndIsRefused) {
  ASSERT_EQ(Make(ArenaName(0), Memory(kSize).get()), StatusCode::OK);
  EXPECT_EQ(In(0, ArenaName(0), 0, kSize), 0);
  EXPECT_EQ(In(0, ArenaName(0), kSize, 0), 0);
  EXPECT_EQ(In(0, ArenaName(0), 1, kSize), kOutOfRange);
  EXPECT_EQ(In(1, ArenaName(0), 0, kSize), kOutOfRange);
  EXPECT_EQ(In(0, ArenaName(0), kSize + 1, 0), kOutOfRange);
  // Sums that would overflow.
  EXPECT_EQ(In(0, ArenaName(0), UINT64_MAX, 2), kOutOfRange);
  EXPECT_EQ(Out(UINT64_MAX, ArenaName(0), 0, 2), kOutOfRange);
  EXPECT_EQ(Out(0, ArenaName(0), 2, UINT64_MAX), kOutOfRange);
}

TEST_F(ArenaTest, ForgedAndFreedHandlesAreErrorsOfTheirCommands) {
  EXPECT_EQ(In(0, ArenaName(0), 0, 1), kNotFound);
  ASSERT_EQ(Make(ArenaName(0), Memory(kSize).get()), StatusCode::OK);
  EXPECT_EQ(In(0, 0, 0, 1), kInvalid);
  EXPECT_EQ(In(0, BufferName(0), 0, 1), kInvalid);
  EXPECT_EQ(In(0, ArenaName(1), 0, 1), kNotFound);
  EXPECT_EQ(In(0, ArenaName(0, 2), 0, 1), kNotFound);
  Batch batch(next_sequence_);
  batch.Add().mutable_free_arena()->set_arena(ArenaName(0));
  EXPECT_EQ(Outcome(batch), 0);
  EXPECT_EQ(In(0, ArenaName(0), 0, 1), kFailed);
  // Twice is no error; and the index may be used again.
  Batch again(next_sequence_);
  again.Add().mutable_free_arena()->set_arena(ArenaName(0));
  EXPECT_EQ(Outcome(again), 0);
  EXPECT_EQ(Make(ArenaName(0), Memory(kSize).get()),
            StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Make(ArenaName(0, 2), Memory(kSize).get()), StatusCode::OK);
  EXPECT_EQ(Make(ArenaName(0, 2), Memory(kSize).get()),
            StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Make(BufferName(1), Memory(kSize).get()),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ArenaTest, MemoryThatCouldBeTakenAwayIsRefused) {
  const auto failed = StatusCode::FAILED_PRECONDITION;
  EXPECT_EQ(Make(ArenaName(0), Memory(kSize, 0).get()), failed);
  EXPECT_EQ(Make(ArenaName(0), Memory(kSize, F_SEAL_GROW).get()), failed);
  EXPECT_EQ(
      Make(ArenaName(0), Memory(kSize, F_SEAL_SHRINK | F_SEAL_WRITE).get()),
      failed);
  // Not memfds at all.
  EXPECT_EQ(Make(ArenaName(0), UniqueFd(open("/dev/zero", O_RDWR)).get()),
            failed);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  EXPECT_EQ(Make(ArenaName(0), reader.get()), failed);
  const UniqueFd file(open("/dev/shm", O_TMPFILE | O_RDWR, 0600));
  if (file.valid()) {
    ASSERT_EQ(ftruncate(file.get(), kSize), 0);
    EXPECT_EQ(Make(ArenaName(0), file.get()), failed);
  }
  // A read-only descriptor of good memory.
  const UniqueFd memory = Memory(kSize);
  const UniqueFd read_only(
      open(absl::StrCat("/proc/self/fd/", memory.get()).c_str(), O_RDONLY));
  EXPECT_EQ(Make(ArenaName(0), read_only.get()), failed);
  EXPECT_EQ(Make(ArenaName(0), memory.get()), StatusCode::OK);
}

TEST_F(ArenaTest, HugePagesThatTheSystemMayNotHaveAreRefused) {
  const UniqueFd fd(
      memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!fd.valid()) GTEST_SKIP() << "no huge pages on this machine";
  ASSERT_EQ(ftruncate(fd.get(), 2 << 20), 0);
  ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, kSeals), 0);
  EXPECT_EQ(Make(ArenaName(0), fd.get()), StatusCode::FAILED_PRECONDITION);
}

TEST_F(ArenaTest, SizesAreThoseOfTheMemoryAndWithinTheBudget) {
  const UniqueFd fd = Memory(kSize);
  EXPECT_EQ(Make(ArenaName(0), fd.get(), 0), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Make(ArenaName(0), fd.get(), 1), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Make(ArenaName(0), fd.get(), ~uint64_t{0} << 12),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Make(ArenaName(0), fd.get(), kSize + 4096),
            StatusCode::OUT_OF_RANGE);
  // No page of it is there, and none is made.
  EXPECT_EQ(
      Make(ArenaName(0), Memory(uint64_t{1} << 46).get(), uint64_t{1} << 46),
      StatusCode::RESOURCE_EXHAUSTED);
  // The failed call has used up nothing.
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(Make(ArenaName(i), fd.get()), StatusCode::OK) << i;
  }
  EXPECT_EQ(Make(ArenaName(64), fd.get()), StatusCode::RESOURCE_EXHAUSTED);
  Batch batch(next_sequence_);
  batch.Add().mutable_free_arena()->set_arena(ArenaName(7));
  EXPECT_EQ(Outcome(batch), 0);
  EXPECT_EQ(Make(ArenaName(64), fd.get()), StatusCode::OK);
}

TEST_F(ArenaTest, WithoutTheSessionsTokenNothingIsTaken) {
  const UniqueFd fd = Memory(kSize);
  const std::string answer =
      Send(std::string(16, 'x') + Token('w'), {fd.get()});
  EXPECT_NE(answer, std::string(kTaken, 1));
  EXPECT_NE(answer.find("token"), std::string::npos) << answer;
  EXPECT_EQ(Register(ArenaName(0), Token('w'), kSize), StatusCode::NOT_FOUND);
  EXPECT_EQ(Register(ArenaName(0), "", kSize), StatusCode::NOT_FOUND);
}

TEST_F(ArenaTest, ADescriptorIsClaimedOnce) {
  const UniqueFd fd = Memory(kSize);
  ASSERT_TRUE(SendFd(Token('a'), fd.get()));
  EXPECT_EQ(Register(ArenaName(0), Token('a'), kSize), StatusCode::OK);
  EXPECT_EQ(Register(ArenaName(1), Token('a'), kSize), StatusCode::NOT_FOUND);
}

TEST_F(ArenaTest, RegisteringNeedsTheToken) {
  grpc::ClientContext context;
  v1::RegisterArenaResponse response;
  EXPECT_EQ(transfers().RegisterArena(&context, {}, &response).error_code(),
            StatusCode::UNAUTHENTICATED);
}

TEST_F(ArenaTest, OddMessagesLeaveNoDescriptorBehind) {
  const UniqueFd fd = Memory(kSize);
  // A first one, after which the executor has what it needs.
  ASSERT_EQ(Make(ArenaName(0), fd.get()), StatusCode::OK);
  // gRPC opens an eventfd when one more of its threads polls, at any time.
  constexpr size_t kOfGrpc = 4;
  const size_t before = OpenDescriptors() + kOfGrpc;
  const std::string good = token() + Token('o');
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(Send(good, {}), std::string(kTaken, 1));
    EXPECT_NE(Send(good, {fd.get(), fd.get()}), std::string(kTaken, 1));
    EXPECT_NE(Send(good, std::vector<int>(100, fd.get())),
              std::string(kTaken, 1));
    EXPECT_NE(Send("short", {fd.get()}), std::string(kTaken, 1));
    EXPECT_NE(Send(good + "long", {fd.get()}), std::string(kTaken, 1));
  }
  EXPECT_TRUE(HasDescriptors(before)) << OpenDescriptors();
  // Nobody asks for these: the oldest goes.
  constexpr size_t kMost = executor::FdReceiver::kMaxWaiting;
  for (size_t i = 0; i <= kMost; ++i) {
    ASSERT_TRUE(SendFd(Token(static_cast<char>('A' + i)), fd.get()));
  }
  EXPECT_TRUE(HasDescriptors(before + kMost)) << OpenDescriptors();
  EXPECT_EQ(Register(ArenaName(1), Token('A'), kSize), StatusCode::NOT_FOUND);
  EXPECT_EQ(Register(ArenaName(1), Token('B'), kSize), StatusCode::OK);
}

TEST_F(ArenaTest, ConnectionsThatSayNothingAreNotInTheWay) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(Connect());
  EXPECT_EQ(Make(ArenaName(0), Memory(kSize).get()), StatusCode::OK);
}

TEST_F(ArenaTest, HolesThatTheClientPunchesAreZeros) {
  const UniqueFd fd = Memory(kSize);
  ASSERT_EQ(Make(ArenaName(0), fd.get()), StatusCode::OK);
  ASSERT_EQ(
      fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSize),
      0);
  EXPECT_EQ(In(0, ArenaName(0), 0, kSize), 0);
  Batch batch(next_sequence_);
  const uint64_t read = batch.Read(StreamName(0), BufferName(0), 4096, 8);
  EXPECT_EQ(Run(batch).at(read).data(), std::string(8, '\0'));
}

TEST_F(ArenaTest, OneThatIsFreedWhileItIsCopiedStaysUntilThen) {
  const UniqueFd fd = Memory(kSize);
  const auto mapping =
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite);
  ASSERT_OK(mapping);
  std::memset(mapping->data(), 0x55, kSize);
  for (uint32_t generation = 1; generation <= 20; ++generation) {
    const uint64_t arena = ArenaName(0, generation);
    ASSERT_EQ(Make(arena, fd.get()), StatusCode::OK);
    Batch batch(next_sequence_);
    batch.FillWord(StreamName(0), BufferName(0), 0, kSize, 0);
    Fill(*batch.Add().mutable_copy_in(), 0, arena, 0, kSize);
    batch.Add().mutable_free_arena()->set_arena(arena);
    const uint64_t read =
        batch.Read(StreamName(0), BufferName(0), kSize - 4, 4);
    next_sequence_ = batch.last_sequence() + 1;
    const auto results = Run(batch);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results.at(read).data(), "UUUU");
  }
}

}  // namespace
}  // namespace holdfast::testing
