// SPDX-License-Identifier: Apache-2.0
// Conversion between Python objects and JSON values.
#include "convert.hpp"

#include "api.hpp"
#include "types.hpp"

#include <superstep/messages/message_json.hpp>

#include <cmath>
#include <optional>
#include <utility>

namespace superstep::python {

namespace {

/// The place of an object inside the object that is converted. Written only for an error.
struct place {
  const std::string& root;
  PyObject* pack = nullptr; // packs values without a JSON form; null: they are errors
  const place* above = nullptr;
  nb::handle key{};      // of a dict
  Py_ssize_t index = -1; // of a list

  [[nodiscard]] std::string text() const {
    auto out = above != nullptr ? above->text() : root;
    if (key.is_valid())
      out += '[' + std::string{nb::repr(key).c_str()} + ']';
    else if (index >= 0)
      out += '[' + std::to_string(index) + ']';
    return out;
  }
};

[[noreturn]] void throw_type(const place& at, nb::handle from, const char* wanted) {
  const auto text = at.text() + " is " + type_text(from) + "; " + wanted;
  throw nb::type_error(text.c_str());
}

/// Returns the UTF-8 form of a str, as text_of() does.
std::string_view text_at(nb::handle from, const place& at) {
  if (!PyUnicode_Check(from.ptr()))
    throw_type(at, from, "it must be a str");
  auto size = Py_ssize_t{0};
  const auto* const text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
  if (text != nullptr)
    return {text, static_cast<std::size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0)
    throw nb::python_error();
  PyErr_Clear();
  const auto error = at.text() + " contains a lone surrogate, which UTF-8 cannot represent";
  throw nb::value_error(error.c_str());
}

json::value integer_of(nb::handle from, const place& at) {
  auto overflow = 0;
  const auto small = PyLong_AsLongLongAndOverflow(from.ptr(), &overflow);
  if (overflow == 0) {
    if (small == -1 && PyErr_Occurred())
      throw nb::python_error();
    return std::int64_t{small};
  }
  if (overflow > 0) {
    const auto large = PyLong_AsUnsignedLongLong(from.ptr());
    if (!PyErr_Occurred())
      return std::uint64_t{large};
    PyErr_Clear();
  }
  throw nb::value_error((at.text() + " is an int of more than 64 bits").c_str());
}

json::value value_of(nb::handle from, const place& at, int depth);

json::object object_of(nb::handle from, const place& at, int depth) {
  auto out = json::object{};
  const auto size = PyDict_Size(from.ptr());
  out.reserve(static_cast<std::size_t>(size));
  PyObject* next_key = nullptr;
  PyObject* next_value = nullptr;
  auto position = Py_ssize_t{0};
  while (PyDict_Next(from.ptr(), &position, &next_key, &next_value)) {
    // Packing runs Python code, so other threads may change the dict meanwhile.
    const auto key = nb::borrow(next_key);
    const auto value = nb::borrow(next_value);
    const auto here = place{at.root, at.pack, &at, key};
    if (!PyUnicode_Check(key.ptr()))
      throw_type(here, key, "keys must be str");
    out.emplace(text_at(key, here), value_of(value, here, depth + 1));
    if (PyDict_Size(from.ptr()) != size)
      throw nb::value_error((at.text() + " was changed while it was converted").c_str());
  }
  return out;
}

/// The only member of the JSON object for a packed value.
constexpr auto packed_key = std::string_view{"$msgpack"};

/// Whether a dict has only keys that a JSON object can have, and cannot be mistaken for a packed
/// value.
bool is_json_dict(PyObject* dict) {
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  auto position = Py_ssize_t{0};
  while (PyDict_Next(dict, &position, &key, &value))
    if (!PyUnicode_CheckExact(key))
      return false;
  return PyDict_GetItemString(dict, packed_key.data()) == nullptr;
}

/// Whether JSON represents an object exactly, apart from the objects in it.
bool is_json(PyObject* object) {
  if (object == Py_None || PyBool_Check(object) || PyUnicode_CheckExact(object) ||
      PyList_CheckExact(object))
    return true;
  if (PyLong_CheckExact(object)) {
    auto overflow = 0;
    static_cast<void>(PyLong_AsLongLongAndOverflow(object, &overflow));
    return overflow == 0;
  }
  if (PyFloat_CheckExact(object))
    return std::isfinite(PyFloat_AsDouble(object));
  return PyDict_CheckExact(object) && is_json_dict(object);
}

/// Returns the JSON object for a packed value; nullopt if the object is stored as its base class.
/// Throws the exception of Python for an object that cannot be stored.
std::optional<json::value> packed(nb::handle from, const place& at) {
  const auto text = nb::borrow(at.pack)(from, to_python(std::string_view{at.text()}));
  if (text.is_none())
    return std::nullopt;
  return json::object{{packed_key, json::string(text_of(text, at.root))}};
}

json::value value_of(nb::handle from, const place& at, int depth) {
  auto* const object = from.ptr();
  if (at.pack != nullptr && !is_json(object))
    if (auto made = packed(from, at))
      return *std::move(made);
  if (object == Py_None)
    return nullptr;
  if (PyUnicode_Check(object))
    return json::string(text_at(from, at));
  if (PyBool_Check(object))
    return object == Py_True;
  if (PyLong_Check(object))
    return integer_of(from, at);
  if (PyFloat_Check(object)) {
    const auto number = PyFloat_AsDouble(object);
    if (!std::isfinite(number))
      throw nb::value_error((at.text() + " is not a finite number").c_str());
    return number;
  }
  if (depth > depth_max)
    throw nb::value_error((at.root + " has more than 200 nested lists and dicts").c_str());
  if (PyDict_Check(object))
    return object_of(from, at, depth);
  if (!PyList_Check(object) && !PyTuple_Check(object))
    throw_type(at, from, "it must consist of None, bool, int, float, str, list and dict");
  auto out = json::array{};
  out.reserve(static_cast<std::size_t>(PySequence_Size(object)));
  for (auto i = Py_ssize_t{0}; i < PySequence_Size(object); ++i) {
    const auto item = nb::borrow(item_at(object, i));
    out.push_back(value_of(item, place{at.root, at.pack, &at, {}, i}, depth + 1));
  }
  return out;
}

} // namespace

nb::object to_python(std::string_view text) {
  auto* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr)
    throw nb::python_error();
  return nb::steal(made);
}

