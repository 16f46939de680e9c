// SPDX-License-Identifier: Apache-2.0
// Fuzz target for the calls of the yaml_xml protocol. Their bodies are also parsed alone: the fast
// path must agree with the full YAML parser.
#include "protocol_fuzz.hpp"
#include "protocols/yaml_xml/yaml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto text = fuzz::text_of(data, size);
  fuzz::read_protocol("yaml_xml", text);
  if (const auto plain = read_plain_yaml(text, yaml_limits{}.values_max)) {
    const auto full = read_any_yaml(text);
    fuzz::must(full && to_text(*full) == to_text(*plain));
  }
  return 0;
}
