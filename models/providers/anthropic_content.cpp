// SPDX-License-Identifier: Apache-2.0
// Converts the content of a message to Anthropic's blocks. The API rejects unknown members, so
// blocks of earlier answers are reduced to the members that it accepts. anthropic_data.cpp converts
// images and files; anthropic_request.cpp assembles the turns.
#include "models/providers/anthropic_content.hpp"

#include "base/ascii_text.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace superstep::providers {

namespace {

/// Builds a tool_use block. A missing id becomes null.
json::object tool_use(std::string_view id, std::string_view name, json::value input) {
  auto block = json::object{
      {"type", "tool_use"}, {"id", id.empty() ? json::value{} : json::value(id)}, {"name", name}};
  block["input"] = std::move(input);
  return block;
}

/// Parses a JSON object. Returns an empty object if the text is not one.
json::value object_of(std::string_view text) {
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? *std::move(parsed) : json::value(json::object{});
}

/// Returns the input of a call. After streaming, `input` is empty and `partial_json` has the text.
json::value input_of(const json::object& block) {
  const auto* input = member(block, "input");
  const auto* object = input ? input->if_object() : nullptr;
  if (input && *input != "" && !(object && object->empty()))
    return *input;
  return object_of(text_in(block, "partial_json"));
}

/// Returns the members that the API accepts, because streaming and the standard form add others;
/// nullopt if the block can be sent unchanged.
std::optional<json::object> known_members(const json::object& block) {
  const auto type = type_of(block);
  if (type == "text")
    return only(block, {"type", "text", "cache_control", "citations"});
  if (type == "thinking")
    return only(block, {"type", "thinking", "cache_control", "signature"});
  if (type == "redacted_thinking")
    return only(block, {"type", "cache_control", "data"});
  if (is_one_of(type, {"server_tool_use", "mcp_tool_use"})) {
    auto out = only(block, {"type", "id", "name", "server_name", "cache_control"});
    out["input"] = input_of(block);
    return out;
  }
  if (type.ends_with("_tool_result") && type != "server_tool_result")
    return only(block, {"type", "content", "tool_use_id", "is_error", "cache_control"});
  return std::nullopt;
}

/// Converts standard citations back to Anthropic's form. Drops non-standard citations of other
/// providers, and citations without the cited text or a reference to its source.
json::array citations_of(const json::array& annotations, bool is_own) {
  auto out = json::array{};
  for (const auto& annotation : annotations) {
    const auto* from = annotation.if_object();
    if (from && is_own && type_of(*from) == "non_standard_annotation" && object_in(*from, "value"))
      out.push_back(*object_in(*from, "value"));
    const auto* extras = from ? object_in(*from, "extras") : nullptr;
    if (!from || type_of(*from) != "citation" || !from->contains("cited_text") ||
        (!extras && !from->contains("url")))
      continue;
    auto citation = extras ? *extras : json::object{};
    citation["cited_text"] = from->at("cited_text");
    if (from->contains("url")) {
      citation["type"] = "web_search_result_location";
      put_as(citation, "url", *from, "url");
      put_as(citation, "title", *from, "title");
    } else {
      citation["type"] = extras->contains("start_char_index")      ? "char_location"
                         : extras->contains("start_page_number")   ? "page_location"
                         : extras->contains("search_result_index") ? "search_result_location"
                                                                   : "content_block_location";
      const auto searched = citation["type"] == "search_result_location";
      put_as(citation, searched ? "title" : "document_title", *from, "title");
    }
    out.push_back(std::move(citation));
  }
  return out;
}

/// Converts the call of a provider-run tool back to Anthropic's block.
json::object own_server_call(const json::object& block) {
  const auto name = text_in(block, "name");
  const auto* extras = object_in(block, "extras");
  const auto none = json::object{};
  const auto& more = extras ? *extras : none;
  const auto is_remote = name == "remote_mcp";
  auto out = json::object{{"type", is_remote ? "mcp_tool_use" : "server_tool_use"},
                          {"id", text_in(block, "id")},
                          {"name", is_remote                    ? text_in(more, "tool_name")
                                   : name == "code_interpreter" ? "code_execution"
                                                                : name}};
  const auto* args = block.if_contains("args");
  out["input"] = args ? *args : json::value(json::object{});
  put_as(out, "server_name", more, "server_name");
  return out;
}

/// Converts the result of a provider-run tool back to Anthropic's block.
json::object own_server_result(const json::object& block) {
  const auto* extras = object_in(block, "extras");
  auto out = json::object{{"type", extras ? text_in(*extras, "block_type") : ""},
                          {"tool_use_id", text_in(block, "tool_call_id")}};
  put_as(out, "content", block, "output");
  if (text_in(block, "status") == "error" && out["type"] == "mcp_tool_result")
    out["is_error"] = true;
  return out;
}

/// Converts a standard block to Anthropic's form. Returns an empty object if the block must be
/// dropped.
json::object own_form(const json::object& block, const message& m) {
  const auto type = type_of(block);
  const auto is_own = provider_of(m) == "anthropic";
  if (type == "text" && array_in(block, "annotations")) {
    auto out = only(block, {"type", "text", "cache_control"});
    if (auto citations = citations_of(*array_in(block, "annotations"), is_own); !citations.empty())
      out["citations"] = std::move(citations);
    return out;
  }
  if (type == "reasoning") {
    if (!is_own)
      return {};
    auto out = json::object{{"type", "thinking"}, {"thinking", text_in(block, "reasoning")}};
    if (const auto* extras = object_in(block, "extras"))
      put_as(out, "signature", *extras, "signature");
    return out;
  }
  if (is_one_of(type, {"tool_call", "tool_call_chunk"})) {
    const auto* args = block.if_contains("args");
    auto input = args ? *args : json::value(json::object{});
    if (type == "tool_call_chunk" && !input.is_object())
      input = object_of(text_in(block, "args"));
    return tool_use(text_in(block, "id"), text_in(block, "name"), std::move(input));
  }
  if (type == "invalid_tool_call") {
    // The arguments cannot be parsed, but a tool message with the error refers to this call. So the
    // call is sent without arguments.
    const auto id = text_in(block, "id");
    const auto name = text_in(block, "name");
    return is_own && !id.empty() && !name.empty() ? tool_use(id, name, json::object{})
                                                  : json::object{};
  }
  if (type == "server_tool_call" && is_own)
    return own_server_call(block);
  if (type == "server_tool_result" && is_own)
    return own_server_result(block);
  if (type == "non_standard") {
    const auto* value = object_in(block, "value");
    return value && (is_own || type_of(*value) == "refusal") ? *value : json::object{};
  }
  return block;
}

/// Builds the content of one message as a list of blocks.
class content_writer {
public:
  explicit content_writer(const message& m) : m_{m} {}

