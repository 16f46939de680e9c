// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The form in which a JSON channel's slot holds its value, and the form of its writes.
enum class json_kind : std::uint8_t {
  single,  ///< std::optional<json::value>; a write is the value
  folded,  ///< std::optional<json::value>; a write may be an overwrite
  managed, ///< no value: the engine provides it to the nodes that read it
  items,   ///< std::vector<json::value>; see json_items
};

/// Converts a write to a topic into items: a list contributes its items, any other value itself.
struct json_items {
  using written = json::value;
  std::vector<json::value> operator()(json::value&& v) const;
};

/// The channels of a JSON graph by name. Immutable once the graph is compiled.
struct json_layout {
  struct entry {
    std::string name;
    json_kind kind;
  };
  std::vector<entry> channels; ///< entry i describes slot i and channel i
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  std::vector<std::pair<std::uint32_t, bool>> managed; ///< channel, and whether it is is_last_step
  slot_block blank;
  bool ignore_unknown = false;
  /// by channel; empty unless inputs are checked
  std::vector<std::pair<std::string, json_shape>> shapes;
  std::vector<std::uint32_t> input;  ///< channels that an input may set, sorted
  std::vector<std::uint32_t> output; ///< channels that a caller sees, sorted

  /// Returns the channels in `only` (all if empty) that hold a value, in the order of declaration.
  [[nodiscard]] json::object read(const state_block&, const std::vector<std::uint32_t>& only) const;
  /// Returns the channels that a node reads from a state, including managed ones.
  [[nodiscard]] json::object input_of(const body_input&, const state_block&,
                                      const std::vector<std::uint32_t>& only) const;
  /// Throws graph_error if a value that a node is about to read does not match the shape of its
  /// channel.
  void check(const json::value& given) const;
  /// Turns an update into writes. Throws graph_error if it is not an object or null, or names an
  /// unknown channel.
  [[nodiscard]] write_list writes_of(json::value update) const;
  /// Returns the members of an update that a branch sees in addition to the channels that its node
  /// reads: members that the node does not read, and members whose channels remain empty. Null if
  /// there are none.
  [[nodiscard]] std::shared_ptr<const json::object>
  unread_members(const json::value& update, const std::vector<std::uint32_t>& reads) const;
  /// Returns a write as JSON.
  [[nodiscard]] json::value value_of(const write&) const;
};

/// A reducer and the value that it starts from.
struct json_rule {
  json_reducer reduce;
  json::value initial;
};
/// Returns the reducer with this name, or nothing if there is none.
[[nodiscard]] std::optional<json_rule> find_json_rule(std::string_view name);

} // namespace superstep::detail
