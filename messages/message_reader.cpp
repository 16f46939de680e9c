// SPDX-License-Identifier: Apache-2.0
// Reads messages from external JSON: of users, of chat-completions servers and of langchain's
// files. The reader accepts the different forms of these sources, and reports the first invalid
// member with its path. Messages in checkpoints are read by message_stored.cpp instead.
#include "base/json_members.hpp"
#include "fault_at.hpp"
#include "kwargs_calls.hpp"
#include "messages/openai_json.hpp"
#include "messages/python_text.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <cmath>
#include <optional>
#include <utility>

namespace superstep {

namespace {

std::string member_path(std::string_view path, std::string_view key) {
  return std::string{path} + '.' + std::string{key};
}

std::string item_path(std::string_view path, std::size_t i) {
  return std::string{path} + '[' + std::to_string(i) + ']';
}

/// Reads the members of one message. The first error is stored in fault_, so that the private
/// functions need not return errors.
class message_reader {
public:
  message_reader(const json::object& from, std::string_view path) : from_{from}, path_{path} {}

  result<message> read() {
    read_role();
    for (const auto& member : from_) {
      if (fault_)
        break;
      read_member({member.key().data(), member.key().size()}, member.value());
    }
    if (!fault_)
      check_whole();
    if (!fault_ && to_.type == message_type::ai)
      read_kwargs_calls(to_);
    if (fault_)
      return *std::move(fault_);
    return std::move(to_);
  }

private:
  void fail(std::string_view key, std::string_view text) {
    if (!fault_)
      fault_ = fault_at(member_path(path_, key), text);
  }

  /// Reads the message type. It is read first, because the type determines which members a message
  /// has.
  void read_role() {
    const auto* type = from_.if_contains("type");
    // `role` is the author of a message, except in the form of to_json() for chat messages, where
    // it is an ordinary member.
    const auto* role = type && *type == "chat" ? nullptr : from_.if_contains("role");
    role_key_ = role ? "role" : "type";
    if (!role)
      role = type;
    if (!role) {
      fault_ = fault_at(path_,
                        "a message needs `role` (or `type`) and `content`, got " + to_text(from_));
      return;
    }
    const auto* name = role->if_string();
    if (!name)
      return fail(role_key_, "must be a string");
    if (*name == "user" || *name == "human")
      to_.type = message_type::human;
    else if (*name == "assistant" || *name == "ai")
      to_.type = message_type::ai;
    else if (*name == "system" || *name == "developer")
      to_.type = message_type::system;
    else if (*name == "tool")
      to_.type = message_type::tool;
    else if (*name == "remove")
      to_.type = message_type::remove;
    else if (*name == "function")
      to_.type = message_type::function;
    else if (*name == "chat" && role_key_ == "type")
      to_.type = message_type::chat;
    else
      return fail(role_key_, "Unexpected message type: '" +
                                 std::string{name->data(), name->size()} +
                                 "'. Use one of 'human', 'user', 'ai', 'assistant', 'system', "
                                 "'developer', 'tool', 'function' or 'remove'.");
    if (*name == "developer")
      to_.additional_kwargs["__openai_role__"] = "developer";
  }

  void read_member(std::string_view key, const json::value& value) {
    if (key == role_key_)
      return;
    if (key == "content")
      read_content(value);
    else if (key == "id")
      read_id(key, value, to_.id);
    else if (key == "name")
      read_text(key, value, to_.name);
    else if (key == "additional_kwargs" || key == "response_metadata")
      read_metadata(key, value);
    else if (to_.type == message_type::ai && key == "tool_calls")
      read_calls(key, value);
    else if (is_written_message(message_type::ai) && key == "invalid_tool_calls")
      read_invalid_calls(key, value);
    else if (is_written_message(message_type::ai) && key == "usage_metadata")
      read_usage(key, value);
    else if (to_.type == message_type::chat && key == "role")
      read_text(key, value, to_.role.emplace());
    else if (to_.type == message_type::tool && key == "tool_call_id")
      read_id(key, value, to_.tool_call_id);
    else if (to_.type == message_type::tool && key == "status")
      read_status(key, value);
    else if (to_.type == message_type::tool && key == "artifact")
      to_.artifact = value;
    else if (!value.is_null() && !is_of_old(key, value))
      to_.additional_kwargs[key] = value;
  }

  /// Whether the message is in the form of to_json(), which has members that servers do not use.
  [[nodiscard]] bool is_written_message(message_type type) const {
    return to_.type == type && role_key_ == "type";
  }

