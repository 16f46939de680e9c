// SPDX-License-Identifier: Apache-2.0
// Reads and writes the JSON form of message_chunk: that of a message (message_json.cpp,
// message_reader.cpp) with a different type name and the pieces of tool calls.
#include "fault_at.hpp"
#include "kwargs_calls.hpp"
#include "messages/spaced_json.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace superstep {

namespace {

/// The type name of a chunk and the message type it belongs to.
struct chunk_name {
  std::string_view written;
  message_type type;
};

constexpr auto chunk_names = std::array<chunk_name, 6>{
    chunk_name{"AIMessageChunk", message_type::ai},
    chunk_name{"HumanMessageChunk", message_type::human},
    chunk_name{"SystemMessageChunk", message_type::system},
    chunk_name{"ToolMessageChunk", message_type::tool},
    chunk_name{"ChatMessageChunk", message_type::chat},
    chunk_name{"FunctionMessageChunk", message_type::function},
};

json::value text_or_null(const std::optional<std::string>& text) {
  return text ? json::value(*text) : json::value{};
}

/// Returns a text member of a piece; nullopt if the member is absent or null.
result<std::optional<std::string>> optional_text(const json::object& from, std::string_view key,
                                                 std::string_view path) {
  const auto* value = from.if_contains(key);
  if (!value || value->is_null())
    return std::optional<std::string>{};
  if (!value->is_string())
    return fault_at(path, "`" + std::string{key} + "` must be a string or null");
  return std::optional{std::string{value->get_string()}};
}

result<tool_call_chunk> call_from_json(const json::value& value, std::string_view path) {
  const auto* from = value.if_object();
  if (!from)
    return fault_at(path, "a tool call chunk must be an object");
  auto call = tool_call_chunk{};
  for (const auto& [key, member] :
       {std::pair{"name", &call.name}, std::pair{"args", &call.args}, std::pair{"id", &call.id}}) {
    auto text = optional_text(*from, key, path);
    if (!text)
      return std::move(text).error();
    *member = *std::move(text);
  }
  if (const auto* index = from->if_contains("index"))
    call.index = *index;
  return call;
}

bool has_items(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  return value && value->is_array() && !value->get_array().empty();
}

/// Creates a piece for each complete call of a message, so that later pieces of the stream can be
/// appended to it.
std::vector<tool_call_chunk> pieces_of_calls(const message& m) {
  const auto text = [](const std::string& id) {
    return id.empty() ? std::nullopt : std::optional{id};
  };
  auto out = std::vector<tool_call_chunk>{};
  for (const auto& c : m.tool_calls)
    out.push_back({c.name, to_spaced_json(c.args, charset::ascii), text(c.id), nullptr});
  for (const auto& c : m.invalid_tool_calls)
    out.push_back({text(c.name), c.args, text(c.id), nullptr});
  return out;
}

} // namespace

json::object to_json(const message_chunk& chunk) {
  auto o = to_json(chunk.part);
  const auto* name = std::find_if(chunk_names.begin(), chunk_names.end(),
                                  [&](const auto& n) { return n.type == chunk.part.type; });
  if (name != chunk_names.end())
    o["type"] = name->written;
  if (!chunk.call_chunks.empty()) {
    auto& calls = o["tool_call_chunks"].emplace_array();
    for (const auto& c : chunk.call_chunks)
      calls.push_back({{"name", text_or_null(c.name)},
                       {"args", text_or_null(c.args)},
                       {"id", text_or_null(c.id)},
                       {"index", c.index},
                       {"type", "tool_call_chunk"}});
  }
  if (chunk.is_last)
    o["chunk_position"] = "last";
  return o;
}

result<message_chunk> chunk_from_json(const json::value& value, std::string_view path) {
  const auto* from = value.if_object();
  const auto* type = from ? from->if_contains("type") : nullptr;
  const auto* name = std::find_if(chunk_names.begin(), chunk_names.end(), [&](const auto& n) {
    return type && *type == json::string_view{n.written};
  });
  if (name == chunk_names.end())
    return fault_at(path,
                    "a chunk must be an object whose `type` is the name of a chunk class, for "
                    "example \"AIMessageChunk\"");
  // After the members that only chunks have are removed, the object is read as a message.
  auto rest = *from;
  rest["type"] = to_string(name->type);
  auto chunk = message_chunk{};
  if (const auto* position = rest.if_contains("chunk_position"))
    chunk.is_last = *position == "last";
  if (const auto* pieces = rest.if_contains("tool_call_chunks"); pieces && pieces->is_array())
    for (const auto& piece : pieces->get_array()) {
      auto call = call_from_json(piece, std::string{path} + ".tool_call_chunks");
      if (!call)
        return std::move(call).error();
      chunk.call_chunks.push_back(*std::move(call));
    }
  rest.erase("chunk_position");
  rest.erase("tool_call_chunks");
  auto part = message_from_json(rest, path);
  if (!part)
    return std::move(part).error();
  chunk.part = *std::move(part);
  const auto has_calls = has_items(rest, "tool_calls") || has_items(rest, "invalid_tool_calls");
  if (chunk.call_chunks.empty() && has_calls) {
    // The parsed calls are kept as they were written. They are parsed again only after a further
    // piece has been appended.
    chunk.call_chunks = pieces_of_calls(chunk.part);
    return chunk;
  }
  if (chunk.call_chunks.empty() && chunk.part.type == message_type::ai)
    chunk.call_chunks = chunks_of_kwargs_calls(chunk.part.additional_kwargs);
  read_calls(chunk);
  return chunk;
}

} // namespace superstep
