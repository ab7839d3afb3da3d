// SPDX-License-Identifier: Apache-2.0
//
// Collections that a session has open, and those that it writes.
#include "client/cpp/collection/collection.h"

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

struct hf_collection {
  explicit hf_collection(holdfast::Collection opened)
      : collection(std::move(opened)) {
    ListArrays();
  }
  void ListArrays() {
    arrays.clear();
    for (const auto& named : collection.arrays()) arrays.push_back(&named);
  }

  holdfast::Collection collection;
  // Those of the collection, by name; anew after a wake.
  std::vector<const std::pair<const std::string, holdfast::CollectionArray>*>
      arrays;
  std::vector<std::string> moved;  // by the last wake
};

struct hf_collection_writer {
  holdfast::CollectionWriter writer;
};

struct hf_write_claim {
  std::unique_ptr<holdfast::WriteClaim> claim;
};

namespace holdfast::c {
namespace {

absl::StatusOr<std::vector<ArraySpec>> ToSpecs(const hf_array* arrays,
                                               size_t count) {
  if (count > 0) HF_REQUIRE(arrays);
  std::vector<ArraySpec> specs;
  for (size_t i = 0; i < count; ++i) {
    const hf_array& array = arrays[i];
    HF_REQUIRE(array.name, array.dtype);
    if (array.rank > 0) HF_REQUIRE(array.shape);
    specs.push_back(
        {array.name, array.dtype,
         std::vector<uint64_t>(array.shape, array.shape + array.rank)});
  }
  return specs;
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_collection_open(hf_session* session, uint32_t device,
                             const char* name, uint64_t version,
                             hf_collection** collection) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, name, collection);
    HOLDFAST_ASSIGN_OR_RETURN(
        auto opened,
        holdfast::Collection::Open(*session->session, name, version, device));
    *collection = new hf_collection(std::move(opened));
    return absl::OkStatus();
  });
}

void hf_collection_free(hf_collection* collection) { delete collection; }

uint64_t hf_collection_version(const hf_collection* collection) {
  return collection->collection.version();
}

size_t hf_collection_array_count(const hf_collection* collection) {
  return collection->arrays.size();
}

hf_array hf_collection_array_at(const hf_collection* collection, size_t index) {
  const auto& [name, array] = *collection->arrays[index];
  return {name.c_str(), array.dtype.c_str(), array.shape.data(),
          array.shape.size(), array.size};
}

const int64_t* hf_collection_array_strides(const hf_collection* collection,
                                           size_t index) {
  const auto& strides = collection->arrays[index]->second.strides;
  return strides.empty() ? nullptr : strides.data();
}

void hf_collection_array_place(const hf_collection* collection, size_t index,
                               size_t* buffer, uint64_t* offset) {
  const holdfast::CollectionArray& array = collection->arrays[index]->second;
  *buffer = array.buffer;
  *offset = array.offset;
}

size_t hf_collection_buffer_count(const hf_collection* collection) {
  return collection->collection.buffers().size();
}

hf_error* hf_collection_buffer(const hf_collection* collection, size_t index,
                               hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(collection, buffer);
    const auto& buffers = collection->collection.buffers();
    if (index >= buffers.size()) {
      return absl::OutOfRangeError(
          absl::StrCat("buffer ", index, " of ", buffers.size()));
    }
    HOLDFAST_ASSIGN_OR_RETURN(auto whole,
                              buffers[index].Sub(0, buffers[index].size()));
    return Give(std::move(whole), buffer);
  });
}

hf_error* hf_collection_array(const hf_collection* collection, const char* name,
                              hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(collection, name, buffer);
    HOLDFAST_ASSIGN_OR_RETURN(auto part, collection->collection.Array(name));
    return Give(std::move(part), buffer);
  });
}

hf_error* hf_collection_sleep(hf_collection* collection) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(collection);
    return collection->collection.Sleep();
  });
}

hf_error* hf_collection_wake(hf_collection* collection, uint64_t version,
                             size_t* moved) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(collection, moved);
    HOLDFAST_ASSIGN_OR_RETURN(collection->moved,
                              collection->collection.Wake(version));
    collection->ListArrays();
    *moved = collection->moved.size();
    return absl::OkStatus();
  });
}

const char* hf_collection_moved_at(const hf_collection* collection,
                                   size_t index) {
  return collection->moved[index].c_str();
}

size_t hf_collection_metadata_count(const hf_collection* collection) {
  return collection->collection.metadata().size();
}

const char* hf_collection_metadata_at(const hf_collection* collection,
                                      size_t index, const char** value) {
  const auto& [key, text] =
      *std::next(collection->collection.metadata().begin(),
                 static_cast<std::ptrdiff_t>(index));
  *value = text.c_str();
  return key.c_str();
}

hf_error* hf_collection_writer_create(hf_session* session, uint32_t device,
                                      const hf_array* arrays, size_t count,
                                      hf_collection_writer** writer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, writer);
    HOLDFAST_ASSIGN_OR_RETURN(const auto specs,
                              holdfast::c::ToSpecs(arrays, count));
    return Give(
        holdfast::CollectionWriter::Create(*session->session, specs, device),
        writer);
  });
}

void hf_collection_writer_free(hf_collection_writer* writer) { delete writer; }

hf_error* hf_collection_writer_array(const hf_collection_writer* writer,
                                     size_t index, hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(writer, buffer);
    HOLDFAST_ASSIGN_OR_RETURN(auto part, writer->writer.Array(index));
    return Give(std::move(part), buffer);
  });
}

hf_error* hf_collection_writer_adopt(hf_collection_writer* writer,
                                     const hf_collection* collection,
                                     const char* array) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(writer, collection, array);
    return writer->writer.Adopt(collection->collection, array);
  });
}

hf_error* hf_collection_writer_commit(hf_collection_writer* writer,
                                      const char* name,
                                      const hf_named_bytes* metadata,
                                      size_t metadata_count,
                                      uint64_t* version) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(writer, name, version);
    if (metadata_count > 0) HF_REQUIRE(metadata);
    std::map<std::string, std::string> texts;
    for (size_t i = 0; i < metadata_count; ++i) {
      HF_REQUIRE(metadata[i].name);
      if (metadata[i].size > 0) HF_REQUIRE(metadata[i].data);
      texts[metadata[i].name] = std::string(
          static_cast<const char*>(metadata[i].data), metadata[i].size);
    }
    return Give(writer->writer.Commit(name, texts), version);
  });
}

hf_error* hf_write_claim_wait(hf_session* session, const char* name,
                              hf_write_claim** claim) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, name, claim);
    return Give(holdfast::WriteClaim::Wait(*session->session, name), claim);
  });
}

bool hf_write_claim_writes(const hf_write_claim* claim) {
  return claim->claim->writes();
}

void hf_write_claim_free(hf_write_claim* claim) { delete claim; }

}  // extern "C"