  result<json::array> write() {
    if (!m_.blocks && (!is_blank(m_.content) || m_.type != message_type::ai))
      blocks_.push_back(json::object{{"type", "text"}, {"text", m_.content}});
    if (m_.blocks)
      for (const auto& element : *m_.blocks)
        if (auto added = add(element); !added)
          return std::move(added).error();
    if (m_.type == message_type::ai)
      add_calls();
    return std::move(blocks_);
  }

private:
  result<> add(const json::value& element) {
    const auto* given = element.if_object();
    if (!given)
      return add_block(json::object{{"type", "text"}, {"text", element}});
    if (type_of(*given).empty())
      return bad_request("Anthropic does not accept a block without `type`: " + to_text(*given));
    const auto standard = m_.type == message_type::ai && is_standard(m_);
    return add_block(standard ? own_form(*given, m_) : *given);
  }

  /// Adds one block. Blocks that belong to other providers are dropped. Reasoning is one of them,
  /// because Anthropic requires its own signature.
  result<> add_block(const json::object& block) {
    const auto type = type_of(block);
    const auto from_elsewhere = m_.type != message_type::ai || provider_of(m_) != "anthropic";
    if (block.empty() || (from_elsewhere && is_one_of(type, {"reasoning", "function_call"})))
      return {};
    if (m_.type == message_type::ai && from_elsewhere && !provider_of(m_).empty() &&
        is_of_server_tool(type))
      return {};
    if (type == "refusal")
      return add_block({{"type", "text"}, {"text", text_in(block, "refusal")}});
    if (is_one_of(type, {"image_url", "input_audio"}) || is_data_block(block) ||
        (type == "file" && object_in(block, "file")))
      return add_data(block);
    if (type == "tool_use")
      return add_tool_use(block);
    if (type == "tool_result")
      return add_tool_result(block);
    if (type == "text" && is_blank(text_in(block, "text")))
      return {}; // the API rejects empty text
    blocks_.push_back(known_members(block).value_or(block));
    return {};
  }

