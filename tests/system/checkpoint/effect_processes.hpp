// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

// Runs graphs whose tools have effects, in processes that may die. A named namespace, because g++
// 12 warns about coroutine frames over types without linkage.
namespace effect_processes {

using namespace superstep;

/// Where a process is killed.
enum class death { never, in_the_tool, after_the_tools };

struct no_arguments {};
BOOST_DESCRIBE_STRUCT(no_arguments, (), ())

[[noreturn]] inline void die() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
  std::abort();
}

/// The outside world: a file with one line per effect.
class world {
public:
  explicit world(std::string path) : path_{std::move(path)} {}
  void change(const std::string& tool, const tool_context& context) const {
    std::ofstream{path_, std::ios::app} << tool << ' ' << context.idempotency_key() << '\n';
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::vector<std::string> lines() const {
    auto out = std::vector<std::string>{};
    auto in = std::ifstream{path_};
    for (auto line = std::string{}; std::getline(in, line);)
      out.push_back(line);
    return out;
  }

private:
  std::string path_;
};

inline tool_ptr sending(const world& outside, death when) {
  return make_tool<no_arguments>("send", "",
                                 [outside, when](const no_arguments&, const tool_context& c) {
                                   outside.change("send", c);
                                   if (when == death::in_the_tool)
                                     die();
                                   return std::string{"sent"};
                                 });
}

inline task<json::object> call_tools(std::shared_ptr<const tool_node> tools,
                                     std::vector<tool_call> calls, death when, runtime rt) {
  auto running = tools->run(tools->from_calls(std::move(calls)), std::move(rt));
  const auto out = co_await running;
  if (when == death::after_the_tools)
    die();
  auto said = json::array{};
  for (const auto& item : out.items)
    said.emplace_back(std::get<message>(item).content);
  co_return json::object{{"said", std::move(said)}};
}

/// A graph of a node that calls tools, followed by another node.
inline compiled_json_graph graph_of(const std::string& path, tool_list tools,
                                    std::vector<tool_call> calls, death when) {
  const auto node = std::make_shared<const tool_node>(std::move(tools));
  auto g = json_graph{};
  g.channel("said", "append");
  g.add("tools", [node, calls = std::move(calls), when](json::value, runtime rt) {
    return call_tools(node, calls, when, std::move(rt));
  });
  g.add("after", [](const json::value&) { return json::object{{"said", json::array{"after"}}}; });
  g.edge("__start__", "tools").edge("tools", "after");
  auto options = compile_options{};
  options.checkpointer = sqlite_checkpointer(path);
  return g.compile(std::move(options));
}

/// Runs the thread as far as possible. Returns the text of its messages.
inline std::string run(const compiled_json_graph& g, const char* answer) {
  auto e = engine{engine_options{.workers = 1}};
  auto config = run_config{};
  config.thread_id = "t";
  const auto at = get_state(detail::program_of(g), {"t", {}, {}});
  const auto done = answer != nullptr ? e.try_invoke(g, resume(answer), config)
                    : at.checkpoint   ? e.try_invoke(g, resume(), config)
                                      : e.try_invoke(g, json::object{}, config);
  if (done.error)
    throw std::runtime_error{done.error->text};
  if (done.status == run_status::interrupted)
    return "asked";
  auto out = std::string{};
  const auto state = get_state(detail::program_of(g), {"t", {}, {}});
  const auto values = detail::adapter_of(g).state(*state.state);
  for (const auto& text : values.at("said").as_array())
    out += std::string{text.as_string()} + ';';
  return out;
}

/// Runs a function in a child process, so that this one has no threads. Returns its output, or
/// "killed".
template <class Run>
std::string in_child(Run body) {
  int ends[2] = {};
  BOOST_REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  if (child == 0) {
    auto said = std::string{};
    try {
      said = body();
    } catch (const std::exception& e) {
      said = std::string{"failed: "} + e.what();
    }
    const auto written = ::write(ends[1], said.data(), said.size());
    ::_exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  auto said = std::string{};
  char buffer[512];
  for (auto n = ::ssize_t{}; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  auto status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "killed" : said;
}

} // namespace effect_processes
