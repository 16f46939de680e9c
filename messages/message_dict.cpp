// SPDX-License-Identifier: Apache-2.0
// The `{type, data}` form of langchain-core: the JSON form of message_json.cpp with all members
// present.
#include <superstep/messages/message_json.hpp>

#include <string>
#include <utility>

namespace superstep {

namespace {

/// Adds the keys that `data` does not have, with the given value.
void add_absent(json::object& data, std::initializer_list<const char*> keys,
                const json::value& value) {
  for (const auto* key : keys)
    data.emplace(key, value);
}

json::object with_every_member(json::object data, message_type type) {
  add_absent(data, {"id", "name"}, nullptr);
  add_absent(data, {"additional_kwargs", "response_metadata"}, json::object{});
  if (type == message_type::ai) {
    add_absent(data, {"tool_calls", "invalid_tool_calls"}, json::array{});
    add_absent(data, {"usage_metadata"}, nullptr);
  } else if (type == message_type::tool) {
    add_absent(data, {"artifact"}, nullptr);
    add_absent(data, {"status"}, "success");
  }
  return data;
}

} // namespace

json::object to_dict(const message& m) {
  return {{"type", to_string(m.type)}, {"data", with_every_member(to_json(m), m.type)}};
}

json::object to_dict(const message_chunk& chunk) {
  auto data = with_every_member(to_json(chunk), chunk.part.type);
  if (chunk.part.type == message_type::ai) {
    add_absent(data, {"tool_call_chunks"}, json::array{});
    add_absent(data, {"chunk_position"}, nullptr);
  }
  const auto type = data.at("type");
  return {{"type", type}, {"data", std::move(data)}};
}

result<message> message_from_dict(const json::value& value, std::string_view path) {
  const auto* from = value.if_object();
  const auto* type = from ? from->if_contains("type") : nullptr;
  const auto* data = from ? from->if_contains("data") : nullptr;
  if (!type || !type->is_string() || !data || !data->is_object())
    return error{errc::parse_failed,
                 std::string{path} + ": must be an object with `type` and `data`"};
  auto whole = data->get_object();
  whole["type"] = *type;
  if (!type->get_string().ends_with("Chunk"))
    return message_from_json(whole, std::string{path} + ".data");
  auto chunk = chunk_from_json(whole, std::string{path} + ".data");
  if (!chunk)
    return std::move(chunk).error();
  // The calls are already parsed. They are not parsed again, so that an invalid call stays invalid
  // and is never executed.
  return std::move(chunk->part);
}

} // namespace superstep
