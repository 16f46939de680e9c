// SPDX-License-Identifier: Apache-2.0
// Renders a conversation as XML; the plain form is in buffer_string.cpp. Escaping follows Python's
// xml.sax.saxutils, which langchain-core uses.
#include "../blocks/block_parts.hpp"
#include "messages/spaced_json.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

#include <vector>

namespace superstep {

namespace {

using namespace blocks;

/// Length limit of documents and tool results, in code points; longer ones end in "...".
constexpr auto document_length_max = std::size_t{500};

void append_escaped(std::string& out, std::string_view text) {
  for (const auto c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
}

std::string escaped(std::string_view text) {
  auto out = std::string{};
  append_escaped(out, text);
  return out;
}

/// Returns an attribute value in double quotes, or in single quotes if the value contains double
/// quotes and no single quotes.
std::string attribute(std::string_view value) {
  const auto has = [&](char c) { return value.find(c) != std::string_view::npos; };
  const auto quote = has('"') && !has('\'') ? '\'' : '"';
  auto out = std::string(1, quote);
  for (const auto c : escaped(value))
    if (c == '"' && quote == '"')
      out += "&quot;";
    else if (c == '\n')
      out += "&#10;";
    else if (c == '\r')
      out += "&#13;";
    else if (c == '\t')
      out += "&#9;";
    else
      out += c;
  return out += quote;
}

/// Truncates a text to document_length_max code points.
std::string shortened(std::string_view text) {
  auto end = std::size_t{0};
  for (auto characters = std::size_t{0}; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 &&
        ++characters > document_length_max)
      return std::string{text.substr(0, end)} + "...";
  return std::string{text};
}

std::string element(std::string_view name, std::string_view text) {
  const auto tag = std::string{name};
  return text.empty() ? "" : '<' + tag + '>' + escaped(text) + "</" + tag + '>';
}

/// Returns an element that refers to media by URL or file id; "" for embedded data.
std::string link(std::string_view name, const json::object& from) {
  const auto url = text_in(from, "url");
  const auto id = text_in(from, "file_id");
  if (url.starts_with("data:") || (url.empty() && id.empty()))
    return {};
  const auto reference = url.empty() ? "file_id=" + attribute(id) : "url=" + attribute(url);
  return '<' + std::string{name} + ' ' + reference + " />";
}

std::string server_call(const json::object& block) {
  const auto* args = block.if_contains("args");
  return "<server_tool_call id=" + attribute(text_in(block, "id")) +
         " name=" + attribute(text_in(block, "name")) + '>' +
         escaped(shortened(args ? to_spaced_json(*args) : "{}")) + "</server_tool_call>";
}

std::string server_result(const json::object& block) {
  const auto* output = member(block, "output");
  const auto text = !output               ? std::string{}
                    : output->is_string() ? std::string{output->get_string()}
                                          : to_spaced_json(*output);
  const auto status = text_in(block, "status");
  return "<server_tool_result tool_call_id=" + attribute(text_in(block, "tool_call_id")) +
         (status.empty() ? "" : " status=" + attribute(status)) + '>' + escaped(shortened(text)) +
         "</server_tool_result>";
}

/// Renders one block; "" for a block without a text form, such as embedded media.
std::string part_of(const json::object& block) {
  const auto type = type_of(block);
  if (!text_in(block, "base64").empty())
    return {};
  if (type == "text")
    return escaped(text_in(block, "text"));
  if (type == "text-plain")
    return escaped(shortened(text_in(block, "text")));
  if (type == "reasoning")
    return element("reasoning", text_in(block, "reasoning"));
  if (is_one_of(type, {"image", "audio", "video"}))
    return link(type, block);
  if (const auto* image = object_in(block, "image_url"); image && type == "image_url")
    return link("image", *image);
  if (type == "server_tool_call")
    return server_call(block);
  if (type == "server_tool_result")
    return server_result(block);
  return {};
}

std::string content_of(const message& m) {
  if (!m.blocks)
    return escaped(m.content);
  auto out = std::string{};
  for (const auto& item : *m.blocks) {
    const auto* text = item.if_string();
    const auto part = text ? escaped(std::string_view{*text}) : part_of(item.as_object());
    if (!out.empty() && !part.empty())
      out += ' ';
    out += part;
  }
  return out;
}

std::string calls_of(const message& m) {
  auto out = std::string{};
  if (m.type != message_type::ai)
    return out;
  for (const auto& call : m.tool_calls)
    out += "  <tool_call id=" + attribute(call.id) + " name=" + attribute(call.name) + '>' +
           escaped(to_spaced_json(call.args)) + "</tool_call>\n";
  const auto* function = object_in(m.additional_kwargs, "function_call");
  // `function_call` is the older form; it is ignored if there are tool calls.
  if (function && m.tool_calls.empty())
    out += "  <function_call name=" + attribute(text_in(*function, "name")) + '>' +
           escaped(text_in(*function, "arguments")) + "</function_call>\n";
  return out;
}

} // namespace

std::string buffer_xml(const message_list& messages, std::string_view separator) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    const auto& m = messages[i];
    const auto type =
        m.type == message_type::chat ? m.role.value_or({}) : std::string{to_string(m.type)};
    out += i == 0 ? std::string_view{} : separator;
    out += "<message type=" + attribute(type) + '>';
    const auto calls = calls_of(m);
    const auto content = content_of(m);
    if (calls.empty())
      out += content;
    else if (content.empty())
      out += '\n' + calls;
    else
      out.append("\n  <content>").append(content).append("</content>\n").append(calls);
    out += "</message>";
  }
  return out;
}

} // namespace superstep
