// SPDX-License-Identifier: Apache-2.0
#include "protocols/qwen3_coder_prompt.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"
#include "protocols/xml_writer.hpp"

#include <superstep/protocols/relaxed_json.hpp>

#include <algorithm>

namespace superstep::qwen3_coder {

namespace {

/// Values in the words of Python, which the models of this family were trained on.
std::string value_text(json::value v) {
  if (v.is_bool())
    return v.get_bool() ? "True" : "False";
  if (v.is_null())
    return "None";
  if (const auto* s = v.if_string())
    return std::string{text::view(*s)};
  if (v.is_number())
    return text::number_text(v.to_number<double>());
  text::whole_numbers(v);
  return to_text(v);
}

bool is_xml_name(std::string_view s) {
  const auto is_letter = [](char c) {
    return (text::lower(c) >= 'a' && text::lower(c) <= 'z') || c == '_';
  };
  return !s.empty() && is_letter(s.front()) && std::ranges::all_of(s, [&](char c) {
    return is_letter(c) || text::is_digit(c) || c == '-' || c == '.';
  });
}

void add_element(std::string& out, std::string_view name, std::string_view text) {
  out += '\n';
  const auto plain = is_xml_name(name);
  const auto tag = plain ? std::string{name} : std::string{"property"};
  out += '<' + tag + (plain ? "" : " name=\"" + escape_attribute(name) + '"') + '>';
  out += escape_text(text) + "</" + tag + '>';
}

/// Every member but those that are said elsewhere.
void add_members(std::string& out, const json::value& schema,
                 std::initializer_list<std::string_view> but) {
  if (const auto* members = schema.if_object())
    for (const auto& member : *members)
      if (std::ranges::find(but, text::view(member.key())) == but.end())
        add_element(out, text::view(member.key()), value_text(member.value()));
}

void add_parameter(std::string& out, std::string_view name, const json::value& schema) {
  out += "\n<parameter>";
  add_element(out, "name", name);
  if (const auto* type = schema::member(schema, "type")) {
    auto joined = std::string{};
    if (const auto* list = type->if_array())
      for (const auto& each : *list)
        joined += (joined.empty() ? "" : ",") + value_text(each);
    else
      joined = value_text(*type);
    add_element(out, "type", joined);
  }
  if (const auto* about = schema::member(schema, "description"); about && about->is_string())
    add_element(out, "description", text::trim(text::view(about->get_string())));
  add_members(out, schema, {"name", "type", "description"});
  out += "\n</parameter>";
}

/// One piece of text per parameter: lists repeat it.
template <class Add>
void for_each_parameter(const json::value& input, const Add& add) {
  const auto* members = input.if_object();
  if (members == nullptr) {
    if (!input.is_null())
      add("input", input);
    return;
  }
  for (const auto& member : *members)
    if (const auto* list = member.value().if_array())
      for (const auto& item : *list)
        add(text::view(member.key()), item);
    else
      add(text::view(member.key()), member.value());
}

} // namespace

std::string tool_elements(const std::vector<protocol_tool>& tools) {
  auto out = std::string{};
  for (const auto& tool : tools) {
    out += "\n<function>";
    add_element(out, "name", tool.name);
    if (!tool.description.empty())
      add_element(out, "description", text::trim(tool.description));
    out += "\n<parameters>";
    const auto& schema = schema::unwrap(tool.schema);
    if (const auto* properties = schema::properties(schema))
      for (const auto& property : *properties)
        add_parameter(out, text::view(property.key()), property.value());
    add_members(out, schema, {"type", "properties"});
    out += "\n</parameters>\n</function>";
  }
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  if (tools.empty())
    return {};
  return "# Tools\n\nYou can call the functions that are listed here:\n\n<tools>" +
         tool_elements(tools) +
         "\n</tools>\n\nWhen a function helps with what the user asks, write a call of this form, "
         "with nothing after it:\n\n"
         "<tool_call>\n<function=example_function>\n<parameter=example_parameter>\nvalue\n"
         "</parameter>\n<parameter=another_parameter>\nA value may have\nseveral lines.\n"
         "</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\n"
         "- A call is a <function=...></function> element inside <tool_call></tool_call>.\n"
         "- Give every required parameter. Do not invent functions, parameters or values; ask for "
         "what you do not know.\n"
         "- Reasons for a call go before it, never after it.\n"
         "- When no function is needed, answer as you would without them and do not mention "
         "them.\n</IMPORTANT>";
}

std::string sample_call(std::string_view tool, const json::value& arguments) {
  auto out = "<tool_call>\n<function=" + std::string{tool} + ">\n";
  if (const auto* members = arguments.if_object())
    for (const auto& member : *members)
      out += "<parameter=" + std::string{text::view(member.key())} + ">\n" +
             escape_text(value_text(member.value())) + "\n</parameter>\n";
  return out + "</function>\n</tool_call>";
}

std::string past_call(std::string_view tool, std::string_view arguments) {
  auto parsed = parse_lenient_json(arguments);
  const auto input = parsed ? std::move(*parsed)
                            : json::value(json::string_view{arguments.data(), arguments.size()});
  auto out = "<tool_call>\n  <function=\"" + escape_attribute(tool) + "\">\n";
  const auto add = [&](std::string_view name, const json::value& value) {
    out += "    <parameter=\"" + escape_attribute(name) + "\">" + escape_text(value_text(value)) +
           "</parameter>\n";
  };
  // A list that is the whole input is one parameter, unlike a list in it.
  for_each_parameter(input, add);
  return out + "  </function>\n</tool_call>";
}

} // namespace superstep::qwen3_coder
