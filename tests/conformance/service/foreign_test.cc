// SPDX-License-Identifier: Apache-2.0
//
// This process as one outside Holdfast, with a CUDA context of its own: memory
// goes out to it and comes in from it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/local/local_mapping.h"
#include "client/cpp/local/local_memory.h"
#include "client/cpp/semaphore.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/module_commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr uint64_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);
constexpr uint64_t kChunk = 2 << 20;

// Memory of this process, as PyTorch or a CUDA program makes it.
class OwnChunk {
 public:
  explicit OwnChunk(const cuda::DriverApi& api) : api_(api) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EXPECT_EQ(api.cuMemCreate(&handle_, kChunk, &properties, 0), CUDA_SUCCESS);
    int fd = -1;
    EXPECT_EQ(api.cuMemExportToShareableHandle(
                  &fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    descriptor_.Reset(fd);
    EXPECT_EQ(api.cuMemAddressReserve(&address_, kChunk, 0, 0, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemMap(address_, kChunk, 0, handle_, 0), CUDA_SUCCESS);
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_EQ(api.cuMemSetAccess(address_, kChunk, &access, 1), CUDA_SUCCESS);
  }
  ~OwnChunk() {
    api_.cuMemUnmap(address_, kChunk);
    api_.cuMemAddressFree(address_, kChunk);
    api_.cuMemRelease(handle_);
  }

  CUdeviceptr address() const { return address_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  const cuda::DriverApi& api_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
  UniqueFd descriptor_;
};

// Memory of a pool of this process, as cuda.core makes it with ipc_enabled.
class OwnPoolMemory {
 public:
  explicit OwnPoolMemory(const cuda::DriverApi& api) : api_(api) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EXPECT_EQ(api.cuMemPoolCreate(&pool_, &properties), CUDA_SUCCESS);
    int fd = -1;
    EXPECT_EQ(api.cuMemPoolExportToShareableHandle(
                  &fd, pool_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    descriptor_.Reset(fd);
    EXPECT_EQ(api.cuMemAllocFromPoolAsync(&address_, kBytes, pool_, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemPoolExportPointer(&data_, address_), CUDA_SUCCESS);
  }
  ~OwnPoolMemory() {
    api_.cuMemFree(address_);
    api_.cuMemPoolDestroy(pool_);
  }

  CUdeviceptr address() const { return address_; }
  int descriptor() const { return descriptor_.get(); }
  std::string data() const {
    return std::string(reinterpret_cast<const char*>(&data_), sizeof data_);
  }

 private:
  const cuda::DriverApi& api_;
  CUmemoryPool pool_ = nullptr;
  CUdeviceptr address_ = 0;
  CUmemPoolPtrExportData data_ = {};
  UniqueFd descriptor_;
};

class ForeignTest : public ServiceTest {
 protected:
  void SetUp() override {
    const Address::Kind kind = daemon().address().kind;
    if (kind != Address::Kind::kUnix && kind != Address::Kind::kEmbedded) {
      GTEST_SKIP() << "the daemon may be on another machine";
    }
    std::iota(numbers_.begin(), numbers_.end(), 1u);
    before_ = ReservedBytes();
  }

  // The bytes at an address of this process's driver.
  static std::vector<uint32_t> Read(CUdeviceptr address) {
    std::vector<uint32_t> values(kCount);
    EXPECT_EQ(
        driver().cuMemcpyDtoHAsync(values.data(), address, kBytes, nullptr),
        CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    return values;
  }
  static CUresult Write(CUdeviceptr address,
                        const std::vector<uint32_t>& values) {
    const CUresult result =
        driver().cuMemcpyHtoDAsync(address, values.data(), kBytes, nullptr);
    return result != CUDA_SUCCESS ? result
                                  : driver().cuStreamSynchronize(nullptr);
  }

  std::vector<uint32_t> numbers_ = std::vector<uint32_t>(kCount);
  uint64_t before_ = 0;
};

TEST_F(ForeignTest, AProcessWithItsOwnContextMapsWhatASessionExports) {
  auto session = OpenSession();
  ASSERT_OK(session);
  std::unique_ptr<LocalMapping> mapping;
  {
    ASSERT_OK_AND_ASSIGN(const Stream stream,
                         (*session)->device(0).CreateStream());
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         (*session)->device(0).AllocateShared(2 * kBytes));
    ASSERT_OK(buffer.Upload(numbers_.data(), kBytes, stream, kBytes));
    ASSERT_OK(stream.Synchronize());
    ASSERT_OK_AND_ASSIGN(const LocalExport memory,
                         buffer.ExportLocal({.offset = kBytes}));
    ASSERT_OK_AND_ASSIGN(mapping,
                         LocalMapping::Map(memory, {.driver = driver_path()}));
    EXPECT_EQ(mapping->size(), kBytes);
    EXPECT_EQ(Read(mapping->pointer()), numbers_);
    // For reading.
    EXPECT_EQ(Write(mapping->pointer(), numbers_), CUDA_ERROR_INVALID_VALUE);
    // A second time: the token was good for one.
    EXPECT_THAT(LocalMapping::Map(memory, {.driver = driver_path()}).status(),
                StatusIs(StatusCode::kFailedPrecondition, "no export"));
  }
  // It outlives the session, and is counted.
  ASSERT_OK((*session)->Close());
  EXPECT_GT(ReservedBytes(), before_);
  EXPECT_EQ(Read(mapping->pointer()), numbers_);
  mapping.reset();
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));
}

TEST_F(ForeignTest, AMappingForWritingIsSeenByTheSession) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                       session().device(0).AllocateShared(kBytes));
  ASSERT_OK_AND_ASSIGN(const LocalExport memory,
                       buffer.ExportLocal({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const auto mapping,
                       LocalMapping::Map(memory, {.driver = driver_path()}));
  ASSERT_EQ(Write(mapping->pointer(), numbers_), CUDA_SUCCESS);
  std::vector<uint32_t> values(kCount);
  ASSERT_OK(buffer.Download(values, stream));
  EXPECT_EQ(values, numbers_);
}

TEST_F(ForeignTest, ACollectionIsMappedForReadingAlone) {
  const std::string name = "foreign";
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter writer,
      CollectionWriter::Create(session(),
                               {{"a", "U8", {300}}, {"b", "U32", {kCount}}}));
  ASSERT_OK_AND_ASSIGN(const Buffer written, writer.Array(1));
  ASSERT_OK(written.Upload(numbers_, stream));
  ASSERT_OK(writer.Commit(name));
  std::unique_ptr<LocalMapping> mapping;
  {
    auto reader = OpenSession();
    ASSERT_OK(reader);
    ASSERT_OK_AND_ASSIGN(const Collection opened,
                         Collection::Open(**reader, name));
    ASSERT_OK_AND_ASSIGN(const Buffer array, opened.Array("b"));
    // Not to another session, and not for writing.
    EXPECT_THAT(array.Export().status(),
                StatusIs(StatusCode::kFailedPrecondition, "was imported"));
    EXPECT_THAT(array.ExportLocal({.rights = Rights::kReadWrite}).status(),
                StatusIs(StatusCode::kPermissionDenied, "nobody may write"));
    ASSERT_OK_AND_ASSIGN(const LocalExport memory, array.ExportLocal());
    ASSERT_OK_AND_ASSIGN(mapping,
                         LocalMapping::Map(memory, {.driver = driver_path()}));
  }
  ASSERT_OK(Collections(session().shared_daemon()).Delete(name));
  EXPECT_EQ(Read(mapping->pointer()), numbers_);
  EXPECT_EQ(Write(mapping->pointer(), numbers_), CUDA_ERROR_INVALID_VALUE);
}

// A reader that sleeps lets the memory go and keeps its pointers.
TEST_F(ForeignTest, AMappingSleepsAndWakesAtTheSameAddress) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  std::unique_ptr<LocalMapping> mapping;
  {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         session().device(0).AllocateShared(kBytes));
    ASSERT_OK(buffer.Upload(numbers_, stream));
    ASSERT_OK(stream.Synchronize());
    ASSERT_OK_AND_ASSIGN(const LocalExport memory, buffer.ExportLocal());
    ASSERT_OK_AND_ASSIGN(mapping,
                         LocalMapping::Map(memory, {.driver = driver_path()}));
    EXPECT_THAT(mapping->Wake(memory),
                StatusIs(StatusCode::kFailedPrecondition, "is awake"));
  }
  const uint64_t pointer = mapping->pointer();
  EXPECT_EQ(Read(pointer), numbers_);
  ASSERT_OK(session().Synchronize());
  const uint64_t mapped = ReservedBytes();
  EXPECT_GE(mapped, kChunk);
  ASSERT_OK(mapping->Sleep());
  EXPECT_TRUE(mapping->asleep());
  EXPECT_OK(mapping->Sleep());
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() <= mapped - kChunk; }));
  // Nothing else gets the addresses meanwhile.
  const OwnChunk own(driver());
  EXPECT_NE(own.address(), pointer);
  ASSERT_OK_AND_ASSIGN(const Buffer next,
                       session().device(0).AllocateShared(kBytes));
  ASSERT_OK(next.Fill(uint32_t{5}, stream));
  ASSERT_OK(stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const LocalExport part,
                       next.ExportLocal({.offset = 4, .size = 4}));
  EXPECT_THAT(mapping->Wake(part),
              StatusIs(StatusCode::kFailedPrecondition, "has moved"));
  ASSERT_OK_AND_ASSIGN(LocalExport memory, next.ExportLocal());
  const std::string token = std::exchange(memory.token, std::string(16, 'x'));
  EXPECT_THAT(mapping->Wake(memory),
              StatusIs(StatusCode::kFailedPrecondition, "no export"));
  EXPECT_TRUE(mapping->asleep());
  memory.token = token;
  ASSERT_OK(mapping->Wake(memory));
  EXPECT_EQ(mapping->pointer(), pointer);
  EXPECT_EQ(Read(pointer), std::vector<uint32_t>(kCount, 5));
}

