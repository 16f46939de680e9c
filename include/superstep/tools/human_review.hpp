// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <optional>
#include <string>
#include <variant>

namespace superstep {

/// What a person may do with an action that waits for review.
struct human_interrupt_config {
  bool allow_ignore = false;  ///< drop it
  bool allow_respond = false; ///< answer in words instead
  bool allow_edit = false;    ///< change it
  bool allow_accept = false;  ///< let it happen
  friend bool operator==(const human_interrupt_config&, const human_interrupt_config&) = default;
};

struct action_request {
  std::string action; ///< such as the name of a tool
  json::object args;
  friend bool operator==(const action_request&, const action_request&) = default;
};

/// What a tool interrupts with: a list of one of these.
struct human_interrupt {
  action_request action;
  human_interrupt_config config;
  /// Unset: not given. null is kept apart from that, because readers of the JSON may.
  std::optional<json::value> description;
  friend bool operator==(const human_interrupt&, const human_interrupt&) = default;
};

/// What a person answers; the interrupt resumes with a list of one of these.
struct human_response {
  enum class kind { accept, ignore, response, edit };
  kind type = kind::accept;
  /// Nothing, the words of a response, or the action that takes the place of the other.
  std::variant<std::monostate, std::string, action_request> args;
  friend bool operator==(const human_response&, const human_response&) = default;
};

/// Whether a person may answer in this way.
[[nodiscard]] bool is_allowed(human_response::kind what, const human_interrupt_config& config);

/// JSON both ways. Errors: a member that is missing, unknown or of another type, named. @{
[[nodiscard]] json::object to_json(const human_interrupt_config& config);
[[nodiscard]] json::object to_json(const action_request& request);
[[nodiscard]] json::object to_json(const human_interrupt& interrupt);
[[nodiscard]] json::object to_json(const human_response& response);
[[nodiscard]] result<human_interrupt_config> human_interrupt_config_from_json(const json::value& v);
[[nodiscard]] result<action_request> action_request_from_json(const json::value& v);
[[nodiscard]] result<human_interrupt> human_interrupt_from_json(const json::value& v);
[[nodiscard]] result<human_response> human_response_from_json(const json::value& v);
/// @}

} // namespace superstep