  result<> add_data(const json::object& block) {
    auto data = anthropic_data_block(block);
    if (!data)
      return std::move(data).error();
    blocks_.push_back(*std::move(data));
    return {};
  }

  /// Adds a tool call. Prefers the message's parsed call, because the application may have edited
  /// it.
  result<> add_tool_use(const json::object& block) {
    const auto id = text_in(block, "id");
    const auto* const call = find_call(id);
    auto out = call != nullptr ? tool_use(id, call->name, call->args)
                               : tool_use(id, text_in(block, "name"), input_of(block));
    put_as(out, "caller", block, "caller");
    blocks_.push_back(std::move(out));
    return {};
  }

  /// Returns the first parsed call with an id; null if there is none. An answer may have 100,000
  /// calls, so they are indexed unless they are few.
  const tool_call* find_call(std::string_view id) {
    constexpr auto few = std::size_t{32};
    const auto& calls = m_.tool_calls;
    if (calls.size() <= few) {
      const auto at = std::ranges::find(calls, id, &tool_call::id);
      return at != calls.end() ? &*at : nullptr;
    }
    if (calls_.empty())
      for (const auto& call : calls)
        calls_.emplace(call.id, &call);
    const auto at = calls_.find(id);
    return at != calls_.end() ? at->second : nullptr;
  }

  result<> add_tool_result(const json::object& block) {
    auto out = block;
    if (const auto* content = array_in(block, "content")) {
      auto inner = message{};
      inner.blocks = *content;
      if (inside_result_)
        return bad_request("Anthropic does not accept a tool_result inside a tool_result");
      // A result cannot contain results, so the recursion has one level.
      auto writer = content_writer{inner};
      writer.inside_result_ = true;
      auto written = writer.write();
      if (!written)
        return std::move(written).error();
      out["content"] = *std::move(written);
    }
    blocks_.push_back(std::move(out));
    return {};
  }

  /// Adds the tool calls that have no block in the content. They are compared only with blocks, and
  /// not with each other, because several calls may have no id.
  void add_calls() {
    const auto content_end = blocks_.size();
    const auto has_call = [&](std::string_view id) {
      const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(content_end);
      return std::any_of(blocks_.begin(), end, [&](const json::value& b) {
        return type_of(b.get_object()) == "tool_use" && text_in(b.get_object(), "id") == id;
      });
    };
    for (const auto& c : m_.tool_calls)
      if (!has_call(c.id))
        blocks_.push_back(tool_use(c.id, c.name, c.args));
    // A tool message with the error refers to the invalid call, so the call must be sent too.
    for (const auto& c : m_.invalid_tool_calls)
      if (!has_call(c.id))
        blocks_.push_back(tool_use(c.id, c.name, json::object{}));
  }

  const message& m_;
  std::unordered_map<std::string_view, const tool_call*> calls_; ///< see find_call()
  bool inside_result_ = false;
  json::array blocks_;
};

} // namespace

result<json::array> anthropic_blocks(const message& m) {
  return content_writer{m}.write();
}

} // namespace superstep::providers
