// SPDX-License-Identifier: Apache-2.0
// Forms in which agent cases print messages and failures.
#include "agent_form.hpp"

#include "case_tools.hpp"

#include <superstep/channels/channel.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <map>
#include <string_view>
#include <utility>

namespace superstep::conformance {

namespace {

/// Replaces the text between two marks by a star if both marks occur in this order.
std::string starred(std::string text, std::string_view before, std::string_view after) {
  const auto from = text.find(before);
  const auto inner = from + before.size();
  const auto to = after.empty() ? text.size() : text.rfind(after);
  if (from == text.npos || to == text.npos || to < inner)
    return text;
  return text.replace(inner, to - inner, "<*>");
}

bool is_made(const json::value& id) {
  return id.is_string() && id.get_string().starts_with(made_id);
}

/// Removes generated ids from messages at any depth and makes the texts of tool messages canonical.
json::value without_made(json::value v, bool exact) {
  if (auto* list = v.if_array()) {
    for (auto& item : *list)
      item = without_made(std::move(item), exact);
    return v;
  }
  auto* object = v.if_object();
  if (object == nullptr)
    return v;
  const auto* type = object->if_contains("type");
  auto* content = object->if_contains("content");
  if (type == nullptr || content == nullptr) {
    for (auto& [key, member] : *object)
      member = without_made(std::move(member), exact);
    return v;
  }
  if (const auto* id = object->if_contains("id"); id != nullptr && is_made(*id))
    object->erase("id");
  if (*type == "tool" && content->is_string())
    *content = canonical_text(std::string{content->get_string()}, exact);
  return v;
}

json::object failure_of_code(const std::error_code& code, const std::string& text, bool exact) {
  static const auto kinds =
      std::map<graph_errc, std::string>{{graph_errc::recursion_limit, "recursion_limit"},
                                        {graph_errc::empty_input, "empty_input"},
                                        {graph_errc::no_checkpointer, "no_checkpointer"},
                                        {graph_errc::ambiguous_resume, "ambiguous_resume"},
                                        {graph_errc::no_parent, "no_parent"},
                                        {graph_errc::invalid_update, "invalid_update"}};
  for (const auto& [known, kind] : kinds)
    if (code == known)
      return {{"kind", kind}};
  if (code == make_error_code(channel_errc::invalid_update))
    return {{"kind", "invalid_update"}};
  return {{"kind", "refused"}, {"text", canonical_text(text, exact)}};
}

} // namespace

std::string canonical_text(const std::string& whole, bool exact) {
  auto text = canonical(whole, exact);
  if (exact)
    return text;
  if (text.starts_with("Found AIMessages"))
    return starred(std::move(text), "of those tool calls: ", ".\n\nEvery tool call (LLM");
  if (text.starts_with("No messages found in input state"))
    return starred(std::move(text), "tool_edge: ", "");
  return starred(std::move(text), "", "\n\nRespond after fixing all validation errors.");
}

json::value seen_form(const json::value& v) {
  return printed(v, true);
}

json::value printed_form(const json::value& v, bool exact) {
  return without_made(printed(v, exact), exact);
}

json::object failure_form(const std::exception_ptr& cause, bool exact) {
  try {
    std::rethrow_exception(cause);
  } catch (const graph_error& e) {
    const auto& details = e.details();
    if (details.cause)
      return failure_form(details.cause, exact);
    return failure_of_code(details.code, details.text, exact);
  } catch (const std::exception&) {
    return printed_failure(cause, exact).as_object();
  }
}

} // namespace superstep::conformance
