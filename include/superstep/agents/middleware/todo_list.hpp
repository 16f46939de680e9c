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

/// One task that an agent has set itself. `status` is pending, in_progress or completed.
struct todo {
  std::string content;
  std::string status = "pending";
  friend bool operator==(const todo&, const todo&) = default;
};
BOOST_DESCRIBE_STRUCT(todo, (), (content, status))

struct todo_list_options {
  std::string prompt{};      ///< added to the system message; empty: ours
  std::string description{}; ///< of the tool; empty: ours
};

namespace detail {

/// All of it but the field's type: a tool that writes the list to the field of this name.
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

/// Gives the model a tool `write_todos`, by which it keeps a list of what it has to do:
/// `todo_list<&desk::todos>()`, the field being a std::vector<todo>. Each call replaces the whole
/// list, so several in one answer are refused.
template <auto Member>
[[nodiscard]] middleware<typename detail::field<Member>::state>
todo_list(todo_list_options options = {}) {
  static_assert(std::is_same_v<typename detail::field<Member>::type, std::vector<todo>>,
                "the field of a to-do list is a std::vector<superstep::todo>");
  return detail::todo_list_for(detail::name_of_field<Member>(), std::move(options));
}

} // namespace superstep
