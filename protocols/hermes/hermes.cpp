// SPDX-License-Identifier: Apache-2.0
// The hermes protocol: prompt, history and complete texts. hermes_call.cpp parses the JSON of one
// call. hermes_stream.cpp contains the scanner that finds the ends of calls, and the parser for
// streamed answers.
#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/hermes/hermes_call.hpp"
#include "protocols/hermes/hermes_stream.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::hermes {

namespace {

std::string type_name(const json::value* schema);

std::string named_type(std::string_view type, const json::value& schema) {
  if (type == "string")
    return "str";
  if (type == "number")
    return "float";
  if (type == "integer")
    return "int";
  if (type == "boolean")
    return "bool";
  if (type == "array") {
    const auto* items = schema::member(schema, "items");
    return "list[" + (items ? type_name(items) : std::string{"Any"}) + "]";
  }
  if (type == "object") {
    const auto* more = schema::member(schema, "additionalProperties");
    const auto set = more && !(more->is_bool() && !more->get_bool());
    return set ? "dict[str, " + type_name(more) + "]" : "dict";
  }
  return "Any";
}

/// Returns a type in Python notation, which Hermes models were trained on.
std::string type_name(const json::value* schema) {
  const auto* type = schema ? schema::member(*schema, "type") : nullptr;
  if (type == nullptr)
    return "Any";
  if (const auto* name = type->if_string())
    return named_type(text::view(*name), *schema);
  const auto* list = type->if_array();
  if (list == nullptr)
    return "Any";
  // As in the AI SDK middleware, the items of a list in a union are not described.
  const auto bare = json::value(json::object{});
  auto out = std::string{"Union["};
  for (const auto& name : *list) {
    if (&name != list->data())
      out += ',';
    out += name.is_string() ? named_type(text::view(name.get_string()), bare) : "Any";
  }
  return out + ']';
}

/// Returns the tool as a Python function with its documentation.
std::string signature(const protocol_tool& tool) {
  auto out = tool.name + '(';
  auto lines = std::string{};
  if (const auto* properties = schema::properties(schema::unwrap(tool.schema)))
    for (const auto& property : *properties) {
      const auto name = std::string{text::view(property.key())};
      const auto type = type_name(&property.value());
      out.append(lines.empty() ? "" : ", ").append(name).append(": ").append(type);
      const auto* description = schema::member(property.value(), "description");
      lines.append("        ").append(name).append("(").append(type).append("): ");
      if (description && description->is_string())
        lines += text::trim(text::view(description->get_string()));
      lines += '\n';
    }
  out += ") - " + tool.description + "\n\n";
  return lines.empty() ? out : out + "    Args:\n" + lines;
}

/// Returns one line per tool.
std::string tool_lines(const std::vector<protocol_tool>& tools) {
  auto out = std::string{};
  for (const auto& tool : tools) {
    if (!out.empty())
      out += '\n';
    out += R"({"type": "function", "function": {"name": )";
    append_quoted(out, tool.name);
    out += R"(, "description": )";
    append_quoted(out, signature(tool));
    out += R"(, "parameters": )";
    append_text(out, schema::unwrap(tool.schema));
    out += "}}";
  }
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  return "You can call functions. Their signatures stand between <tools></tools>; call one or "
         "several of them when they help with what the user asks. Use only functions and "
         "parameters "
         "that are listed, give every required parameter, and do not invent values: ask for what "
         "you do not know.\n<tools> " +
         tool_lines(tools) +
         " </tools>\nA call is one JSON object of this schema:\n"
         R"({"title": "FunctionCall", "type": "object", "properties": {"name": {"type": "string"}, )"
         R"("arguments": {"type": "object"}}, "required": ["name", "arguments"]})"
         "\nWrite each call between <tool_call></tool_call> tags, as many as are needed, like "
         "this:\n<tool_call>\n"
         R"({"name": "<function-name>", "arguments": <args-dict>})"
         "\n</tool_call>";
}

} // namespace

} // namespace superstep::hermes

