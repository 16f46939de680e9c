// SPDX-License-Identifier: Apache-2.0
#include "protocols/described_tools.hpp"

#include <superstep/protocols/make_protocol.hpp>
#include <superstep/protocols/transform.hpp>

#include <algorithm>

namespace superstep {

namespace {

// Agents that choose their tools anew for each request must not pile them up here.
constexpr auto known_max = std::size_t{8};

} // namespace

described_tools_ptr tool_describer::make(const tool_definitions& tools) const {
  auto out = described_tools{};
  out.source = tools;
  if (tools != nullptr)
    for (const auto& tool : *tools)
      out.tools.push_back(make_protocol_tool(tool));
  if (!out.tools.empty()) {
    out.prompt = protocol_->prompt(out.tools);
    out.examples = example_section(*protocol_, out.tools);
  }
  return std::make_shared<const described_tools>(std::move(out));
}

described_tools_ptr tool_describer::describe(const tool_definitions& tools) const {
  const auto find = [&] {
    const auto found = std::ranges::find(known_, tools, &described_tools::source);
    if (found != known_.end())
      std::rotate(found, found + 1, known_.end());
    return found != known_.end();
  };
  {
    const auto lock = std::scoped_lock{guards_known_};
    if (find())
      return known_.back();
  }
  // Not under the lock: protocols are also written by users, and long lists take their time.
  auto made = make(tools);
  const auto lock = std::scoped_lock{guards_known_};
  if (find())
    return known_.back();
  if (known_.size() >= known_max)
    known_.pop_front();
  known_.push_back(made);
  return made;
}

} // namespace superstep
