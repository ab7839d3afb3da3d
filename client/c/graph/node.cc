// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs, before they are part of one.
#include <span>
#include <utility>
#include <vector>

#include "client/c/arguments.h"
#include "client/c/error.h"
#include "client/c/graph/graph_handles.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/json.h"
#include "client/cpp/box_copy.h"
#include "client/cpp/graph/nested_nodes.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/graph_commands.pb.h"

using holdfast::NodeParams;
using holdfast::c::Guard;

namespace holdfast::c {
namespace {

// Hands the node over, unless its parameters are wrong.
absl::Status GiveNode(NodeParams params, hf_node** out) {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  *out = new hf_node{std::move(params)};
  return absl::OkStatus();
}

BoxRange ToRange(const hf_box_range& range) {
  return {range.buffer->buffer, range.offset, range.row_pitch,
          range.slice_pitch};
}

}  // namespace
}  // namespace holdfast::c

using holdfast::c::GiveNode;

extern "C" {

hf_error* hf_node_launch(const hf_launch_config* config,
                         const hf_kernel* kernel, const hf_argument* arguments,
                         size_t argument_count, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(config, kernel, node);
    if (argument_count > 0) HF_REQUIRE(arguments);
    holdfast::LaunchConfig all;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToConfig(*config, all));
    holdfast::c::Arguments values;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToArguments(
        {arguments, argument_count}, kernel->session, values));
    return GiveNode(
        holdfast::KernelNode(all, kernel->kernel,
                             std::span<const holdfast::Argument>(values)),
        node);
  });
}

hf_error* hf_node_copy(const hf_range_copy* copy, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(copy, node);
    HF_REQUIRE(copy->destination, copy->source);
    return GiveNode(holdfast::CopyNode(holdfast::RangeCopy{
                        copy->destination->buffer, copy->destination_offset,
                        copy->source->buffer, copy->source_offset, copy->size}),
                    node);
  });
}

hf_error* hf_node_copy_box(const hf_box_range* destination,
                           const hf_box_range* source, uint64_t width,
                           uint64_t height, uint64_t depth, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(destination, source, node);
    HF_REQUIRE(destination->buffer, source->buffer);
    return GiveNode(holdfast::CopyBoxNode({width, height, depth},
                                          holdfast::c::ToRange(*destination),
                                          holdfast::c::ToRange(*source)),
                    node);
  });
}

hf_error* hf_node_fill(const hf_buffer* buffer, uint64_t offset, uint64_t size,
                       const void* pattern, size_t pattern_size,
                       hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, pattern, node);
    return GiveNode(holdfast::FillBytesNode(buffer->buffer, pattern,
                                            pattern_size, offset, size),
                    node);
  });
}

hf_error* hf_node_fill_rows(const hf_box_range* range, uint64_t width,
                            uint64_t height, const void* pattern,
                            size_t pattern_size, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(range, pattern, node);
    HF_REQUIRE(range->buffer);
    return GiveNode(
        holdfast::FillRowBytesNode(pattern, pattern_size,
                                   holdfast::c::ToRange(*range), width, height),
        node);
  });
}

hf_error* hf_node_place_copy(const hf_place* destination,
                             const hf_place* source, uint64_t size,
                             hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(node);
    HOLDFAST_ASSIGN_OR_RETURN(const auto to, holdfast::c::ToPlace(destination));
    HOLDFAST_ASSIGN_OR_RETURN(const auto from, holdfast::c::ToPlace(source));
    return GiveNode(holdfast::CopyNode(to, from, size), node);
  });
}

hf_error* hf_node_place_fill(const hf_place* destination, uint64_t width,
                             uint64_t height, uint64_t pitch,
                             const void* pattern, size_t pattern_size,
                             hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(pattern, node);
    HOLDFAST_ASSIGN_OR_RETURN(const auto to, holdfast::c::ToPlace(destination));
    return GiveNode(
        holdfast::FillNode(to, {width, height, pitch},
                           {static_cast<const char*>(pattern), pattern_size}),
        node);
  });
}

hf_error* hf_node_record(const hf_event* event, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event, node);
    return GiveNode(holdfast::RecordNode(event->event), node);
  });
}

hf_error* hf_node_wait(const hf_event* event, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event, node);
    return GiveNode(holdfast::WaitNode(event->event), node);
  });
}

hf_error* hf_node_signal(const hf_semaphore* semaphore, uint64_t value,
                         hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, node);
    return GiveNode(holdfast::SignalNode(semaphore->semaphore, value), node);
  });
}

hf_error* hf_node_await(const hf_semaphore* semaphore, uint64_t value,
                        hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, node);
    return GiveNode(holdfast::WaitNode(semaphore->semaphore, value), node);
  });
}

hf_error* hf_node_empty(hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(node);
    return GiveNode(holdfast::EmptyNode(), node);
  });
}

hf_error* hf_node_allocation(const hf_buffer* memory, uint32_t device,
                             const uint32_t* accessible_from, size_t count,
                             hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(memory, node);
    if (count > 0) HF_REQUIRE(accessible_from);
    const std::vector<uint32_t> others(accessible_from,
                                       accessible_from + count);
    return GiveNode(holdfast::AllocationNode(memory->buffer, device, others),
                    node);
  });
}

hf_error* hf_node_release(const hf_buffer* memory, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(memory, node);
    return GiveNode(holdfast::FreeNode(memory->buffer), node);
  });
}

hf_error* hf_node_child(const hf_definition* child, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(child, node);
    return GiveNode(holdfast::ChildNode(child->definition), node);
  });
}

hf_error* hf_node_if(uint32_t condition, const hf_definition* then,
                     const hf_definition* otherwise, hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(then, node);
    const holdfast::GraphCondition tested = {condition};
    return GiveNode(otherwise == nullptr
                        ? holdfast::IfNode(tested, then->definition)
                        : holdfast::IfElseNode(tested, then->definition,
                                               otherwise->definition),
                    node);
  });
}

hf_error* hf_node_while(uint32_t condition, const hf_definition* body,
                        hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(body, node);
    return GiveNode(holdfast::WhileNode({condition}, body->definition), node);
  });
}

hf_error* hf_node_switch(uint32_t condition,
                         const hf_definition* const* branches, size_t count,
                         hf_node** node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(node);
    if (count > 0) HF_REQUIRE(branches);
    std::vector<holdfast::GraphDefinition> all;
    for (size_t i = 0; i < count; ++i) {
      HF_REQUIRE(branches[i]);
      all.push_back(branches[i]->definition);
    }
    return GiveNode(holdfast::SwitchNode({condition}, all), node);
  });
}

void hf_node_set_device(hf_node* node, uint32_t device) {
  node->params = std::move(node->params).On(device);
}

hf_error* hf_node_describe(const hf_node* node, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(node, json);
    return holdfast::c::GiveJson(node->params.proto(), json);
  });
}

void hf_node_free(hf_node* node) { delete node; }

hf_error* hf_buffer_of_graph(hf_session* session, uint64_t size,
                             hf_buffer** memory) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, memory);
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made, holdfast::Buffer::OfGraph(session->session->state(), size));
    return holdfast::c::Give(std::move(made), memory);
  });
}

}  // extern "C"
