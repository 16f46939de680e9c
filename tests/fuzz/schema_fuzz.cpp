// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the first input line is a schema, the rest is an object of arguments. The schema is
// rejected, or it checks the arguments without hanging or crashing.
#include "fuzz_input.hpp"

#include <superstep/base/json.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto text = fuzz::text_of(data, size);
  const auto newline = text.find('\n');
  if (newline == std::string_view::npos)
    return 0;
  const auto schema = parse_json(text.substr(0, newline));
  const auto arguments = parse_json(text.substr(newline + 1));
  if (!schema || !schema->is_object() || !arguments || !arguments->is_object())
    return 0;
  if (const auto compiled = argument_schema::compile(schema->get_object()))
    static_cast<void>(compiled->check(arguments->get_object()));
  return 0;
}
