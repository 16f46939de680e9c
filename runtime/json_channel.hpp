// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json_layout.hpp"

#include <superstep/channels/channel.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// A channel of a json_graph, and its empty slot.
struct json_channel {
  std::unique_ptr<superstep::channel> channel;
  std::unique_ptr<slot_block::slot> slot;
  json_kind kind = json_kind::single;
};

/// Creates a channel with a named rule that is not a reducer; those are in find_json_rule().
/// Returns nothing if the rule is unknown.
/// @param number the number of the channel and of its slot
[[nodiscard]] std::optional<json_channel>
make_json_channel(const std::string& name, std::string_view rule, std::size_t number);

/// Returns the text of the fault that a channel has an unknown rule. It lists all rules.
[[nodiscard]] std::string unknown_rule(const std::string& channel, std::string_view rule);

} // namespace superstep::detail
