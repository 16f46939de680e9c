// SPDX-License-Identifier: Apache-2.0
// W5k: a state of M integers, each of which is written in every step. The program is built
// directly, because a struct cannot have a number of members that is known only at run time.
#include "actors/engine_access.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace superstep::bench {

namespace {

using integers = std::vector<std::int64_t>;

const integers& integers_of(const state_block& state) {
  return static_cast<const struct_block<integers>&>(state).state;
}

/// Accesses the value of one channel.
struct element {
  using value_type = std::int64_t;
  std::size_t index;
  std::int64_t& of(state_block& state) const noexcept {
    return static_cast<struct_block<integers>&>(state).state[index];
  }
  const std::int64_t& of(const state_block& state) const noexcept {
    return integers_of(state)[index];
  }
};

write_list write_all(const integers& values) {
  auto writes = write_list{};
  writes.reserve(values.size());
  for (const auto v : values)
    writes.push_back({static_cast<std::uint32_t>(writes.size()), false, value{v}});
  return writes;
}

class add_one_to_all final : public detail::node_body {
public:
  void run(const body_input& given, outcome& out) const override {
    const auto& old = integers_of(*given.state);
    auto& writes = out.output.writes;
    writes.reserve(old.size());
    for (const auto v : old)
      writes.push_back({static_cast<std::uint32_t>(writes.size()), false, value{v + 1}});
  }
};

class until final : public detail::router {
public:
  explicit until(std::int64_t steps) : steps_{steps} {}
  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    if (integers_of(fresh).front() < steps_)
      given.table->go_to(out, "all");
  }

private:
  std::int64_t steps_;
};

detail::program_ptr make_wide(std::size_t keys, std::int64_t steps) {
  auto builder = detail::program_builder{};
  for (auto i = std::size_t{0}; i < keys; ++i)
    builder.add_channel(
        std::make_unique<last_value<element, std::int64_t>>("k" + std::to_string(i), element{i}));
  builder.set_state([keys] { return state_ptr{new struct_block<integers>{integers(keys)}}; });
  builder.add_node("all", std::make_unique<add_one_to_all>(), false, {});
  builder.add_edge({std::string{start}}, "all");
  builder.add_branch("all", std::make_unique<until>(steps),
                     {{"all", "all"}, {std::string{end}, std::string{end}}});
  return builder.compile({.name = "wide_state"});
}

std::int64_t sum_after_run(engine& e, const detail::program_ptr& table, std::size_t keys,
                           std::int64_t steps) {
  auto config = run_config{};
  config.recursion_limit = static_cast<std::uint32_t>(steps + 10);
  const auto ended =
      detail::engine_access::wait_for(e, table, write_all(integers(keys)), std::move(config));
  if (ended.error)
    throw std::runtime_error{ended.error->text};
  const auto& all = integers_of(*ended.state);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

} // namespace

report wide_state(parameters& p) {
  const auto keys = p.count("M", 300, {.min = 1, .max = 1'000'000});
  const auto steps = p.integer("S", 100, {.min = 1, .max = 10'000'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  static_cast<void>(sum_after_run(e, make_wide(keys, 1), keys, 1));
  const auto table = make_wide(keys, steps);
  const auto expected = static_cast<std::int64_t>(keys) * steps;
  auto out = report{.unit = "key-write", .units = static_cast<double>(expected)};
  out.time = measure(repetitions, [&] {
    const auto sum = sum_after_run(e, table, keys, steps);
    expect(sum == expected, "the sum is " + std::to_string(sum));
    return sum;
  });
  out.checks = {{"sum", expected}};
  return out;
}

} // namespace superstep::bench