namespace superstep {

namespace {

using namespace hermes;

/// Finds the close tags of calls in a complete text in linear time.
///
/// If a call has no close tag, its open tag is ordinary text and the search starts again after it.
/// Without further measures, a text with many open tags would take quadratic time. Two searches
/// that reach the same position in the same mode have the same result. A failed search therefore
/// records its mode at each open tag that it passed, and a later search that reaches such a
/// position in the same mode fails at once.
class call_finder {
public:
  explicit call_finder(std::string_view text) : text_{text} {}

  /// Returns the position of the close tag of the call whose body begins at `body`, or npos.
  std::size_t close_of(std::size_t body) {
    auto search = scanner{body, scanner::first_tag::is_text};
    auto passed = std::vector<std::pair<std::size_t, scanner::mode>>{};
    while (!is_lost(search)) {
      passed.emplace_back(search.at(), search.inside());
      const auto what = search.advance_to_tag(text_, true);
      if (what == found::close)
        return search.at();
      if (what == found::nested || !search.is_at_tag())
        break;
    }
    for (const auto& [at, inside] : passed)
      lost_[at] |= bit(inside);
    return std::string_view::npos;
  }

private:
  static std::uint8_t bit(scanner::mode m) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(m));
  }
  bool is_lost(const scanner& search) const {
    const auto found = lost_.find(search.at());
    return found != lost_.end() && (found->second & bit(search.inside())) != 0;
  }

  std::string_view text_;
  // By position after an open tag: the modes, as bits, in which a search from there failed.
  std::map<std::size_t, std::uint8_t> lost_;
};

class hermes_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "hermes"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return tool_lines(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return system_prompt(tools);
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    auto out = std::string{open_tag} + '\n';
    append_call(out, tool, arguments);
    out += '\n';
    return out += close_tag;
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    auto parsed = parse_lenient_json(arguments);
    auto out = std::string{open_tag};
    append_call(out, tool,
                parsed ? *parsed
                       : json::value(json::string_view{arguments.data(), arguments.size()}));
    return out += close_tag;
  }
  std::string format_result(std::string_view tool, const json::value& result) const override {
    auto out = std::string{R"(<tool_response>{"name":)"};
    append_quoted(out, tool);
    out += R"(,"content":)";
    text::append_javascript(out, result);
    return out += "}</tool_response>";
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override;

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<hermes::stream>(tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  static void append_call(std::string& out, std::string_view tool, const json::value& arguments) {
    out += R"({"name":)";
    append_quoted(out, tool);
    out += R"(,"arguments":)";
    text::append_javascript(out, arguments);
    out += '}';
  }
};

std::vector<parsed_part> hermes_protocol::parse(std::string_view text,
                                                const std::vector<protocol_tool>& tools,
                                                const protocol_error_handler& on_error) const {
  auto parts = part_list{};
  const auto add_text = [&](std::string_view piece) {
    if (!text::is_blank(piece))
      parts.add_text(piece);
  };
  auto finder = call_finder{text};
  auto shapes = argument_shapes{tools};
  auto from = std::size_t{0};
  auto calls = std::size_t{0};
  for (auto open = text.find(open_tag); open != text.npos && calls < answer_calls_max;
       open = text.find(open_tag, from)) {
    const auto begin = open + open_tag.size();
    const auto close = finder.close_of(begin);
    const auto is_call = close != text.npos;
    add_text(text.substr(from, (is_call ? open : begin) - from));
    if (!is_call) {
      from = begin;
      continue;
    }
    const auto body = text.substr(begin, close - begin);
    from = close + close_tag.size();
    ++calls;
    if (auto call = read_body(body, tools, shapes, repair::yes)) {
      parts.add_call(std::move(*call));
      continue;
    }
    const auto span = text.substr(open, from - open);
    add_text(span);
    if (on_error)
      on_error({"malformed-tool-call-body", name_in(body), std::string{span}});
  }
  add_text(text.substr(from));
  return std::move(parts).take();
}

} // namespace

tool_protocol_ptr make_hermes() {
  return std::make_shared<const hermes_protocol>();
}

} // namespace superstep