  /// Whether a member can be dropped: older versions of langchain-core wrote `example: false` into
  /// every message.
  [[nodiscard]] bool is_of_old(std::string_view key, const json::value& value) const {
    return (to_.type == message_type::human || to_.type == message_type::ai) && key == "example" &&
           value == false;
  }

  /// Reads an id. Some servers send numbers, which become text.
  void read_id(std::string_view key, const json::value& value, std::string& into) {
    if (value.is_number())
      into = python_literal(value);
    else
      read_text(key, value, into);
  }

  void read_text(std::string_view key, const json::value& value, std::string& into) {
    if (const auto* text = value.if_string())
      into.assign(text->data(), text->size());
    else if (!value.is_null())
      fail(key, "must be a string");
  }

  void read_content(const json::value& value) {
    if (const auto* blocks = value.if_array())
      read_blocks(*blocks);
    else if (value.is_string() || value.is_null())
      read_text("content", value, to_.content);
    else if (to_.type == message_type::tool)
      to_.content = python_literal(value);
    else
      fail("content", "must be a string, a list of blocks or null");
  }

  /// Reads a list of blocks. A tool may return a list of any values: those that are not blocks
  /// become text.
  void read_blocks(const json::array& blocks) {
    if (blocks.empty() && role_key_ == "role")
      return;
    auto& list = to_.blocks.emplace(blocks);
    for (auto i = std::size_t{0}; i < list.size(); ++i)
      if (auto& block = list[i]; !block.is_string() && !block.is_object()) {
        if (to_.type != message_type::tool)
          return fail(item_path("content", i), "a block must be a string or an object");
        block = python_literal(block);
      }
  }

  /// Reads additional_kwargs or response_metadata. Adds the members to the existing ones, because
  /// unknown members of the message may already be in additional_kwargs.
  void read_metadata(std::string_view key, const json::value& value) {
    const auto* members = value.if_object();
    if (!members && !value.is_null())
      return fail(key, "must be an object");
    auto& into = key == "additional_kwargs" ? to_.additional_kwargs : to_.response_metadata;
    if (members)
      for (const auto& [name, inner] : *members)
        into[name] = inner;
  }

  void read_status(std::string_view key, const json::value& value) {
    if (value.is_null() && role_key_ == "role")
      return;
    const auto* status = value.if_string();
    if (!status || (*status != "error" && *status != "success"))
      return fail(key, "must be \"success\" or \"error\"");
    to_.is_error = *status == "error";
  }

  const json::array* list_of(std::string_view key, const json::value& value) {
    if (!value.is_array() && !value.is_null())
      fail(key, "must be a list");
    return value.if_array();
  }

  void read_calls(std::string_view key, const json::value& value) {
    const auto* list = list_of(key, value);
    for (auto i = std::size_t{0}; list && i < list->size() && !fault_; ++i) {
      const auto* call = (*list)[i].if_object();
      const auto at = item_path(key, i);
      if (!call)
        return fail(at, "must be an object");
      if (const auto* function = call->if_contains("function"))
        read_function(at, *call, *function);
      else
        read_call(at, *call);
    }
  }

  /// Reads a call in chat-completions form, whose arguments are JSON text.
  void read_function(std::string_view at, const json::object& call, const json::value& value) {
    const auto* function = value.if_object();
    if (!function)
      return fail(member_path(at, "function"), "must be an object");
    const auto id = required_text(at, call, "id", false);
    const auto name = required_text(member_path(at, "function"), *function, "name", true);
    const auto* arguments = function->if_contains("arguments");
    if (const auto* args = arguments ? arguments->if_object() : nullptr; args && !fault_) {
      to_.tool_calls.push_back({id, name, *args}); // some servers send an object
      return;
    }
    const auto text = required_text(member_path(at, "function"), *function, "arguments", false);
    if (fault_)
      return;
    auto read = parse_tool_call(id, name, text);
    if (auto* good = std::get_if<tool_call>(&read))
      to_.tool_calls.push_back(std::move(*good));
    else
      fail(member_path(at, "function.arguments"), std::get<invalid_tool_call>(read).error);
  }

  /// Reads a call in the form of to_json(): the arguments are an object.
  void read_call(std::string_view at, const json::object& from) {
    auto call = tool_call{};
    call.id = required_text(at, from, "id", false);
    call.name = required_text(at, from, "name", true);
    const auto* args = from.if_contains("args");
    if (args && args->is_object())
      call.args = args->get_object();
    else
      fail(member_path(at, "args"), "must be an object");
    to_.tool_calls.push_back(std::move(call));
  }

