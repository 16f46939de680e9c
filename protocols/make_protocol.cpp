// SPDX-License-Identifier: Apache-2.0
// Creates protocols by name, and converts tool declarations to the form that protocols use.
#include "protocols/text.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <array>
#include <string>
#include <utility>

namespace superstep {

namespace {

struct known_protocol {
  std::string_view name;
  std::string_view spelling; // the name in the npm package @ai-sdk-tool/parser
  tool_protocol_ptr (*make)();
};

constexpr auto known_protocols = std::array{
    known_protocol{"hermes", "hermes", make_hermes},
    known_protocol{"morph_xml", "morphXml", make_morph_xml},
    known_protocol{"yaml_xml", "yamlXml", make_yaml_xml},
    known_protocol{"qwen3_coder", "qwen3coder", make_qwen3_coder},
};

} // namespace

result<tool_protocol_ptr> make_protocol(std::string_view name) {
  auto names = std::string{};
  for (const auto& known : known_protocols) {
    if (name == known.name || name == known.spelling)
      return known.make();
    names += (names.empty() ? "" : ", ") + std::string{known.name};
  }
  return error{errc::not_found, "unknown tool-call protocol \"" + std::string{name} +
                                    "\"; known protocols: " + names};
}

protocol_tool make_protocol_tool(const json::object& declaration) {
  auto tool = protocol_tool{};
  tool.name = text::member_text(declaration, "name");
  tool.description = text::member_text(declaration, "description");
  if (const auto* schema = declaration.if_contains("inputSchema"))
    tool.schema = *schema;
  if (const auto* examples = declaration.if_contains("inputExamples");
      examples && examples->is_array())
    for (const auto& example : examples->get_array())
      if (const auto* o = example.if_object(); o != nullptr && o->contains("input"))
        tool.examples.push_back(o->at("input"));
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
