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

/// How the value of a JSON channel lies in its slot and what a write to it is.
enum class json_kind : std::uint8_t {
  single,  ///< std::optional<json::value>; written as it is
  folded,  ///< the same, but a write may say that it overwrites
  managed, ///< nothing: the engine tells it to the nodes that read it
  items,   ///< std::vector<json::value>; a list contributes its items, anything else itself
};

/// What is written to a topic: a list contributes its items, anything else itself.
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
  std::vector<entry> channels; ///< number i is slot i and channel i
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  std::vector<std::pair<std::uint32_t, bool>> managed; ///< channel, and whether it is is_last_step
  slot_block blank;
  bool ignore_unknown = false;
  std::vector<std::pair<std::string, json_shape>> shapes; ///< of channels; empty: nobody asked
  std::vector<std::uint32_t> input;  ///< channels that an input may set, sorted
  std::vector<std::uint32_t> output; ///< channels that a caller sees, sorted

  /// The named channels that hold something (empty list: all), in the order of declaration.
  [[nodiscard]] json::object read(const state_block&, const std::vector<std::uint32_t>& only) const;
  /// The channels that a node reads of a state, managed ones included.
  [[nodiscard]] json::object input_of(const body_input&, const state_block&,
                                      const std::vector<std::uint32_t>& only) const;
  /// Throws graph_error: what a node is about to read has another shape than its channel.
  void check(const json::value& given) const;
  /// The writes of an update; throws graph_error for what is no update or names no channel.
  [[nodiscard]] write_list writes_of(json::value update) const;
  /// The members of an update that a branch sees beside what its node reads: those that are not
  /// read, and those whose channels stay empty all the same. Null: none.
  [[nodiscard]] std::shared_ptr<const json::object>
  unread_members(const json::value& update, const std::vector<std::uint32_t>& reads) const;
  /// What a write says, as JSON.
  [[nodiscard]] json::value value_of(const write&) const;
};

/// A reducer and the value that it starts from.
struct json_rule {
  json_reducer reduce;
  json::value initial;
};
/// The reducers that have names; nothing for any other name.
[[nodiscard]] std::optional<json_rule> find_json_rule(std::string_view name);

} // namespace superstep::detail
