// SPDX-License-Identifier: Apache-2.0
//
// Which thread carries out a batch, and what it asks of the driver, in a
// session of this process.
#include "server/executor/session/session.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/handle.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::CallsOf;
using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareDriver;

const uint64_t kStream = holdfast::Handle{HandleKind::kStream, 1, 0}.Pack();
const uint64_t kModule = holdfast::Handle{HandleKind::kModule, 1, 0}.Pack();
const uint64_t kBuffer = holdfast::Handle{HandleKind::kBuffer, 1, 0}.Pack();

constexpr char kPrintingModule[] = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
)";

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    Session::Options options;
    options.token = "0123456789abcdef";
    options.resources.api = &api_;
    options.resources.account = account_;
    options.resources.hand_on_output = [this] {
      waiter_ = std::this_thread::get_id();
    };
    options.usage_changed = [this] { allocator_ = std::this_thread::get_id(); };
    session_ = std::make_unique<Session>(std::move(options));
    v1::CreateStream& create = *batch_.add_commands()->mutable_create_stream();
    create.set_stream(kStream);
    // Before work is done with kernels that may print, output is asked for.
    v1::LoadModule& load = *batch_.add_commands()->mutable_load_module();
    load.set_module(kModule);
    load.set_inline_(kPrintingModule);
  }

  // Submits what batch_ has, and waits until it was carried out.
  void Submit(const std::function<bool()>& more) {
    batch_.set_first_sequence(last_ + 1);
    last_ += batch_.commands_size();
    const auto results = std::make_shared<ResultQueue>();
    ASSERT_OK(session_->Submit(
        std::make_shared<v1::CommandBatch>(std::exchange(batch_, {})),
        /*bytes=*/100, results, /*clock=*/nullptr,
        /*encoded=*/nullptr, more));
    ASSERT_OK(session_->AwaitSequence(last_, {}));
    results->Finish();
    for (v1::ResultBatch some; results->Take(&some);) {
      for (const v1::Result& result : some.results()) {
        EXPECT_FALSE(result.has_error()) << result.error().message();
      }
    }
  }

  cuda::DriverApi api_ = SoftwareDriver().api;
  const std::shared_ptr<Account> account_ =
      std::make_shared<Account>(Account::Options{});
  uint64_t last_ = 0;
  v1::CommandBatch batch_;
  std::thread::id waiter_;     // has found a stream done, and asked for output
  std::thread::id allocator_;  // has allocated
  std::unique_ptr<Session> session_;
};

bool HasNoMore() { return false; }

TEST_F(SessionTest, AShortBatchIsCarriedOutByTheThreadThatBringsIt) {
  Submit(nullptr);
  // The session's thread tells of a batch before it is through with it.
  for (int i = 0; i < 1000 && waiter_ != std::this_thread::get_id(); ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    batch_.add_commands()->mutable_synchronize_stream()->set_stream(kStream);
    Submit(HasNoMore);
  }
  EXPECT_EQ(waiter_, std::this_thread::get_id());
}

TEST_F(SessionTest, ABatchBehindWhichMoreComesIsHandedOver) {
  Submit(nullptr);
  batch_.add_commands()->mutable_synchronize_stream()->set_stream(kStream);
  Submit([] { return true; });
  EXPECT_NE(waiter_, std::thread::id());
  EXPECT_NE(waiter_, std::this_thread::get_id());
}

TEST_F(SessionTest, ABatchThatMayTakeLongIsHandedOver) {
  v1::AllocateBuffer& allocate =
      *batch_.add_commands()->mutable_allocate_buffer();
  allocate.set_buffer(kBuffer);
  allocate.set_size(100);
  allocate.set_device(0);
  Submit(HasNoMore);
  EXPECT_NE(allocator_, std::thread::id());
  EXPECT_NE(allocator_, std::this_thread::get_id());
}

TEST_F(SessionTest, ABatchOfManyCommandsIsHandedOver) {
  Submit(nullptr);
  for (int i = 0; i < 100; ++i) {
    batch_.add_commands()->mutable_synchronize_stream()->set_stream(kStream);
  }
  Submit(HasNoMore);
  EXPECT_NE(waiter_, std::this_thread::get_id());
}

TEST_F(SessionTest, InlineBytesNeedNoMarksOfTheirOwn) {
  v1::AllocateBuffer& allocate =
      *batch_.add_commands()->mutable_allocate_buffer();
  allocate.set_buffer(kBuffer);
  allocate.set_size(100 << 10);
  allocate.set_device(0);
  Submit(nullptr);
  constexpr auto kRecord = &cuda::DriverApi::cuEventRecord;
  InjectFault<kRecord>(&api_, 0, CUDA_SUCCESS);
  const auto write = [this](int count, size_t size) {
    for (int i = 0; i < count; ++i) {
      v1::WriteBuffer& command = *batch_.add_commands()->mutable_write_buffer();
      command.set_stream(kStream);
      command.set_buffer(kBuffer);
      command.set_data(std::string(size, 'x'));
    }
    Submit(nullptr);
  };
  // One for the account of GPU time.
  write(100, 1000);
  EXPECT_LE(CallsOf<kRecord>(), 1);
  // 4 MiB more: a mark for each MiB, and one for the account. And of 20 MiB all
  // is copied, though less may be kept at a time.
  write(64, 64 << 10);
  EXPECT_LE(CallsOf<kRecord>(), 8);
  write(320, 64 << 10);
  EXPECT_LT(CallsOf<kRecord>(), 100);
}

// The bytes are few, but lie in as many blocks as the reads between them fill.
TEST_F(SessionTest, InlineBytesKeepLittleMemory) {
  v1::AllocateBuffer& allocate =
      *batch_.add_commands()->mutable_allocate_buffer();
  allocate.set_buffer(kBuffer);
  allocate.set_size(60 << 10);
  allocate.set_device(0);
  Submit(nullptr);
  for (int i = 0; i < 100; ++i) {
    v1::WriteBuffer& write = *batch_.add_commands()->mutable_write_buffer();
    write.set_stream(kStream);
    write.set_buffer(kBuffer);
    write.set_data("12345678");
    v1::ReadBuffer& read = *batch_.add_commands()->mutable_read_buffer();
    read.set_stream(kStream);
    read.set_buffer(kBuffer);
    read.set_size(60 << 10);
    // Otherwise the read would find that the stream is done.
    batch_.add_commands()->mutable_query_stream()->set_stream(kStream);
    Submit(nullptr);
  }
  EXPECT_LE(account_->staging_memory()->peak(), uint64_t{2} << 20);
}

}  // namespace
}  // namespace holdfast::executor
