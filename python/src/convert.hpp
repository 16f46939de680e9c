// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

// Conversion between Python objects and JSON. All functions need the GIL.

/// Returns the Python object for a JSON value: None, bool, int, float, str, list or dict. @{
[[nodiscard]] nb::object to_python(const json::value& from);
[[nodiscard]] nb::object to_python(const json::object& from);
/// @}
/// Returns a text as a Python str. Invalid UTF-8 is replaced.
[[nodiscard]] nb::object to_python(std::string_view text);

/// Returns the JSON form of a Python object: None, bool, int, float, str, list, tuple, and dict
/// with str keys. Subclasses count as their base classes.
/// @param where names the object in errors, e.g. `state['cart']`
/// @throws nb::type_error for other objects, with the place and the type; nb::value_error for
/// integers beyond 64 bits, numbers that are not finite, and objects that are nested too deeply
[[nodiscard]] json::value to_json(nb::handle from, const std::string& where);

/// Returns the form in which checkpoints store a Python object: JSON, if JSON represents it
/// exactly, otherwise `{"$msgpack": base64}` (superstep/_stored.py). Objects in lists and dicts
/// have their own forms.
/// @param pack packs other objects; by default with the allow list of the package
/// @throws nb::python_error with the place and the type of an object that cannot be stored
[[nodiscard]] json::value to_stored(nb::handle from, const std::string& where,
                                    nb::handle pack = {});
/// Returns the object of a stored form.
/// @param unpack the reverse of `pack`
/// @throws nb::python_error for a class that is not on the allow list
[[nodiscard]] nb::object from_stored(const json::value& from, nb::handle unpack = {});

/// Reads messages from a Python object in a form that messages_from_json() accepts.
/// @param where names the object in errors
/// @throws nb::value_error for an invalid message; what to_json() throws
[[nodiscard]] message_list read_messages(nb::handle from, const std::string& where = "messages");

/// Returns the JSON form of a dict; see to_json().
[[nodiscard]] json::object to_json_object(nb::handle from, const std::string& where);

/// Returns the characters of a Python str. Valid as long as the object.
/// @throws nb::type_error for another object, nb::value_error for a lone surrogate
[[nodiscard]] std::string_view text_of(nb::handle from, const std::string& where);

/// The largest number of nested lists and dicts that to_json() accepts, as in parse_json().
inline constexpr int depth_max = 200;

} // namespace superstep::python
