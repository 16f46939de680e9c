// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_text.hpp"

#include <superstep/protocols/hermes.hpp>
#include <superstep/protocols/make_protocol.hpp>
#include <superstep/protocols/morph_xml.hpp>
#include <superstep/protocols/qwen3_coder.hpp>
#include <superstep/protocols/yaml_xml.hpp>

#include <array>
#include <string>
#include <utility>

namespace superstep {

namespace {

struct known_protocol {
  std::string_view name;
  std::string_view spelling; // as the ecosystem writes it
  tool_protocol_ptr (*make)();
};

constexpr auto known_protocols = std::array{
    known_protocol{"hermes", "hermes", make_hermes},
    known_protocol{"morph_xml", "morphXml", make_morph_xml},
    known_protocol{"yaml_xml", "yamlXml", make_yaml_xml},
    known_protocol{"qwen3_coder", "qwen3coder", make_qwen3_coder},
};

std::string string_in(const json::object& o, std::string_view key) {
  const auto* s = o.if_contains(key);
  return s && s->is_string() ? std::string{text::view(s->get_string())} : std::string{};
}

} // namespace

result<tool_protocol_ptr> make_protocol(std::string_view name) {
  auto names = std::string{};
  for (const auto& known : known_protocols) {
    if (name == known.name || name == known.spelling)
      return known.make();
    names += (names.empty() ? "" : ", ") + std::string{known.name};
  }
  return error{errc::not_found,
               "no tool-call protocol is called \"" + std::string{name} + "\"; there are " + names};
}

protocol_tool make_protocol_tool(const json::object& declaration) {
  auto tool = protocol_tool{};
  tool.name = string_in(declaration, "name");
  tool.description = string_in(declaration, "description");
  if (const auto* schema = declaration.if_contains("inputSchema"))
    tool.schema = *schema;
  if (const auto* examples = declaration.if_contains("inputExamples");
      examples && examples->is_array())
    for (const auto& example : examples->get_array()) {
      const auto* input = example.is_object() ? example.get_object().if_contains("input") : nullptr;
      tool.examples.push_back(input ? *input : example);
    }
  tool.as_given = declaration;
  return tool;
}

protocol_tool make_protocol_tool(const tool_definition& tool) {
  auto declaration = json::object{{"type", "function"}};
  declaration["name"] = tool.name;
  if (!tool.description.empty())
    declaration["description"] = tool.description;
  declaration["inputSchema"] = tool.parameters;
  return make_protocol_tool(declaration);
}

} // namespace superstep
