// SPDX-License-Identifier: Apache-2.0
// Converts standard blocks back to items of OpenAI's Responses API.
// messages/blocks/openai_blocks.cpp and openai_server_blocks.cpp convert items to standard blocks.
#include "models/providers/responses_items.hpp"

#include "models/providers/json_parts.hpp"

#include <algorithm>
#include <utility>

namespace superstep::providers {

namespace {

/// Moves the members of `extras` into the item. The conversion to a standard block stored members
/// there for which the standard has no place.
void put_extras(json::object& into, const json::object& block) {
  if (const auto* extras = object_in(block, "extras"))
    put_all(into, *extras);
}

/// Converts a tool call to a function_call item.
json::object function_call(const json::object& block) {
  auto out = json::object{{"type", "function_call"}};
  put_as(out, "call_id", block, "id");
  put_as(out, "name", block, "name");
  const auto* args = block.if_contains("args");
  out["arguments"] = args ? to_text(*args) : std::string{"{}"};
  if (const auto* extras = object_in(block, "extras")) {
    put_as(out, "id", *extras, "item_id");
    put_as(out, "status", *extras, "status");
  }
  return out;
}

/// Converts a standard citation to OpenAI's annotation.
json::object annotation_form(const json::object& citation) {
  auto out = citation;
  if (type_of(citation) == "non_standard_annotation") {
    const auto* value = object_in(citation, "value");
    return value ? *value : json::object{};
  }
  if (type_of(citation) != "citation")
    return citation;
  out.erase("extras");
  put_extras(out, citation);
  if (citation.contains("url")) {
    out["type"] = "url_citation";
    out.erase("cited_text");
    return out;
  }
  out["type"] = "file_citation";
  put_as(out, "filename", citation, "title");
  out.erase("title");
  return out;
}

/// Converts the citations of a text block to annotations.
json::object text_block(const json::object& block) {
  auto out = block;
  if (auto* annotations = out.if_contains("annotations"); annotations && annotations->is_array())
    for (auto& a : annotations->get_array())
      if (a.is_object())
        a = annotation_form(a.get_object());
  return out;
}

/// Appends a reasoning block to the previous item if both have the same id. Otherwise starts a new
/// item.
void add_reasoning(json::array& into, const json::object& block) {
  auto* last = into.empty() ? nullptr : into.back().if_object();
  const auto* id = member(block, "id");
  const auto continues = last && type_of(*last) == "reasoning" && id &&
                         block.contains("reasoning") && member(*last, "id") &&
                         *member(*last, "id") == *id;
  if (!continues) {
    auto item = block;
    item.erase("reasoning");
    item.erase("extras");
    item["summary"] = json::array{};
    put_extras(item, block);
    into.push_back(std::move(item));
    last = &into.back().get_object();
  }
  auto* summary = (*last)["summary"].if_array();
  if (const auto* text = member(block, "reasoning"); text && summary)
    summary->push_back(json::object{{"type", "summary_text"}, {"text", *text}});
}

/// Converts a generated image to the call that generated it.
json::object image_call(const json::object& block) {
  auto out = json::object{{"type", "image_generation_call"}};
  put_as(out, "id", block, "id");
  put_as(out, "result", block, "base64");
  put_extras(out, block);
  return out;
}

/// Converts the call of a provider-run tool, together with its result, to one item.
json::object server_call(const json::object& block, const json::array& all) {
  const auto name = text_in(block, "name");
  auto out = json::object{};
  const auto* args = block.if_contains("args");
  const auto inner = args && args->is_object() ? args->get_object() : json::object{};
  if (name == "web_search")
    out = json::object{{"type", "web_search_call"}, {"action", inner}};
  else if (name == "file_search")
    out = json::object{{"type", "file_search_call"}};
  else if (name == "code_interpreter")
    out = json::object{{"type", "code_interpreter_call"}};
  else if (name == "remote_mcp")
    out = json::object{{"type", "mcp_call"}, {"arguments", to_text(inner)}};
  else
    return {};
  put_as(out, "queries", inner, "queries");
  put_as(out, "code", inner, "code");
  put_as(out, "id", block, "id");
  put_extras(out, block);
  if (auto* tool = out.if_contains("tool_name")) {
    out["name"] = json::value(*tool);
    out.erase("tool_name");
  }
  const auto is_result = [&](const json::value& v) {
    const auto* other = v.if_object();
    return other && type_of(*other) == "server_tool_result" &&
           text_in(*other, "tool_call_id") == text_in(block, "id");
  };
  const auto found = std::find_if(all.begin(), all.end(), is_result);
  if (found == all.end())
    return out;
  const auto& result = found->get_object();
  const auto* key = name == "file_search"        ? "results"
                    : name == "code_interpreter" ? "outputs"
                                                 : "output";
  if (name != "web_search")
    put_as(out, key, result, "output");
  if (name != "remote_mcp")
    out["status"] = text_in(result, "status") == "error" ? "failed" : "completed";
  return out;
}

/// Whether a standard block of another provider must be dropped: reasoning, because the API
/// requires the id of its own item, and tools that the provider ran.
bool is_foreign(const json::object& block, const message& m) {
  const auto provider = provider_of(m);
  if (m.type != message_type::ai || !is_standard(m))
    return false;
  if (type_of(block) == "reasoning")
    return !member(block, "id");
  return !provider.empty() && provider != "openai" && type_of(block) == "server_tool_call";
}

/// Renames the member of a file citation that contains its position. Does nothing for other
/// annotations.
void rename(json::object& annotation, std::string_view from, std::string_view to) {
  if (type_of(annotation) != "file_citation" || !annotation.contains(from))
    return;
  auto place = std::move(annotation[from]);
  annotation.erase(from);
  annotation[to] = std::move(place);
}

} // namespace

json::object annotation_of(json::object given) {
  rename(given, "index", "file_index");
  return given;
}

json::object own_annotation(json::object annotation) {
  rename(annotation, "file_index", "index");
  return annotation;
}

json::array responses_blocks(const json::array& standard, const message& m) {
  auto out = json::array{};
  for (const auto& element : standard) {
    const auto* block = element.if_object();
    if (!block) {
      out.push_back(element);
      continue;
    }
    const auto type = type_of(*block);
    if (is_foreign(*block, m))
      continue;
    if (type == "text")
      out.push_back(text_block(*block));
    else if (type == "tool_call")
      out.push_back(function_call(*block));
    else if (type == "reasoning" && !block->contains("summary"))
      add_reasoning(out, *block);
    else if (type == "image" && block->contains("base64") && block->contains("id") &&
             m.type == message_type::ai)
      out.push_back(image_call(*block));
    else if (type == "server_tool_call")
      out.push_back(server_call(*block, standard));
    else if (type == "non_standard" && object_in(*block, "value"))
      out.push_back(*object_in(*block, "value"));
    else if (type != "server_tool_result")
      out.push_back(*block);
  }
  return out;
}

} // namespace superstep::providers
