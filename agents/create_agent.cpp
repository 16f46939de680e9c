// SPDX-License-Identifier: Apache-2.0
// The parts of create_agent() that are not templates: the instantiation for messages_state, sums of
// token usage, and measured times of calls. The builder is in agents/detail/agent_builder.hpp.
#include <superstep/agents/create_agent.hpp>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace superstep {

void add_token_usage::operator()(token_usage& into, token_usage&& more) const {
  into.input_tokens += more.input_tokens;
  into.output_tokens += more.output_tokens;
  into.total_tokens += more.total_tokens;
  const auto add = [](object_box& sums, const object_box& counts) {
    // Counts that are not integers are ignored, because they cannot be summed.
    for (const auto& [name, count] : counts) {
      auto& sum = sums[name];
      if (count.is_int64())
        sum = (sum.is_int64() ? sum.get_int64() : 0) + count.get_int64();
    }
  };
  add(into.input_details, more.input_details);
  add(into.output_details, more.output_details);
}

agent_tools::agent_tools(tool_list tools) : node_{tool_list{}}, is_list_{true} {
  try {
    node_ = tool_node{std::move(tools)};
  } catch (const std::invalid_argument& e) {
    fault_ = e.what();
  }
}

void call_times::add(call_time one) const {
  constexpr auto few = std::size_t{4}; // calls of most runs
  const auto lock = std::scoped_lock{mutex_};
  if (times_.empty())
    times_.reserve(few);
  times_.push_back(std::move(one));
}

std::vector<call_time> call_times::take() const {
  const auto lock = std::scoped_lock{mutex_};
  return std::exchange(times_, {});
}

template compiled_graph<messages_state> detail::build_agent(agent_options<messages_state>);
template compiled_graph<chat_state> detail::build_agent(agent_options<chat_state>);

} // namespace superstep
