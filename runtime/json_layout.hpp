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

/// The types of a JSON channel's slot and of its writes.
enum class json_kind : std::uint8_t {
  single, ///< slot: std::optional<json::value>; a write is the new value
  /// slot: std::optional<json::value>; a write is combined with the value, or overwrites it
  folded,
  appended, ///< slot: appended_json; a write adds the items of a list, or overwrites the value
  managed,  ///< the slot is never filled: the engine computes the value for each node that reads it
  items,    ///< slot: std::vector<json::value>; a write adds items, see json_items
};

/// Converts a write to a topic into items: a list adds each of its items, any other value is one
/// item.
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
  /// channel number, and whether its rule is `is_last_step` (otherwise `remaining_steps`)
  std::vector<std::pair<std::uint32_t, bool>> managed;
  slot_block blank;
  bool ignore_unknown = false;
  /// shapes by channel name; empty unless the graph checks what its nodes read
  std::vector<std::pair<std::string, json_shape>> shapes;
  std::vector<std::uint32_t> input;  ///< channels that an input may set, sorted
  std::vector<std::uint32_t> output; ///< channels that a caller sees, sorted

  /// Returns the values of the channels in `only` (of all channels if it is empty), in the order of
  /// declaration. Channels without a value are left out.
  [[nodiscard]] json::object read(const state_block&, const std::vector<std::uint32_t>& only) const;
  /// Returns the values that a node reads from a state, including those of managed channels.
  [[nodiscard]] json::object input_of(const body_input&, const state_block&,
                                      const std::vector<std::uint32_t>& only) const;
  /// Throws graph_error if a value that a node is about to read does not match the shape of its
  /// channel.
  void check(const json::value& given) const;
  /// Whether the engine computes the value of a channel, so that it cannot be written.
  [[nodiscard]] bool is_read_only(std::uint32_t number) const {
    return channels[number].kind == json_kind::managed;
  }
  /// Creates a write. Only channels with a reducer recognise an overwrite; other channels store the
  /// object as their value.
  [[nodiscard]] write write_of(std::uint32_t number, json::value v) const;
  /// Converts an update to writes. Throws graph_error if the update is neither an object nor null.
  /// Unless ignore_unknown is set, also throws for an unknown or a managed channel.
  [[nodiscard]] write_list writes_of(json::value update) const;
  /// Returns the members of a node's update that the node's routers see in addition to the channels
  /// that the node reads. These are members that the node does not read, and members whose channels
  /// stay empty. Null if there are none.
  [[nodiscard]] std::shared_ptr<const json::object>
  unread_members(const json::value& update, const std::vector<std::uint32_t>& reads) const;
  /// Returns a write as JSON.
  [[nodiscard]] json::value value_of(const write&) const;
};

/// A named reducer and the initial value of its channel.
struct json_rule {
  json_reducer reduce;
  json::value initial;
};
/// Returns the reducer with this name; empty if there is no such reducer. The rule `append` is not
/// among them, because its channels are json_append_channels.
[[nodiscard]] std::optional<json_rule> find_json_rule(std::string_view name);
/// Throws std::invalid_argument: a rule cannot combine a value, which the text shows up to a length
/// of 80 bytes.
[[noreturn]] void throw_unfit_json(const char* rule, const char* wants, const json::value& got);

} // namespace superstep::detail
