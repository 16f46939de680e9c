// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/base/detail/wrong_type.hpp>
#include <superstep/base/json.hpp>
#include <superstep/tools/detail/described_json.hpp>

#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

// The structured response of an agent as a C++ struct.
namespace superstep {

namespace detail {

/// Returns a response format with this schema, whose title is the last part of `type`. Optional
/// members become required members that may be null, as OpenAI's strict schemas demand.
[[nodiscard]] response_format format_of_struct(json::object schema, const std::string& type);

/// Throws std::system_error{errc::parse_failed} with all faults.
[[noreturn]] void throw_bad_response(const std::vector<argument_fault>& faults,
                                     const std::string& type);
/// Throws std::system_error{errc::not_found}: the run has no structured response.
[[noreturn]] void throw_no_response();

} // namespace detail

/// Returns the response format for agent_options::response whose schema describes the struct T. May
/// be called from any thread.
///
///     struct city { std::string name; std::optional<int> founded; };
///     BOOST_DESCRIBE_STRUCT(city, (), (name, founded))
///
///     auto agent = create_agent({.model = "openai:gpt-4o-mini",
///                                .response = response_format_of<city>()});
///     auto rome = response_of<city>(engine.invoke(agent, "Describe Rome."));
///
/// @tparam T a struct described with BOOST_DESCRIBE_STRUCT, with the member types of a make_tool()
/// argument struct. A static member `descriptions` describes the members to the model. A
/// std::optional member is null if the model has no value for it.
template <class T>
[[nodiscard]] response_format response_format_of() {
  static_assert(detail::described_struct<T>,
                "describe the struct of the response: BOOST_DESCRIBE_STRUCT(your_response, (), "
                "(member, …))");
  if constexpr (detail::described_struct<T>)
    return detail::format_of_struct(detail::schema_of_struct<T>(), detail::type_name(typeid(T)));
}

/// Converts a structured response to a T. A std::optional member that is absent or null becomes
/// nullopt. Members that T does not have are ignored. May be called from any thread.
/// @tparam T a described struct; see response_format_of()
/// @param response the field `structured_response` of a state
/// @throws std::system_error with errc::not_found if the response is null, and with
/// errc::parse_failed if a member is missing or has another type
template <class T>
[[nodiscard]] T response_of(const json::value& response) {
  static_assert(detail::described_struct<T>,
                "describe the struct of the response: BOOST_DESCRIBE_STRUCT(your_response, (), "
                "(member, …))");
  auto out = T{};
  if constexpr (detail::described_struct<T>) {
    if (response.is_null())
      detail::throw_no_response();
    auto reader = detail::argument_reader{detail::unknown_keys::ignored};
    reader.read(response, out, {});
    if (!reader.faults().empty())
      detail::throw_bad_response(reader.faults(), detail::type_name(typeid(T)));
  }
  return out;
}

/// Converts the structured response of a run to a T, like the overload above. May be called from
/// any thread.
/// @param from the run_result of an agent, or the state of an agent
/// @throws std::system_error with errc::not_found if the run has no structured response, and with
/// errc::parse_failed if a member is missing or has another type
template <class T, class From>
  requires requires(const From& from) { from.state.structured_response; } ||
           requires(const From& from) { from.structured_response; }
[[nodiscard]] T response_of(const From& from) {
  if constexpr (requires { from.state.structured_response; })
    return response_of<T>(from.state.structured_response);
  else
    return response_of<T>(from.structured_response);
}

} // namespace superstep
