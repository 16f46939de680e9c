// SPDX-License-Identifier: Apache-2.0
// W8resume: opens the database that `W8chat … keep=1` left in another process, reads the state of
// its thread and runs one more turn.
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/messages/messages.hpp>

#include <string>
#include <utility>

namespace superstep::bench {

namespace {

compiled_graph<chat_state> make_kept_agent(const std::string& file) {
  auto options = react_agent_options<chat_state>{};
  options.model = make_scripted({});
  options.tools = {make_echo(std::chrono::milliseconds{0}, false)};
  options.checkpointer = sqlite_checkpointer(file);
  return create_react_agent(std::move(options));
}

} // namespace

report resumed_chat(parameters& p) {
  const auto file = p.text("file", "w8.db");
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  auto config = run_config{};
  config.thread_id = "chat";
  auto out = report{.unit = "resume"};
  auto before = std::size_t{0};
  auto after = std::size_t{0};
  auto reading = timing{};
  out.time = measure(1, [&] {
    const auto graph = make_kept_agent(file);
    reading = measure(1, [&] {
      const auto found = e.get_state(graph, config);
      before = found.values ? found.values->messages.size() : 0;
      return 0;
    });
    auto in = update{set<&chat_state::messages>({human_message("one more turn")})};
    auto ended = e.try_invoke(graph, std::move(in), config);
    if (ended.error)
      throw std::runtime_error{ended.error->text};
    after = ended.state.messages.size();
    return ended;
  });
  expect(before > 0, "the thread of " + file + " has no messages");
  expect(after == before + 4, std::to_string(after) + " messages after one more turn");
  out.extra = {{"read_ms", reading.seconds * 1'000},
               {"turn_ms", (out.time.seconds - reading.seconds) * 1'000}};
  out.checks = {{"messages", before}};
  return out;
}

} // namespace superstep::bench
