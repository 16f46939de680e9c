// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <boost/describe/class.hpp>

#include <string>
#include <vector>

namespace superstep {

/// A component of a user interface that a graph keeps up to date. A node sends it immediately with
/// `rt.emit(to_json(component))` and stores it in a state field whose reducer is add_ui_messages.
///
/// Source: `UIMessage` in LangGraph 1.2.22, graph/ui.py.
struct ui_message {
  std::string id;          ///< identifies the component in the list
  std::string name;        ///< name of the component type in the user interface
  json::object props;      ///< properties of the component
  json::object metadata;   ///< `merge: true` merges props; see add_ui_messages
  bool is_removal = false; ///< whether this message removes the component with the id
  friend bool operator==(const ui_message&, const ui_message&) = default;
};
BOOST_DESCRIBE_STRUCT(ui_message, (), (id, name, props, metadata, is_removal))

/// Returns a message that removes the component with this id. May be called from any thread.
[[nodiscard]] ui_message remove_ui_message(std::string id);
/// Returns the JSON form for user interfaces: {"type": "ui", …} or {"type": "remove-ui", "id": …}.
/// May be called from any thread.
[[nodiscard]] json::object to_json(const ui_message& part);

/// The reducer of a list of UI components. A component with a new id is appended. A component with
/// a known id replaces the old component. If the metadata of the new component contains `"merge":
/// true`, properties that only the old component has are kept.
///
/// @throws std::invalid_argument if a component to remove does not exist; `into` is then unchanged
///
/// Source: `ui_message_reducer` in LangGraph 1.2.22, graph/ui.py.
struct add_ui_messages {
  /// Applies the components of `more` to `into`.
  void operator()(std::vector<ui_message>& into, std::vector<ui_message>&& more) const;
};

} // namespace superstep
