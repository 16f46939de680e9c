// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/value.hpp>
#include <superstep/runtime/detail/exact.hpp>
#include <superstep/runtime/program.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// The name of a node and the type of its input, declared once as a constant:
/// `constexpr node<chat> agent{"agent"};`. A node whose input is not the state is activated by
/// Sends only. The name is a view and must outlive the graph's construction.
template <class Input>
struct node {
  std::string_view name;

  constexpr node(std::string_view text) noexcept : name{text} {}
  constexpr node(const char* text) noexcept : name{text} {}
  node(const std::string&&) = delete; // the name would dangle
};

/// The entry of a graph: the source of the first edges, and never a target.
inline constexpr auto start = start_node;
/// The end of a graph: a target that activates no node.
inline constexpr auto end = end_node;

/// A node to activate, or a Send: a node with an input of its own (`Send` in langgraph/types.py).
/// Names are views: of node constants, or of text that outlives the call that uses the destination.
class destination {
public:
  destination(std::string_view name) noexcept : name_{name} {}
  destination(const char* name) noexcept : name_{name} {}
  destination(const std::string&&) = delete; // the name would dangle
  template <class Input>
  destination(node<Input> to) noexcept : name_{to.name} {}
  /// Creates a Send. The type of the payload is checked against the node's at compile time.
  template <class Input>
  destination(node<Input> to, detail::written_as<Input> input)
      : name_{to.name}, input_{detail::unwrap<Input>(std::move(input))} {}

  /// The name of the node.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Whether the destination has an input of its own.
  [[nodiscard]] bool is_send() const noexcept { return input_.has_value(); }
  /// Sets the timeout of each attempt of a Send, instead of its node's. @pre is_send(); the limit
  /// is positive and below 49 days
  [[nodiscard]] destination within(std::chrono::milliseconds limit) && {
    SUPERSTEP_ASSERT(is_send() && limit.count() > 0 && limit.count() < UINT32_MAX);
    timeout_ms_ = static_cast<std::uint32_t>(limit.count());
    return std::move(*this);
  }
  /// Adds the destination to the output of a node. Throws graph_error{unknown_node} if the graph
  /// has no such node.
  void add_to(node_output& out, const program& table) && {
    if (!is_send()) {
      table.go_to(out, name_);
      return;
    }
    table.send_to(out, name_, std::move(input_));
    if (timeout_ms_ > 0)
      out.sends.back().timeout_ms = timeout_ms_;
  }

private:
  std::string_view name_;
  value input_;
  std::uint32_t timeout_ms_ = 0;
};

using destinations = std::vector<destination>;

/// Returns one Send to a node for each item of a range, in the order of the range: the `map` of a
/// map-reduce.
template <class Input, std::ranges::input_range Items>
  requires std::convertible_to<std::ranges::range_reference_t<Items>, Input>
[[nodiscard]] destinations send_each(node<Input> to, Items&& items) {
  auto out = destinations{};
  if constexpr (std::ranges::sized_range<Items>)
    out.reserve(std::ranges::size(items));
  for (auto&& item : items)
    out.emplace_back(to, Input(std::forward<decltype(item)>(item)));
  return out;
}

} // namespace superstep