TEST_F(ForeignTest, ATokenForSessionsOpensNoDescriptor) {
  ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                       session().device(0).AllocateShared(kBytes));
  ASSERT_OK_AND_ASSIGN(LocalExport memory, buffer.ExportLocal());
  ASSERT_OK_AND_ASSIGN(memory.token, buffer.Export());
  EXPECT_THAT(LocalMapping::Map(memory, {.driver = driver_path()}).status(),
              StatusIs(StatusCode::kFailedPrecondition, "not for processes"));
  memory.token = "short";
  EXPECT_THAT(LocalMapping::Map(memory, {.driver = driver_path()}).status(),
              StatusIs(StatusCode::kFailedPrecondition, "no export"));
}

TEST_F(ForeignTest, ASessionImportsMemoryOfThisProcess) {
  const OwnChunk own(driver());
  ASSERT_EQ(Write(own.address() + 4096, numbers_), CUDA_SUCCESS);
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Buffer seen, session().device(0).ImportDescriptor(
                                              own.descriptor(), 4096, kBytes));
  std::vector<uint32_t> values(kCount);
  ASSERT_OK(seen.Download(values, stream));
  EXPECT_EQ(values, numbers_);
  ASSERT_OK(seen.Fill(uint32_t{9}, stream));
  ASSERT_OK(stream.Synchronize());
  EXPECT_EQ(Read(own.address() + 4096), std::vector<uint32_t>(kCount, 9));
}

