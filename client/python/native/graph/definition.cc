// SPDX-License-Identifier: Apache-2.0
//
// Definitions of graphs, as the daemon gets them.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "client/python/native/graph/graph.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

hf_error* Add(hf_definition* definition, const hf_node* node,
              const std::vector<uint32_t>& after, uint32_t* id) {
  return hf_definition_add(definition, node, after.data(), after.size(), id);
}

hf_error* CreateCondition(hf_definition* definition,
                          const std::optional<uint32_t>& default_value,
                          uint32_t* condition) {
  return hf_definition_create_condition(
      definition, default_value.has_value() ? &*default_value : nullptr,
      condition);
}

// One entry of take(): (id, node, ids).
PyObject* Entry(const hf_definition* definition, size_t index, uint32_t* id) {
  hf_node* node = nullptr;
  const uint32_t* after = nullptr;
  size_t count = 0;
  hf_error* const error =
      hf_definition_node(definition, index, id, &node, &after, &count);
  if (error != nullptr) return Raise(error);
  return Result<std::tuple<uint32_t, hf_node*, std::vector<uint32_t>>>::Make(
      {*id, node, {after, after + count}});
}

// -> [(id, node, ids)]: the nodes, which leave the definition; its conditions
// stay.
PyObject* Take(hf_definition* definition) {
  Ref nodes(PyList_New(0));
  std::vector<uint32_t> ids(hf_definition_size(definition));
  for (size_t i = 0; nodes && i < ids.size(); ++i) {
    const Ref entry(Entry(definition, i, &ids[i]));
    if (!entry || PyList_Append(nodes.get(), entry.get()) != 0) return nullptr;
  }
  // The last first, so that none has to be moved.
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    hf_error_free(hf_definition_remove(definition, *id));
  }
  return nodes.release();
}

// Pairs of a handle and its name.
using Names = std::vector<std::tuple<uint64_t, std::string>>;

std::vector<hf_handle_name> Pointers(const Names& names) {
  std::vector<hf_handle_name> pointers;
  pointers.reserve(names.size());
  for (const auto& [handle, name] : names) {
    pointers.push_back({handle, name.c_str()});
  }
  return pointers;
}

hf_error* Text(const hf_definition* definition, const Names& names,
               hf_text** text) {
  const auto pointers = Pointers(names);
  return hf_definition_text(definition, pointers.data(), pointers.size(), text);
}

hf_error* Dot(const hf_definition* definition, const Names& names,
              const char* title, hf_text** dot) {
  const auto pointers = Pointers(names);
  return hf_definition_dot(definition, pointers.data(), pointers.size(), title,
                           dot);
}

PyMethodDef methods[] = {
    Method<"copy", kQuick<hf_definition_copy>>(),
    Method<"add", kQuick<Add>, "node", "id">(),
    Method<"set", kQuick<hf_definition_set>, "id", "node">(),
    Method<"create_condition", kQuick<CreateCondition>, "default_value">(),
    Method<"take", Take>(),
    Method<"text", kQuick<Text>, "handle">(),
    Method<"dot", kQuick<Dot>, "handle", "title">(),
    {},
};

PyMethodDef functions[] = {
    Function<"make_definition", kQuick<hf_definition_create>>(),
    {},
};

}  // namespace

bool AddDefinitions(PyObject* module) {
  return AddClass<hf_definition>(module,
                                 {"holdfast._native.Definition", methods}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
