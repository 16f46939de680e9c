// SPDX-License-Identifier: Apache-2.0
// The form of messages in checkpoints. It is the JSON of message_json.cpp, but it is read by the
// strict functions of this file. A checkpoint must return exactly what was saved, whereas the
// lenient message_reader.cpp changes messages: it moves unknown members and parses calls. The
// lenient reader also rejects some messages that can be saved.
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <array>
#include <utility>

namespace superstep {

namespace {

/// Returns a text member; "" if it is null or absent.
std::string stored_text(const json::object& from, std::string_view key) {
  const auto* t = from.if_contains(key);
  return t != nullptr && t->is_string() ? std::string{t->get_string()} : std::string{};
}

/// Reads a list of invalid calls. Their type has no stored_form, because they occur only inside
/// messages.
result<void> read_calls(const json::value& from, std::vector<invalid_tool_call>& into) {
  if (!from.is_array())
    return detail::unfit_stored("invalid_tool_calls", "a list", from);
  for (const auto& v : from.get_array()) {
    const auto* call = v.if_object();
    if (call == nullptr)
      return detail::unfit_stored("invalid_tool_calls", "objects", v);
    into.push_back({stored_text(*call, "id"), stored_text(*call, "name"),
                    stored_text(*call, "args"), stored_text(*call, "error")});
  }
  return {};
}

/// Reads the name that to_string(message_type) returns.
result<message_type> read_type(const json::value& from) {
  for (auto n = 0; n <= static_cast<int>(message_type::function); ++n)
    if (from.is_string() && from.get_string() == to_string(static_cast<message_type>(n)))
      return static_cast<message_type>(n);
  return detail::unfit_stored("type", "a message type", from);
}

/// Reads one member. An unknown member is an error, because it was written by a newer version or
/// the checkpoint is damaged.
result<void> read_member(std::string_view key, const json::value& from, message& into) {
  if (key == "content" && from.is_array()) {
    into.blocks = from.get_array();
    return {};
  }
  const auto texts = std::array<std::pair<std::string_view, std::string message::*>, 4>{
      {{"content", &message::content},
       {"name", &message::name},
       {"id", &message::id},
       {"tool_call_id", &message::tool_call_id}}};
  for (const auto& [name, member] : texts)
    if (key == name)
      return read_stored(from, into.*member, std::string{key});
  if (key == "role")
    return read_stored(from, into.role.emplace(), "role");
  if (key == "tool_calls")
    return read_stored(from, into.tool_calls, "tool_calls");
  if (key == "invalid_tool_calls")
    return read_calls(from, into.invalid_tool_calls);
  if (key == "additional_kwargs")
    return read_stored(from, into.additional_kwargs.edit(), "additional_kwargs");
  if (key == "response_metadata")
    return read_stored(from, into.response_metadata.edit(), "response_metadata");
  if (key == "status") {
    into.is_error = from == "error";
  } else if (key == "artifact") {
    into.artifact = from;
  } else if (key == "usage_metadata") {
    return read_stored(from, into.usage.emplace(), "usage_metadata");
  } else if (key != "type") {
    return error{errc::parse_failed,
                 "unknown member of a message: '" + std::string{key} +
                     "'; a newer version of superstep wrote it, or the checkpoint is damaged"};
  }
  return {};
}

} // namespace

void stored_form<message>::write(std::string& out, const message& from) {
  append_json(out, from);
}

result<void> stored_form<message>::read(const json::value& from, message& into) {
  const auto* members = from.if_object();
  const auto* type = members != nullptr ? members->if_contains("type") : nullptr;
  if (type == nullptr)
    return detail::unfit_stored("message", "an object with a type", from);
  auto kind = read_type(*type);
  if (!kind)
    return kind.error();
  into = {};
  into.type = *kind;
  for (const auto& [key, v] : *members)
    if (auto done = read_member(key, v, into); !done)
      return done;
  return {};
}

void stored_form<tool_call>::write(std::string& out, const tool_call& from) {
  append_text(out, json::object{{"name", from.name}, {"args", from.args}, {"id", from.id}});
}

result<void> stored_form<tool_call>::read(const json::value& from, tool_call& into) {
  const auto* call = from.if_object();
  const auto* args = call != nullptr ? call->if_contains("args") : nullptr;
  if (args == nullptr || !args->is_object())
    return detail::unfit_stored("tool call", "an object with arguments", from);
  into = {stored_text(*call, "id"), stored_text(*call, "name"), args->get_object()};
  return {};
}

void stored_form<token_usage>::write(std::string& out, const token_usage& from) {
  append_text(out, to_json(from));
}

result<void> stored_form<token_usage>::read(const json::value& from, token_usage& into) {
  auto usage = usage_from_json(from, "token usage");
  if (!usage)
    return usage.error();
  into = *std::move(usage);
  return {};
}

void stored_form<message_list>::write(std::string& out, const message_list& from,
                                      std::size_t first) {
  out += '[';
  for (auto i = first; i < from.size(); ++i) {
    if (i != first)
      out += ',';
    append_json(out, from[i]);
  }
  out += ']';
}

result<void> stored_form<message_list>::read(const json::value& from, message_list& into) {
  if (!from.is_array())
    return detail::unfit_stored("messages", "a list", from);
  into = {};
  for (const auto& v : from.get_array()) {
    auto one = message{};
    if (auto done = stored_form<message>::read(v, one); !done)
      return done;
    into.push_back(std::move(one));
  }
  return {};
}

std::size_t message_list::common_prefix(const message_list& a, const message_list& b) {
  return message_list::items::common_prefix(
      a.items_, b.items_,
      [](const message_ptr& x, const message_ptr& y) { return x == y || *x == *y; });
}

} // namespace superstep
