// SPDX-License-Identifier: Apache-2.0
//
// The collections of a daemon.
#include "client/cpp/collection/collections.h"

#include <memory>
#include <string>
#include <utility>

#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/json.h"
#include "client/cpp/collection/collection_watch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/module_commands.pb.h"

using holdfast::Collections;
using holdfast::c::Give;
using holdfast::c::Guard;
using holdfast::c::Text;

struct hf_watch {
  hf_watch(std::shared_ptr<holdfast::Daemon> daemon, const std::string& name)
      : watch(std::move(daemon), name) {}

  holdfast::CollectionWatch watch;
  // The last change, whose name the caller sees.
  holdfast::v1::CollectionChange change;
};

extern "C" {

hf_error* hf_collections_list(hf_daemon* daemon, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto list,
                              Collections(daemon->daemon).List());
    return holdfast::c::GiveJson(list, json);
  });
}

hf_error* hf_collections_describe(hf_daemon* daemon, const char* name,
                                  uint64_t version, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, name, json);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto description,
        Collections(daemon->daemon).Describe(name, version));
    return holdfast::c::GiveJson(description, json);
  });
}

hf_error* hf_collections_delete(hf_daemon* daemon, const char* name,
                                uint64_t version, uint32_t* count) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, name, count);
    return Give(Collections(daemon->daemon).Delete(name, version), count);
  });
}

hf_error* hf_collections_configure(hf_daemon* daemon, const char* json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    holdfast::v1::ConfigureCollectionRequest request;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ReadJson(json, &request));
    return Collections(daemon->daemon).Configure(request);
  });
}

hf_error* hf_watch_start(hf_daemon* daemon, const char* name,
                         hf_watch** watch) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, watch);
    *watch = new hf_watch(daemon->daemon, Text(name));
    return absl::OkStatus();
  });
}

hf_error* hf_watch_next(hf_watch* watch, hf_change* change, const char** name,
                        uint64_t* version) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(watch, change, name, version);
    HOLDFAST_ASSIGN_OR_RETURN(watch->change, watch->watch.Next());
    *change = static_cast<hf_change>(watch->change.kind());
    *name = watch->change.name().c_str();
    *version = watch->change.version();
    return absl::OkStatus();
  });
}

const char* hf_watch_owner(const hf_watch* watch) {
  return watch->change.owner().c_str();
}

void hf_watch_cancel(hf_watch* watch) { watch->watch.Cancel(); }

void hf_watch_free(hf_watch* watch) { delete watch; }

}  // extern "C"