TEST_F(ForeignTest, AnAddressOfThisProcessIsEnough) {
  const OwnChunk own(driver());
  const LocalMappingOptions options = {.driver = driver_path()};
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(
      const Buffer seen,
      ImportLocal(session().device(0), own.address() + 512, kBytes, options));
  ASSERT_OK(seen.Upload(numbers_, stream));
  ASSERT_OK(stream.Synchronize());
  EXPECT_EQ(Read(own.address() + 512), numbers_);
  EXPECT_THAT(
      ImportLocal(session().device(0), own.address() + 512, kChunk, options)
          .status(),
      StatusIs(StatusCode::kFailedPrecondition, "of an allocation of"));
  EXPECT_THAT(ImportLocal(session().device(0), 4096, kBytes, options).status(),
              StatusIs(StatusCode::kFailedPrecondition, "cannot be shared"));
}

// Memory of cuMemAlloc, which most of PyTorch's is: by an IPC handle, which the
// software device's executors are too confined to open.
TEST_F(ForeignTest, MemoryWithoutADescriptorComesByItsHandle) {
  CUdeviceptr address = 0;
  ASSERT_EQ(driver().cuMemAlloc(&address, 3 * kBytes), CUDA_SUCCESS);
  ASSERT_EQ(Write(address + kBytes, numbers_), CUDA_SUCCESS);
  const auto seen = ImportLocal(session().device(0), address + kBytes, kBytes,
                                {.driver = driver_path()});
  if (IsGpu()) {
    ASSERT_OK(seen);
    ASSERT_OK_AND_ASSIGN(const Stream stream,
                         session().device(0).CreateStream());
    std::vector<uint32_t> values(kCount);
    ASSERT_OK(seen->Download(values, stream));
    EXPECT_EQ(values, numbers_);
    ASSERT_OK(seen->Fill(uint32_t{9}, stream));
    ASSERT_OK(stream.Synchronize());
    EXPECT_EQ(Read(address + kBytes), std::vector<uint32_t>(kCount, 9));
  } else {
    EXPECT_THAT(seen.status(),
                StatusIs(StatusCode::kInvalidArgument, "cuIpcOpenMemHandle"));
  }
  EXPECT_EQ(driver().cuMemFree(address), CUDA_SUCCESS);
}

