// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/tool_definition.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <string_view>

namespace superstep {

/// Returns the protocol with this name: `hermes`, `morph_xml`, `yaml_xml` or `qwen3_coder`. The
/// names of the AI SDK middleware (`morphXml`, `yamlXml`, `qwen3coder`) are accepted as well.
/// @returns `errc::not_found` for an unknown name; the text lists the known ones
[[nodiscard]] result<tool_protocol_ptr> make_protocol(std::string_view name);

/// Creates a protocol whose calls are JSON objects with `name` and `arguments` in `<tool_call>`
/// tags, as Hermes and Qwen models are trained to write them. The only protocol here that checks
/// arguments against the schema: a call that does not match remains text.
[[nodiscard]] tool_protocol_ptr make_hermes();

/// Creates a protocol whose calls are elements named after the tool, with an element per parameter.
[[nodiscard]] tool_protocol_ptr make_morph_xml();

/// Creates a protocol whose calls are elements named after the tool that contain a YAML mapping.
[[nodiscard]] tool_protocol_ptr make_yaml_xml();

/// Creates a protocol whose calls are `<function=NAME>` elements with a `<parameter=KEY>` element
/// per argument, with or without a `<tool_call>` block around them. Reads the spellings that models
/// use instead, such as `<call>` or `name="…"`.
[[nodiscard]] tool_protocol_ptr make_qwen3_coder();

/// Returns the description of a tool that protocols use.
/// @param declaration `{name, description, inputSchema, inputExamples}`, as in the AI SDK
[[nodiscard]] protocol_tool make_protocol_tool(const json::object& declaration);
[[nodiscard]] protocol_tool make_protocol_tool(const tool_definition& tool);

} // namespace superstep
