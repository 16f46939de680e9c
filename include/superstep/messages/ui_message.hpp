// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <boost/describe/class.hpp>

#include <string>
#include <vector>

namespace superstep {

/// A part of a user interface that a graph keeps up to date: a component by name, and what it
/// shows. A body sends it at once with `rt.emit(to_json(part))`, and writes it to a field of its
/// state under the rule add_ui_messages.
struct ui_message {
  std::string id;
  std::string name; ///< of the component
  json::object props;
  json::object metadata;
  bool is_removal = false; ///< takes the part with this id away
  friend bool operator==(const ui_message&, const ui_message&) = default;
};
BOOST_DESCRIBE_STRUCT(ui_message, (), (id, name, props, metadata, is_removal))

[[nodiscard]] ui_message remove_ui_message(std::string id);
/// As interfaces read it: {"type": "ui", …} or {"type": "remove-ui", "id": …}.
[[nodiscard]] json::object to_json(const ui_message& part);

/// A part whose id is known takes the place of the one that has it; with `merge` true in its
/// metadata it keeps the properties that it does not name. Others are appended.
/// Throws std::invalid_argument when a part to take away does not exist; `into` stays as it was.
struct add_ui_messages {
  void operator()(std::vector<ui_message>& into, std::vector<ui_message>&& more) const;
};

} // namespace superstep