// Sixty-four bytes of a client's own making reach the driver at most.
TEST_F(ForeignTest, AForgedHandleIsRefused) {
  for (const size_t size : {63, 64, 65}) {
    ASSERT_OK_AND_ASSIGN(
        const UniqueFd handle,
        CreateSealedMemfd("handle", std::string(size, '\x5a')));
    EXPECT_FALSE(
        session().device(0).ImportDescriptor(handle.get(), 0, kBytes).ok())
        << size;
  }
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  EXPECT_OK(stream.Synchronize());
}

TEST_F(ForeignTest, ASessionImportsMemoryOfAPool) {
  const OwnPoolMemory own(driver());
  ASSERT_EQ(Write(own.address(), numbers_), CUDA_SUCCESS);
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  {
    ASSERT_OK_AND_ASSIGN(
        const Buffer seen,
        session().device(0).ImportPool(own.descriptor(), own.data(), kBytes));
    std::vector<uint32_t> values(kCount);
    ASSERT_OK(seen.Download(values, stream));
    EXPECT_EQ(values, numbers_);
    ASSERT_OK(seen.Fill(uint32_t{9}, stream));
    ASSERT_OK(stream.Synchronize());
    EXPECT_EQ(Read(own.address()), std::vector<uint32_t>(kCount, 9));
  }
  ASSERT_OK(session().Synchronize());
}

TEST_F(ForeignTest, PoolsThatAreNoneAreRefused) {
  const OwnPoolMemory own(driver());
  const OwnChunk chunk(driver());
  const auto import = [](int fd, const std::string& data, uint64_t size) {
    return session().device(0).ImportPool(fd, data, size).status();
  };
  EXPECT_THAT(import(own.descriptor(), "short", kBytes),
              StatusIs(StatusCode::kInvalidArgument, "5 bytes, not 64"));
  EXPECT_FALSE(import(own.descriptor(), std::string(64, 'Z'), kBytes).ok());
  EXPECT_FALSE(import(own.descriptor(), own.data(), 1 << 30).ok());
  EXPECT_FALSE(import(own.descriptor(), own.data(), 0).ok());
  ASSERT_OK_AND_ASSIGN(const UniqueFd memory, CreateMemfd("no pool", kChunk));
  EXPECT_FALSE(import(memory.get(), own.data(), kBytes).ok());
  EXPECT_FALSE(import(STDIN_FILENO, own.data(), kBytes).ok());
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  EXPECT_OK(stream.Synchronize());
}

TEST_F(ForeignTest, AnIpcHandleOfASessionsMemory) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         session().device(0).AllocateIpc(2 * kBytes));
    ASSERT_OK(buffer.Upload(numbers_, stream));
    std::vector<uint32_t> values(kCount);
    ASSERT_OK_AND_ASSIGN(const Buffer part, buffer.Sub(0, kBytes));
    ASSERT_OK(part.Download(values, stream));
    EXPECT_EQ(values, numbers_);
    EXPECT_GE(ReservedBytes(), before_ + 2 * kBytes);
    EXPECT_THAT(buffer.Export().status(),
                StatusIs(StatusCode::kFailedPrecondition, "SHARING_EXPORT"));
    ASSERT_OK_AND_ASSIGN(const IpcExport exported, part.IpcHandle());
    EXPECT_EQ(exported.size, kBytes);
    EXPECT_GE(exported.mapped_size, exported.offset + exported.size);
    CUipcMemHandle handle;
    ASSERT_EQ(exported.handle.size(), sizeof handle.reserved);
    std::memcpy(handle.reserved, exported.handle.data(),
                sizeof handle.reserved);
    CUdeviceptr address = 0;
    const CUresult opened = driver().cuIpcOpenMemHandle(
        &address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (IsGpu()) {
      ASSERT_EQ(opened, CUDA_SUCCESS);
      EXPECT_EQ(Read(address + exported.offset), numbers_);
      EXPECT_EQ(driver().cuIpcCloseMemHandle(address), CUDA_SUCCESS);
    } else {
      EXPECT_NE(opened, CUDA_SUCCESS);  // Its executor is too confined.
    }
  }
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before_; }));
  ASSERT_OK_AND_ASSIGN(const Buffer plain, session().device(0).Allocate(4));
  EXPECT_THAT(plain.IpcHandle().status(),
              StatusIs(StatusCode::kFailedPrecondition, "SHARING_IPC"));
  ASSERT_OK_AND_ASSIGN(const Buffer empty, session().device(0).AllocateIpc(0));
  EXPECT_THAT(session().Synchronize(),
              StatusIs(StatusCode::kInvalidArgument, "at least 1 byte"));
}

