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

/// A stored value whose channel has a different type in the current graph. The members are valid
/// during the call of the converter only.
struct outdated_value {
  std::string_view channel;
  std::string_view from_type; ///< name of the stored type
  std::string_view to_type;   ///< name of the channel's current type
  const json::value& held;    ///< the value in the stored type's JSON form
};
/// Converts a stored value to the JSON form of the channel's current type. Returns nullopt if it
/// cannot; the thread is then refused with checkpoint_errc::type_changed. Set by
/// compile_options::convert; called on the thread that loads the checkpoint.
using value_converter = std::function<std::optional<json::value>(const outdated_value&)>;

/// Maps the numbers in a checkpoint to the channels, nodes and joins of a compiled graph. Immutable
/// and shared by all checkpoints of that graph. It must not own a checkpointer: a checkpointer owns
/// checkpoints, which own their layout.
struct graph_layout {
  /// A node of the graph.
  struct node {
    std::string name;
    const value_form* input = nullptr; ///< form of a Send's input; null if it cannot be stored
  };
  /// An edge with several sources.
  struct join {
    std::vector<std::string> sources; ///< nodes that the join waits for
    std::uint32_t target = 0;         ///< index of the node that it triggers
  };

  std::string graph; ///< name of the graph
  std::vector<std::unique_ptr<const channel>> channels;
  std::vector<node> nodes;
  std::vector<join> joins;
  std::function<state_ptr()> make_state; ///< returns a new state with initial values
  value_converter convert;               ///< if empty, values of changed types are refused
  /// Extra error categories whose codes are stored with task exceptions, besides the standard ones
  /// and those of channels and checkpointers; codes of other categories are dropped.
  std::vector<const std::error_category*> error_categories;
};
using layout_ptr = std::shared_ptr<const graph_layout>;

} // namespace superstep
