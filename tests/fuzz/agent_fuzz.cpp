// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text is accepted or rejected as an agent file, and every fault has a text and a
// line.
#include "fuzz_input.hpp"

#include <superstep/agents/agent_file.hpp>

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto text = fuzz::text_of(data, size);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 2;
  const auto reading = read_agent_text(text, "agent.yaml", ".");
  for (const auto& fault : reading.faults)
    fuzz::must(!fault.text.empty() && fault.line <= lines && !to_text(fault).empty());
  return 0;
}
