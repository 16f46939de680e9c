// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/detail/fields.hpp>

#include <boost/describe/class.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A task that an agent has set for itself.
struct todo {
  std::string content; ///< what to do
  std::string status = "pending"; ///< pending, in_progress or completed
  friend bool operator==(const todo&, const todo&) = default;
};
BOOST_DESCRIBE_STRUCT(todo, (), (content, status))

/// Options of todo_list().
struct todo_list_options {
  std::string prompt{};      ///< added to the system message; empty: a default text
  std::string description{}; ///< of the tool; empty: a default text
};

namespace detail {

/// Makes the middleware for the field of this name, independent of the state's type.
[[nodiscard]] message_middleware todo_list_for(std::string field, todo_list_options options);

template <auto Member>
std::string name_of_field() {
  auto name = std::string{};
  boost::mp11::mp_for_each<fields_of<typename field<Member>::state>>([&](auto d) {
    if (same_member<decltype(d)::pointer, Member>())
      name = d.name;
  });
  return name;
}

} // namespace detail

/// Makes a middleware that gives the model a tool `write_todos`, with which it maintains a list of
/// tasks: `todo_list<&desk::todos>()`. Each call replaces the whole list, so several calls in one
/// answer are rejected.
/// @tparam Member the field of the state, a std::vector<todo>
/// Source: `TodoListMiddleware` in langchain 1.4.7, agents/middleware/todo.py.
template <auto Member>
[[nodiscard]] middleware<typename detail::field<Member>::state>
todo_list(todo_list_options options = {}) {
  static_assert(std::is_same_v<typename detail::field<Member>::type, std::vector<todo>>,
                "the field of a to-do list is a std::vector<superstep::todo>");
  return detail::todo_list_for(detail::name_of_field<Member>(), std::move(options));
}

} // namespace superstep
