// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <optional>
#include <string>
#include <variant>

namespace superstep {

/// The answers that a person may give when an action waits for review.
/// Source: `HumanInterruptConfig` in LangGraph 1.2.22, prebuilt/interrupt.py.
struct human_interrupt_config {
  bool allow_ignore = false;  ///< drop the action
  bool allow_respond = false; ///< answer in words instead
  bool allow_edit = false;    ///< change the action
  bool allow_accept = false;  ///< run the action as it is
  friend bool operator==(const human_interrupt_config&, const human_interrupt_config&) = default;
};

/// An action that waits for review.
struct action_request {
  std::string action;  ///< name of the action, such as the name of a tool
  json::object args{}; ///< arguments of the action
  friend bool operator==(const action_request&, const action_request&) = default;
};

/// The value that a tool interrupts its run with, in a list of one. Describes an action and the
/// allowed answers.
/// Source: `HumanInterrupt` in LangGraph 1.2.22, prebuilt/interrupt.py.
struct human_interrupt {
  action_request action;         ///< the action to review
  human_interrupt_config config; ///< the allowed answers
  /// A text for the person. Unset and null are distinct, because readers of the JSON may
  /// distinguish them.
  std::optional<json::value> description;
  friend bool operator==(const human_interrupt&, const human_interrupt&) = default;
};

/// A person's answer; the interrupted run resumes with a list of one.
/// Source: `HumanResponse` in LangGraph 1.2.22, prebuilt/interrupt.py.
struct human_response {
  /// The ways to answer.
  enum class kind { accept, ignore, response, edit };
  kind type = kind::accept; ///< the way of this answer
  /// Empty for accept, empty or the reason for ignore, a text for response, the changed action for
  /// edit. Some clients repeat the action to accept or ignore it.
  std::variant<std::monostate, std::string, action_request> args{};
  friend bool operator==(const human_response&, const human_response&) = default;
};

/// Whether the config allows the kind of answer `what`. May be called from any thread.
[[nodiscard]] bool is_allowed(human_response::kind what, const human_interrupt_config& config);

/// Converts an object to JSON, with LangGraph's names of the members. May be called from any
/// thread. Source: LangGraph 1.2.22, prebuilt/interrupt.py. @{
[[nodiscard]] json::object to_json(const human_interrupt_config& config);
[[nodiscard]] json::object to_json(const action_request& request);
[[nodiscard]] json::object to_json(const human_interrupt& interrupt);
[[nodiscard]] json::object to_json(const human_response& response);
/// @}
/// Reads the JSON form `v` of to_json(). May be called from any thread.
/// @return the object; errc::invalid_argument if `v` is not an object, or, with the name of the
/// member, if a required member is missing, or a member is unknown or has an invalid value
/// @{
[[nodiscard]] result<human_interrupt_config> human_interrupt_config_from_json(const json::value& v);
[[nodiscard]] result<action_request> action_request_from_json(const json::value& v);
[[nodiscard]] result<human_interrupt> human_interrupt_from_json(const json::value& v);
[[nodiscard]] result<human_response> human_response_from_json(const json::value& v);
/// @}

} // namespace superstep