namespace {

/// @param unpack makes the object of a packed value; null: packed values are not recognized
nb::object object_from(const json::value& from, PyObject* unpack);

nb::object dict_from(const json::object& from, PyObject* unpack) {
  if (unpack != nullptr && from.size() == 1 && from.begin()->key() == packed_key &&
      from.begin()->value().is_string())
    return nb::borrow(unpack)(to_python(std::string_view{from.begin()->value().get_string()}));
  auto out = nb::dict();
  for (const auto& [key, value] : from) {
    const auto name = to_python(std::string_view{key});
    if (PyDict_SetItem(out.ptr(), name.ptr(), object_from(value, unpack).ptr()) != 0)
      throw nb::python_error();
  }
  return out;
}

nb::object object_from(const json::value& from, PyObject* unpack) {
  switch (from.kind()) {
  case json::kind::null:
    return nb::none();
  case json::kind::bool_:
    return nb::bool_(from.get_bool());
  case json::kind::int64:
    return nb::int_(from.get_int64());
  case json::kind::uint64:
    return nb::int_(from.get_uint64());
  case json::kind::double_:
    return nb::float_(from.get_double());
  case json::kind::string:
    return to_python(std::string_view{from.get_string()});
  case json::kind::object:
    return dict_from(from.get_object(), unpack);
  case json::kind::array:
    break;
  }
  const auto& items = from.get_array();
  auto out = nb::steal(PyList_New(static_cast<Py_ssize_t>(items.size())));
  if (!out.is_valid())
    throw nb::python_error();
  for (auto i = std::size_t{0}; i < items.size(); ++i)
    PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(i),
                   object_from(items[i], unpack).release().ptr());
  return out;
}

} // namespace

nb::object to_python(const json::object& from) {
  return dict_from(from, nullptr);
}

nb::object to_python(const json::value& from) {
  return object_from(from, nullptr);
}

nb::object from_stored(const json::value& from, nb::handle unpack) {
  return object_from(from, unpack.is_valid() ? unpack.ptr() : types().unpack);
}

std::string_view text_of(nb::handle from, const std::string& where) {
  return text_at(from, place{where});
}

json::value to_json(nb::handle from, const std::string& where) {
  return value_of(from, place{where}, 0);
}

json::value to_stored(nb::handle from, const std::string& where, nb::handle pack) {
  return value_of(from, place{where, pack.is_valid() ? pack.ptr() : types().pack}, 0);
}

json::object to_json_object(nb::handle from, const std::string& where) {
  const auto at = place{where};
  if (!PyDict_Check(from.ptr()))
    throw_type(at, from, "it must be a dict");
  return object_of(from, at, 0);
}

message_list read_messages(nb::handle from, const std::string& where) {
  auto read = messages_from_json(to_json(from, where), where);
  if (!read)
    throw nb::value_error(read.error().text.c_str());
  return *std::move(read);
}

} // namespace superstep::python