TEST_F(ForeignTest, ImportedMemoryOutlivesItsMaker) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  std::optional<Buffer> seen;
  {
    const OwnChunk own(driver());
    ASSERT_EQ(Write(own.address(), numbers_), CUDA_SUCCESS);
    ASSERT_OK_AND_ASSIGN(Buffer buffer, session().device(0).ImportDescriptor(
                                            own.descriptor(), 0, kBytes));
    seen = std::move(buffer);
  }
  std::vector<uint32_t> values(kCount);
  ASSERT_OK(seen->Download(values, stream));
  EXPECT_EQ(values, numbers_);
}

// Every wrong descriptor is refused, and the session goes on.
TEST_F(ForeignTest, DescriptorsThatAreNoDeviceMemoryAreRefused) {
  const OwnChunk own(driver());
  const auto import = [](int fd, uint64_t offset, uint64_t size) {
    return session().device(0).ImportDescriptor(fd, offset, size).status();
  };
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  const UniqueFd memfd(memfd_create("holdfast-device-chunk", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memfd.get(), kChunk), 0);
  const UniqueFd directory(open("/", O_RDONLY | O_CLOEXEC));
  const UniqueFd zero(open("/dev/zero", O_RDWR | O_CLOEXEC));
  // Sealed against writing, and too short with the seals of device memory.
  const UniqueFd sealed(
      memfd_create("holdfast-device-chunk", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(sealed.get(), kChunk), 0);
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL),
            0);
  const UniqueFd small(
      memfd_create("holdfast-device-chunk", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(small.get(), kBytes), 0);
  ASSERT_EQ(fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  // Those of other drivers, and other kinds that the kernel has.
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd event(eventfd(0, EFD_CLOEXEC));
  const UniqueFd poller(epoll_create1(EPOLL_CLOEXEC));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int fd : {in.get(), out.get(), memfd.get(), directory.get(),
                       zero.get(), sealed.get(), small.get(), null.get(),
                       event.get(), poller.get(), socket.get()}) {
    EXPECT_FALSE(import(fd, 0, kBytes).ok()) << fd;
  }
  // Closed.
  int gone = -1;
  {
    const UniqueFd closed(fcntl(own.descriptor(), F_DUPFD_CLOEXEC, 0));
    gone = closed.get();
  }
  EXPECT_FALSE(import(gone, 0, kBytes).ok());
  EXPECT_FALSE(import(-1, 0, kBytes).ok());
  // Too short, beyond any memory, nothing.
  EXPECT_FALSE(import(own.descriptor(), 0, 2 * kChunk).ok());
  EXPECT_FALSE(import(own.descriptor(), UINT64_MAX, 2).ok());
  EXPECT_FALSE(import(own.descriptor(), 0, UINT64_MAX).ok());
  EXPECT_THAT(import(own.descriptor(), 0, 0),
              StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  // However often they come, good ones and bad ones.
  for (int i = 0; i < 10000; ++i) {
    ASSERT_FALSE(import(i % 2 == 0 ? in.get() : sealed.get(), 0, 64).ok());
    if (i % 10 == 0) {
      ASSERT_OK(import(own.descriptor(), 0, kChunk));
    }
  }
  (void)session().Synchronize();  // It has been told of the failures.
  EXPECT_OK(session().Synchronize());
}

// One descriptor, for as many as it is handed to.
TEST_F(ForeignTest, ADescriptorIsSharedByManySessions) {
  const OwnChunk own(driver());
  ASSERT_EQ(Write(own.address(), numbers_), CUDA_SUCCESS);
  ASSERT_OK_AND_ASSIGN(auto first, OpenSession());
  ASSERT_OK_AND_ASSIGN(const auto second, OpenSession());
  ASSERT_OK_AND_ASSIGN(const Stream stream, second->device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Buffer there, second->device(0).ImportDescriptor(
                                               own.descriptor(), 0, kBytes));
  // Twice in one session: two buffers of the same bytes.
  ASSERT_OK_AND_ASSIGN(const Buffer again, second->device(0).ImportDescriptor(
                                               own.descriptor(), 0, kBytes));
  {
    ASSERT_OK_AND_ASSIGN(const Stream filling, first->device(0).CreateStream());
    ASSERT_OK_AND_ASSIGN(const Buffer here, first->device(0).ImportDescriptor(
                                                own.descriptor(), 0, kBytes));
    ASSERT_OK(here.Fill(uint32_t{7}, filling));
    ASSERT_OK(filling.Synchronize());
  }
  ASSERT_OK(first->Close());
  const std::vector<uint32_t> sevens(kCount, 7);
  EXPECT_EQ(Read(own.address()), sevens);
  std::vector<uint32_t> values(kCount);
  ASSERT_OK(there.Download(values, stream));
  EXPECT_EQ(values, sevens);
  ASSERT_OK(again.Upload(numbers_, stream));
  ASSERT_OK(stream.Synchronize());
  ASSERT_OK(there.Download(values, stream));
  EXPECT_EQ(values, numbers_);
  EXPECT_EQ(Read(own.address()), numbers_);
}

TEST_F(ForeignTest, AProcessSeesASemaphoreAndSetsItIfItMay) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(const Semaphore semaphore,
                       session().device(0).CreateSemaphore(3));
  ASSERT_OK_AND_ASSIGN(const LocalExport memory,
                       semaphore.ExportLocally({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const auto mapping,
                       LocalMapping::Map(memory, {.driver = driver_path()}));
  EXPECT_EQ(mapping->size(), sizeof(uint64_t));
  // The session's stream waits for this process's.
  ASSERT_OK(semaphore.Wait(4, stream));
  ASSERT_OK_AND_ASSIGN(const Event behind, stream.Record());
  ASSERT_EQ(driver().cuStreamWaitValue64(nullptr, mapping->pointer(), 3,
                                         CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamWriteValue64(nullptr, mapping->pointer(), 4, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_OK(stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const uint64_t value, semaphore.Value());
  EXPECT_EQ(value, 4u);
  EXPECT_THAT(semaphore.ExportLocally({.tenant = "team-a"}).status(),
              StatusIs(StatusCode::kInvalidArgument, "cannot be bound"));
}

TEST_F(ForeignTest, AProcessIsAmongTheReadersOfWhatItMaps) {
  ASSERT_OK_AND_ASSIGN(const Stream stream, session().device(0).CreateStream());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter writer,
      CollectionWriter::Create(session(), {{"a", "U32", {kCount}}}));
  ASSERT_OK(writer.Commit("foreign_readers"));
  Collections collections(session().shared_daemon());
  const auto readers = [&]() -> std::vector<std::string> {
    const auto description = collections.Describe("foreign_readers");
    if (!description.ok()) return {};
    const auto& names = description->collection().versions(0).readers();
    return {names.begin(), names.end()};
  };
  std::unique_ptr<LocalMapping> mapping;
  {
    ASSERT_OK_AND_ASSIGN(const Collection opened,
                         Collection::Open(session(), "foreign_readers"));
    ASSERT_OK_AND_ASSIGN(const LocalExport memory,
                         opened.buffers()[0].ExportLocal());
    ASSERT_OK_AND_ASSIGN(mapping,
                         LocalMapping::Map(memory, {.driver = driver_path()}));
  }
  const std::vector<std::string> self = {absl::StrCat("pid ", getpid())};
  EXPECT_TRUE(Eventually([&] { return readers() == self; }));
  mapping.reset();
  EXPECT_TRUE(Eventually([&] { return readers().empty(); }));
  EXPECT_OK(collections.Delete("foreign_readers").status());
}

}  // namespace
}  // namespace holdfast::conformance