  void read_invalid_calls(std::string_view key, const json::value& value) {
    const auto* list = list_of(key, value);
    for (auto i = std::size_t{0}; list && i < list->size() && !fault_; ++i) {
      const auto* from = (*list)[i].if_object();
      const auto at = item_path(key, i);
      if (!from)
        return fail(at, "must be an object");
      auto call = invalid_tool_call{};
      call.id = required_text(at, *from, "id", false);
      call.name = required_text(at, *from, "name", false);
      call.args = required_text(at, *from, "args", false);
      call.error = required_text(at, *from, "error", false);
      to_.invalid_tool_calls.push_back(std::move(call));
    }
  }

  /// Returns a text member; "" if it is absent or null and not required.
  std::string required_text(std::string_view at, const json::object& from, std::string_view key,
                            bool required) {
    const auto* value = from.if_contains(key);
    const auto absent = !value || value->is_null();
    if ((absent && required) || (!absent && !value->is_string())) {
      fail(member_path(at, key), "must be a string");
      return {};
    }
    return absent ? std::string{}
                  : std::string{value->get_string().data(), value->get_string().size()};
  }

  /// Reads token counts. All three counts are required, as in langchain-core and unlike in
  /// usage_from_json().
  void read_usage(std::string_view key, const json::value& value) {
    if (value.is_null())
      return;
    auto usage = usage_from_json(value, member_path(path_, key));
    for (const auto* count : {"input_tokens", "output_tokens", "total_tokens"})
      if (usage && !member(value.get_object(), count))
        return fail(key, "must have `" + std::string{count} + '`');
    if (usage)
      to_.usage = *std::move(usage);
    else if (!fault_)
      fault_ = std::move(usage).error();
  }

  /// Checks that all required members are present. Called after all members have been read.
  void check_whole() {
    const auto spoken = from_.contains("content");
    // Servers accept a message without content if it has tool calls; so does this reader.
    const auto calls = !to_.tool_calls.empty() || !to_.invalid_tool_calls.empty();
    if (!spoken && !calls && to_.type != message_type::remove)
      fault_ = fault_at(path_,
                        "a message needs `role` (or `type`) and `content`, got " + to_text(from_));
    else if (to_.type == message_type::tool && !member(from_, "tool_call_id"))
      fail("tool_call_id", "a tool message must name the call it answers");
    else if (to_.type == message_type::function && !member(from_, "name"))
      fail("name", "a function message must name its function");
    else if (to_.type == message_type::chat && (!to_.role || to_.role->empty()))
      fail("role", "a chat message must name its role");
    else if (to_.type == message_type::remove && to_.id.empty())
      fail("id", "a remove message must name the message to delete");
    // A remove message needs only its id; content that came with it is dropped.
    if (to_.type == message_type::remove) {
      to_.content.clear();
      to_.blocks.reset();
    }
  }

  const json::object& from_;
  std::string_view path_;
  std::string_view role_key_;
  message to_;
  std::optional<error> fault_;
};

/// Reads `[role, content]` as if it were an object with these two members.
result<message> message_from_pair(const json::array& pair, std::string_view path) {
  if (pair.size() != 2 || !pair[0].is_string())
    return fault_at(path, "a message in list form must be a pair [role, content]");
  const auto whole = json::object{{"role", pair[0]}, {"content", pair[1]}};
  return message_reader{whole, path}.read();
}

} // namespace

result<message> message_from_json(const json::value& value, std::string_view path) {
  if (const auto* text = value.if_string())
    return human_message({text->data(), text->size()});
  if (const auto* pair = value.if_array())
    return message_from_pair(*pair, path);
  if (const auto* object = value.if_object())
    return message_reader{*object, path}.read();
  return fault_at(path, "a message must be an object, a pair [role, content] or a string, got " +
                            to_text(value));
}

result<message_list> messages_from_json(const json::value& value, std::string_view path) {
  auto list = message_list{};
  const auto* items = value.if_array();
  if (!items) {
    auto one = message_from_json(value, path);
    if (!one)
      return std::move(one).error();
    list.push_back(*std::move(one));
    return list;
  }
  for (auto i = std::size_t{0}; i < items->size(); ++i) {
    auto one = message_from_json((*items)[i], item_path(path, i));
    if (!one)
      return std::move(one).error();
    list.push_back(*std::move(one));
  }
  return list;
}

} // namespace superstep
