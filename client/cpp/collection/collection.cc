// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/collections.pb.h"

namespace holdfast {
namespace {

// A version may be replaced between the look at it and its opening.
constexpr int kAttempts = 8;

// Calls `open` with the version that `describe` finds, again if that was
// replaced in the meantime and any is wanted.
template <typename Describe, typename Open>
absl::StatusOr<Collection> Retry(uint64_t version, Describe describe,
                                 Open open) {
  for (int attempt = 1;; ++attempt) {
    std::vector<uint64_t> sizes;
    HOLDFAST_ASSIGN_OR_RETURN(Collection found, describe(&sizes));
    const absl::Status opened = open(found, sizes);
    if (opened.ok()) return found;
    if (!absl::IsNotFound(opened) || version != 0 || attempt == kAttempts) {
      return opened;
    }
  }
}

using Arrays = std::map<std::string, CollectionArray>;

CollectionArray ToArray(const v1::ArrayDescription& described) {
  CollectionArray array;
  array.name = described.name();
  array.dtype = described.dtype();
  array.shape.assign(described.shape().begin(), described.shape().end());
  array.strides.assign(described.strides().begin(), described.strides().end());
  array.buffer = described.buffer();
  array.offset = described.offset();
  array.size = described.size();
  return array;
}

std::vector<std::string> NamesOf(const Arrays& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(name);
  return names;
}

// Arrays of `before` that are not the same in `now`.
std::vector<std::string> Moved(const Arrays& before, const Arrays& now) {
  std::vector<std::string> moved;
  for (const auto& [name, array] : before) {
    const auto found = now.find(name);
    const bool same = found != now.end() && found->second == array;
    if (!same) moved.push_back(name);
  }
  return moved;
}

}  // namespace

absl::StatusOr<Collection> Collection::Describe(std::shared_ptr<Daemon> daemon,
                                                const Device& device,
                                                const std::string& name,
                                                uint64_t version,
                                                std::vector<uint64_t>* sizes) {
  Collections collections(daemon);
  HOLDFAST_ASSIGN_OR_RETURN(const auto described,
                            collections.Describe(name, version));
  Collection collection;
  collection.daemon_ = std::move(daemon);
  collection.device_ = device;
  collection.name_ = name;
  const v1::VersionInfo& info = described.collection().versions(0);
  collection.version_ = info.version();
  collection.origin_ =
      absl::StrCat(info.session_id(), " ", info.committed().seconds());
  collection.metadata_.insert(described.metadata().begin(),
                              described.metadata().end());
  for (const v1::ArrayDescription& array : described.arrays()) {
    collection.arrays_.emplace(array.name(), ToArray(array));
  }
  sizes->assign(described.buffer_sizes().begin(),
                described.buffer_sizes().end());
  return collection;
}

absl::Status Collection::OpenBuffers(const std::vector<uint64_t>& sizes) {
  HOLDFAST_ASSIGN_OR_RETURN(buffers_,
                            device_->OpenCollection(name_, version_, sizes));
  return absl::OkStatus();
}

absl::StatusOr<Collection> Collection::Open(const Session& session,
                                            const std::string& name,
                                            uint64_t version,
                                            std::optional<uint32_t> device) {
  const Device on =
      session.device(device.value_or(session.state()->first_device));
  return Retry(
      version,
      [&](std::vector<uint64_t>* sizes) {
        return Describe(session.shared_daemon(), on, name, version, sizes);
      },
      [](Collection& found, const std::vector<uint64_t>& sizes) {
        return found.OpenBuffers(sizes);
      });
}

absl::StatusOr<Buffer> Collection::Array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) {
    return absl::NotFoundError(
        absl::StrCat("collection \"", name_, "\" has no array \"", name, "\""));
  }
  const CollectionArray& array = found->second;
  return buffers_[array.buffer].Sub(array.offset, array.size);
}

absl::Status Collection::Sleep() {
  if (asleep_) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(
      device_->session()->queue.CallWithoutResult([this](v1::Command& command) {
        v1::SleepCollection& sleep = *command.mutable_sleep_collection();
        for (const Buffer& buffer : buffers_) {
          sleep.add_buffers(buffer.handle());
        }
      }));
  asleep_ = true;
  return absl::OkStatus();
}

absl::Status Collection::WakeBuffers(Collection& sleeping,
                                     const std::vector<uint64_t>& sizes) {
  const auto woken = device_->session()->queue.Call([&](v1::Command& command) {
    v1::WakeCollection& wake = *command.mutable_wake_collection();
    wake.set_name(name_);
    wake.set_version(version_);
    for (const Buffer& buffer : sleeping.buffers_) {
      wake.add_buffers(buffer.handle());
    }
  });
  if (woken.ok()) {
    buffers_ = std::move(sleeping.buffers_);
    return absl::OkStatus();
  }
  // It has another number of buffers, or of other sizes.
  const bool moved = absl::IsFailedPrecondition(woken.status()) ||
                     absl::IsInvalidArgument(woken.status());
  return moved ? OpenBuffers(sizes) : woken.status();
}

absl::StatusOr<std::vector<std::string>> Collection::Wake(uint64_t version) {
  if (!asleep_) {
    return absl::FailedPreconditionError(
        absl::StrCat("collection \"", name_, "\" is awake"));
  }
  const bool same = version == kSame;
  if (same) version = version_;
  HOLDFAST_ASSIGN_OR_RETURN(
      Collection woken,
      Retry(
          version,
          [&](std::vector<uint64_t>* sizes) -> absl::StatusOr<Collection> {
            auto found = Describe(daemon_, *device_, name_, version, sizes);
            if (!same || !found.ok() || found->origin_ == origin_) return found;
            return absl::NotFoundError(absl::StrCat("collection \"", name_,
                                                    "\" was made anew: its "
                                                    "version ",
                                                    version,
                                                    " is another one"));
          },
          [this](Collection& found, const std::vector<uint64_t>& sizes) {
            return found.WakeBuffers(*this, sizes);
          }));
  // Buffers that are still here were not woken.
  std::vector<std::string> moved =
      buffers_.empty() ? Moved(arrays_, woken.arrays_) : NamesOf(arrays_);
  *this = std::move(woken);
  return moved;
}

}  // namespace holdfast
