// SPDX-License-Identifier: Apache-2.0
//
// Definitions of graphs.
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/graph/graph_handles.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/json.h"
#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/rebind.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/graph_commands.pb.h"

using holdfast::c::Guard;

namespace holdfast::c {
namespace {

absl::StatusOr<GraphNames> ToNames(const hf_handle_name* given, size_t count) {
  GraphNames names;
  if (count > 0) HF_REQUIRE(given);
  for (size_t i = 0; i < count; ++i) {
    HF_REQUIRE(given[i].name);
    // A handle says by its kind which of the three it is.
    names.kernels[given[i].handle] = given[i].name;
    names.buffers[given[i].handle] = given[i].name;
    names.events[given[i].handle] = given[i].name;
  }
  return names;
}

// A handle says by its kind of what it is, so that one list serves all.
GraphBinding ToBinding(std::span<const hf_handle_pair> handles) {
  GraphBinding binding;
  for (const hf_handle_pair& pair : handles) {
    binding.kernels[pair.from] = pair.to;
    binding.buffers[pair.from] = pair.to;
    binding.events[pair.from] = pair.to;
    binding.semaphores[pair.from] = pair.to;
  }
  return binding;
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_definition_create(hf_definition** definition) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition);
    *definition = new hf_definition;
    return absl::OkStatus();
  });
}

hf_error* hf_definition_copy(const hf_definition* definition,
                             hf_definition** copy) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, copy);
    *copy = new hf_definition(*definition);
    return absl::OkStatus();
  });
}

void hf_definition_free(hf_definition* definition) { delete definition; }

hf_error* hf_definition_add(hf_definition* definition, const hf_node* node,
                            const uint32_t* after, size_t after_count,
                            uint32_t* id) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, node, id);
    if (after_count > 0) HF_REQUIRE(after);
    HOLDFAST_ASSIGN_OR_RETURN(
        const holdfast::GraphNode added,
        definition->definition.Add(node->params,
                                   holdfast::c::ToNodes(after, after_count)));
    *id = added.id;
    return absl::OkStatus();
  });
}

hf_error* hf_definition_set(hf_definition* definition, uint32_t id,
                            const hf_node* node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, node);
    return definition->definition.Set({id}, node->params);
  });
}

hf_error* hf_definition_remove(hf_definition* definition, uint32_t id) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition);
    return definition->definition.Remove({id});
  });
}

hf_error* hf_definition_create_condition(hf_definition* definition,
                                         const uint32_t* default_value,
                                         uint32_t* condition) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, condition);
    *condition = definition->definition
                     .CreateCondition(default_value == nullptr
                                          ? std::optional<uint32_t>()
                                          : *default_value)
                     .id;
    return absl::OkStatus();
  });
}

size_t hf_definition_size(const hf_definition* definition) {
  return definition->definition.size();
}

hf_error* hf_definition_node(const hf_definition* definition, size_t index,
                             uint32_t* id, hf_node** node,
                             const uint32_t** after, size_t* after_count) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, id, after, after_count);
    const size_t size = definition->definition.size();
    if (index >= size) {
      return absl::OutOfRangeError(
          absl::StrCat("node number ", index, " of a definition of ", size));
    }
    const holdfast::DefinedNode found = definition->definition.node(index);
    if (node != nullptr) *node = new hf_node{found.params};
    *id = found.id;
    *after = found.after.data();
    *after_count = found.after.size();
    return absl::OkStatus();
  });
}

hf_error* hf_definition_text(const hf_definition* definition,
                             const hf_handle_name* names, size_t name_count,
                             hf_text** text) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, text);
    HOLDFAST_ASSIGN_OR_RETURN(const auto all,
                              holdfast::c::ToNames(names, name_count));
    return holdfast::c::Give(holdfast::ToString(definition->definition, all),
                             text);
  });
}

hf_error* hf_definition_json(const hf_definition* definition, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, json);
    return holdfast::c::GiveJson(definition->definition.proto(), json);
  });
}

hf_error* hf_definition_read(const char* json, hf_definition** definition) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(json, definition);
    holdfast::v1::GraphDefinition message;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ReadJson(json, &message));
    HOLDFAST_ASSIGN_OR_RETURN(auto read,
                              holdfast::GraphDefinition::FromProto(message));
    *definition = new hf_definition{std::move(read)};
    return absl::OkStatus();
  });
}

hf_error* hf_definition_rebind(const hf_definition* definition,
                               const hf_handle_pair* handles,
                               size_t handle_count, hf_definition** rebound) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, rebound);
    if (handle_count > 0) HF_REQUIRE(handles);
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made,
        holdfast::Rebind(definition->definition,
                         holdfast::c::ToBinding({handles, handle_count})));
    *rebound = new hf_definition{std::move(made)};
    return absl::OkStatus();
  });
}

hf_error* hf_definition_dot(const hf_definition* definition,
                            const hf_handle_name* names, size_t name_count,
                            const char* title, hf_text** dot) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(definition, dot);
    HOLDFAST_ASSIGN_OR_RETURN(const auto all,
                              holdfast::c::ToNames(names, name_count));
    return holdfast::c::Give(
        holdfast::ToDot(definition->definition, all,
                        title == nullptr ? "graph" : title),
        dot);
  });
}

}  // extern "C"
