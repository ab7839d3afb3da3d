// SPDX-License-Identifier: Apache-2.0
//
// Definitions of graphs, as the daemon gets them.
#include <string>
#include <utility>
#include <vector>

#include "client/python/native/graph/graph.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

PyTypeObject* definition_type = nullptr;

bool ToIds(PyObject* sequence, std::vector<uint32_t>* ids) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  ids->reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    if (!item) return false;
    Number<uint32_t> id("id");
    if (!id.Take(item.get())) return false;
    ids->push_back(id);
  }
  return true;
}

bool ToDefault(PyObject* object, uint32_t* value, const uint32_t** given) {
  *given = nullptr;
  if (object == Py_None) return true;
  Number<uint32_t> number("default_value");
  if (!number.Take(object)) return false;
  *value = number;
  *given = value;
  return true;
}

namespace {

PyObject* MakeDefinition(PyObject*, PyObject*) {
  hf_definition* definition = nullptr;
  hf_error* const error = hf_definition_create(&definition);
  if (error != nullptr) return Raise(error);
  return Wrap<hf_definition, hf_definition_free>(definition_type, definition);
}

PyObject* Copy(PyObject* self, PyObject*) {
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  hf_definition* copy = nullptr;
  hf_error* const error = hf_definition_copy(definition.get(), &copy);
  if (error != nullptr) return Raise(error);
  return Wrap<hf_definition, hf_definition_free>(definition_type, copy);
}

// add(node, ids) -> id
PyObject* Add(PyObject* self, PyObject* arguments) {
  PyObject* which = nullptr;
  PyObject* before = nullptr;
  std::vector<uint32_t> after;
  if (!PyArg_ParseTuple(arguments, "OO", &which, &before) ||
      !CheckType(which, node_type, "a node") || !ToIds(before, &after)) {
    return nullptr;
  }
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  const UseNode node(which);
  if (!node) return nullptr;
  uint32_t id = 0;
  hf_error* const error = hf_definition_add(definition.get(), node.get(),
                                            after.data(), after.size(), &id);
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(id);
}

// set(id, node)
PyObject* Set(PyObject* self, PyObject* arguments) {
  Number<uint32_t> id("id");
  PyObject* which = nullptr;
  if (!PyArg_ParseTuple(arguments, "O&O", ToNumber, &id, &which) ||
      !CheckType(which, node_type, "a node")) {
    return nullptr;
  }
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  const UseNode node(which);
  if (!node) return nullptr;
  return NoneOrRaise(hf_definition_set(definition.get(), id, node.get()));
}

PyObject* CreateCondition(PyObject* self, PyObject* default_value) {
  uint32_t value = 0;
  const uint32_t* given = nullptr;
  if (!ToDefault(default_value, &value, &given)) return nullptr;
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  uint32_t condition = 0;
  hf_error* const error =
      hf_definition_create_condition(definition.get(), given, &condition);
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(condition);
}

// One entry of take(): (id, node, ids).
PyObject* Entry(const hf_definition* definition, size_t index) {
  uint32_t id = 0;
  hf_node* node = nullptr;
  const uint32_t* after = nullptr;
  size_t count = 0;
  hf_error* const error =
      hf_definition_node(definition, index, &id, &node, &after, &count);
  if (error != nullptr) return Raise(error);
  Ref wrapped(Wrap<hf_node, hf_node_free>(node_type, node));
  Ref ids(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!wrapped || !ids) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyTuple_SetItem(ids.get(), static_cast<Py_ssize_t>(i),
                    PyLong_FromUnsignedLong(after[i]));
  }
  return Py_BuildValue("(INN)", id, wrapped.release(), ids.release());
}

// take() -> [(id, node, ids)]: the nodes, which leave the definition; its
// conditions stay.
PyObject* Take(PyObject* self, PyObject*) {
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  Ref nodes(PyList_New(0));
  const size_t count = hf_definition_size(definition.get());
  std::vector<uint32_t> ids;
  for (size_t i = 0; nodes && i < count; ++i) {
    const Ref entry(Entry(definition.get(), i));
    if (!entry || PyList_Append(nodes.get(), entry.get()) != 0) return nullptr;
    ids.push_back(static_cast<uint32_t>(
        PyLong_AsUnsignedLong(PyTuple_GetItem(entry.get(), 0))));
  }
  // The last first, so that none has to be moved.
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    hf_error_free(hf_definition_remove(definition.get(), *id));
  }
  return nodes.release();
}

// names: [(handle, name)]
bool ToNames(PyObject* sequence, std::vector<std::string>* texts,
             std::vector<hf_handle_name>* names) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  texts->reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    Number<uint64_t> handle("handle");
    const char* name = nullptr;
    if (!item ||
        !PyArg_ParseTuple(item.get(), "O&s", ToNumber, &handle, &name)) {
      return false;
    }
    texts->emplace_back(name);
    names->push_back({handle, texts->back().c_str()});
  }
  return true;
}

PyObject* Text(PyObject* self, PyObject* sequence) {
  std::vector<std::string> texts;
  std::vector<hf_handle_name> names;
  if (!ToNames(sequence, &texts, &names)) return nullptr;
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  hf_text* text = nullptr;
  hf_error* const error =
      hf_definition_text(definition.get(), names.data(), names.size(), &text);
  return error != nullptr ? Raise(error) : TakeText(text);
}

// dot(names, title)
PyObject* Dot(PyObject* self, PyObject* arguments) {
  PyObject* sequence = nullptr;
  const char* title = nullptr;
  std::vector<std::string> texts;
  std::vector<hf_handle_name> names;
  if (!PyArg_ParseTuple(arguments, "Os", &sequence, &title) ||
      !ToNames(sequence, &texts, &names)) {
    return nullptr;
  }
  const UseDefinition definition(self);
  if (!definition) return nullptr;
  hf_text* dot = nullptr;
  hf_error* const error = hf_definition_dot(definition.get(), names.data(),
                                            names.size(), title, &dot);
  return error != nullptr ? Raise(error) : TakeText(dot);
}

PyMethodDef methods[] = {
    {"copy", Copy, METH_NOARGS, nullptr},
    {"add", Add, METH_VARARGS, nullptr},
    {"set", Set, METH_VARARGS, nullptr},
    {"create_condition", CreateCondition, METH_O, nullptr},
    {"take", Take, METH_NOARGS, nullptr},
    {"text", Text, METH_O, nullptr},
    {"dot", Dot, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_definition, hf_definition_free>)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"holdfast._native.Definition",
                    sizeof(Handle<hf_definition>), 0, Py_TPFLAGS_DEFAULT,
                    slots};

PyMethodDef functions[] = {
    {"make_definition", MakeDefinition, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddDefinitions(PyObject* module) {
  return AddType(module, &spec, &definition_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
