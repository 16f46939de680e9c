// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/typed_body.hpp>

#include <boost/describe/enum.hpp> // BOOST_DESCRIBE_ENUM, for the labels of programs
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep::detail {

/// A type that a router may return instead of a destination if its branch has a path map, which
/// maps labels to nodes.
template <class L>
concept route_label = std::same_as<L, bool> || std::same_as<L, std::string> || std::is_enum_v<L>;

/// Returns the text of a label for drawing. Enumerators have their described name, or their number
/// if they are not described.
template <route_label L>
std::string label_text(const L& label) {
  if constexpr (std::same_as<L, bool>) {
    return label ? "true" : "false";
  } else if constexpr (std::same_as<L, std::string>) {
    return label;
  } else {
    const auto number = std::to_string(static_cast<std::underlying_type_t<L>>(label));
    if constexpr (boost::describe::has_describe_enumerators<L>::value)
      return boost::describe::enum_to_string(label, number.c_str());
    else
      return number;
  }
}

/// An entry of a path map: a label and its target.
template <route_label L>
struct path_entry {
  path_entry(L name, destination target) : label{std::move(name)}, to{target} {}
  /// Deleted, because a text would count as `true`.
  path_entry(const char*, destination)
    requires std::same_as<L, bool>
  = delete;

  L label;
  destination to;
};

template <class F, class State>
concept labelling_router = body_arguments<F, State> && route_label<body_result<F, State>>;

/// A router that returns a text without owning it. Without a path map, the text names a node; with
/// a path map, it is a label.
template <class F, class State>
concept text_router =
    body_arguments<F, State> && (std::same_as<body_result<F, State>, const char*> ||
                                 std::same_as<body_result<F, State>, std::string_view>);

/// The type in which the labels of a router are stored.
template <class F, class State>
using stored_label = std::conditional_t<text_router<F, State>, std::string, body_result<F, State>>;

/// Throws graph_error{unknown_label}: the path map does not contain the label.
[[noreturn]] void throw_unknown_label(const std::string& label);

/// A router whose function returns a label, which it looks up in a path map. The search is linear,
/// because path maps are small.
template <class State, class F>
class labelled_router final : public router {
public:
  using label = stored_label<F, State>;

  labelled_router(F f, std::vector<std::pair<label, std::string>> map)
      : f_{std::move(f)}, map_{std::move(map)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    const auto given_label =
        label(call_body(f_, given, static_cast<const struct_block<State>&>(fresh).state));
    for (const auto& [known, to] : map_) {
      if (known == given_label)
        return given.table->go_to(out, to);
    }
    throw_unknown_label(label_text(given_label));
  }

private:
  F f_;
  std::vector<std::pair<label, std::string>> map_;
};

} // namespace superstep::detail
