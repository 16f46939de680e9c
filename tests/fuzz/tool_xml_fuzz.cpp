// SPDX-License-Identifier: Apache-2.0
// Fuzz target for tool arguments written as XML elements, and for the relaxed JSON of hermes.
#include "protocol_fuzz.hpp"
#include "protocols/elements/tool_xml.hpp"
#include "protocols/relaxed_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto text = fuzz::text_of(data, size);
  const auto& schema = fuzz::sample_tools().front().schema;
  if (const auto strict = parse_tool_xml(text, schema, false))
    fuzz::must(parse_tool_xml(text, schema, true).has_value());
  if (const auto value = parse_relaxed_json(text))
    fuzz::must(parse_lenient_json(to_text(*value)).has_value());
  return 0;
}
