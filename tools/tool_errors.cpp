// SPDX-License-Identifier: Apache-2.0
// Texts for failed tool calls. Decides which failures become answers to the model.
#include "base/held_exception.hpp"
#include "messages/python_text.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/tools/detail/tool_failure.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace superstep {

namespace {

/// Whether the exception reports invalid arguments of a call.
bool is_bad_call(const std::exception& e) {
  return dynamic_cast<const tool_invocation_error*>(&e) != nullptr;
}

} // namespace

missing_state_field::missing_state_field(std::string field, const std::string& tool,
                                         const std::string& argument)
    : std::out_of_range{"tool '" + tool + "' injects the state field '" + field +
                        "' into its parameter '" + argument +
                        "', but the state has no such field; add the field to the state, or make "
                        "the parameter a std::optional"},
      field_{std::move(field)} {}

std::string error_template(const std::exception& e) {
  const auto* named = dynamic_cast<const named_error*>(&e);
  // As in LangGraph, the model reads only the name of the field.
  const auto* missing = dynamic_cast<const missing_state_field*>(&e);
  const auto text = missing != nullptr ? missing->field() : std::string{e.what()};
  auto what = std::string{"Error: "};
  if (named == nullptr)
    what += text;
  else
    what += std::string{named->error_name()} + '(' + python_text(text) + ')';
  return what + "\n Please fix your mistakes.";
}

tool_errors tool_errors::all() {
  auto out = tool_errors{};
  out.kind_ = kind::all;
  return out;
}

tool_errors tool_errors::text(std::string content) {
  auto out = tool_errors{};
  out.kind_ = kind::text;
  out.text_ = std::move(content);
  return out;
}

tool_errors tool_errors::only(std::vector<error_type> types) {
  auto out = tool_errors{};
  out.kind_ = kind::types;
  out.types_ = std::move(types);
  return out;
}

tool_errors tool_errors::by(function words, std::vector<error_type> types) {
  auto out = tool_errors{};
  out.kind_ = kind::function;
  out.types_ = std::move(types);
  if (out.types_.empty())
    out.types_.push_back(error_type::of<std::exception>());
  out.words_ = std::move(words);
  return out;
}

tool_errors tool_errors::bad_calls() {
  auto out = tool_errors{};
  out.kind_ = kind::bad_calls;
  return out;
}

tool_errors tool_errors::none() {
  auto out = tool_errors{};
  out.kind_ = kind::none;
  return out;
}

std::string tool_errors::words(const std::exception& e) const {
  if (kind_ == kind::text)
    return text_;
  if (kind_ == kind::function)
    return words_(e);
  if ((kind_ == kind::plain || kind_ == kind::bad_calls) && is_bad_call(e))
    return e.what();
  return error_template(e);
}

std::optional<std::string> tool_errors::answer(const std::exception& e) const {
  const auto has_types = kind_ == kind::types || kind_ == kind::function;
  if (has_types && std::ranges::none_of(types_, [&](const auto& t) { return t.matches(e); }))
    return std::nullopt;
  return answer_any(e);
}

std::optional<std::string> tool_errors::answer_any(const std::exception& e) const {
  if (kind_ == kind::none || (kind_ == kind::bad_calls && !is_bad_call(e)))
    return std::nullopt;
  return words(e);
}

bool is_unavailable(const std::exception_ptr& failure) noexcept {
  if (failure_code(failure, {}) == errc::shortage)
    return true;
  return detail::visit_nested(failure, [](const std::exception& e) {
    const auto* failed = dynamic_cast<const std::system_error*>(&e);
    return dynamic_cast<const tool_unavailable*>(&e) != nullptr ||
           dynamic_cast<const tool_failed*>(&e) != nullptr ||
           (failed != nullptr && failed->code() == checkpoint_errc::failed);
  });
}

} // namespace superstep
