// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

// Types for members of make_tool() arguments that the tool node fills in. The model neither sees
// nor sets them.
namespace superstep {

/// A string literal as a template argument.
template <std::size_t N>
struct fixed_text {
  constexpr fixed_text(const char (&given)[N]) { std::copy_n(given, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N]{};
};

/// A field of the state: `from_state<"user", std::string> user;`. A missing field is an error,
/// unless T is a std::optional.
/// Source: `InjectedState` in LangGraph 1.2.22, prebuilt/tool_node.py.
template <fixed_text Field, class T>
struct from_state {
  T value{};
  static constexpr std::string_view field = Field.view();
};

/// The whole state as JSON.
struct whole_state {
  json::object value;
};

/// The long-term memory of the run. Never null in a call: without a store the call fails.
/// Source: `InjectedStore` in LangGraph 1.2.22, prebuilt/tool_node.py.
struct injected_store {
  superstep::store* value = nullptr;
  [[nodiscard]] superstep::store* operator->() const noexcept { return value; }
};

/// The id of the tool call.
/// Source: `InjectedToolCallId` in langchain-core 1.7.2, tools/base.py.
struct injected_call_id {
  std::string value;
};

namespace detail {

template <class T>
struct from_state_of : std::false_type {};
template <fixed_text Field, class T>
struct from_state_of<from_state<Field, T>> : std::true_type {
  using type = T;
};

template <class T>
inline constexpr bool is_injected =
    from_state_of<T>::value || std::is_same_v<T, whole_state> ||
    std::is_same_v<T, injected_store> || std::is_same_v<T, injected_call_id>;

} // namespace detail
} // namespace superstep
