// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace superstep {

/// A value of a checkpoint whose channel has another type now.
struct outdated_value {
  std::string_view channel;
  std::string_view from_type;
  std::string_view to_type;
  const json::value& held;
};
/// Turns it into what the channel's type reads; nothing: it cannot, and the thread is refused.
using value_converter = std::function<std::optional<json::value>(const outdated_value&)>;

/// What the numbers in a checkpoint mean: the channels, nodes and joins of the table that a graph
/// was compiled to. Checkpoints hold on to it, so it holds no saver. Immutable.
struct graph_layout {
  struct node {
    std::string name;
    const value_form* input = nullptr; ///< of a Send to it; null: it cannot be kept
  };
  struct join {
    std::vector<std::string> sources;
    std::uint32_t target = 0;
  };

  std::string graph; ///< its name
  std::vector<std::unique_ptr<const channel>> channels;
  std::vector<node> nodes;
  std::vector<join> joins;
  std::function<state_ptr()> make_state;
  value_converter convert; ///< empty: values of changed types are refused
  /// Of the codes that its tasks' exceptions may have, besides the standard ones and those of the
  /// channels and savers: codes of other categories are not kept.
  std::vector<const std::error_category*> error_categories;
};
using layout_ptr = std::shared_ptr<const graph_layout>;

} // namespace superstep
