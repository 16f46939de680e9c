// SPDX-License-Identifier: Apache-2.0
// The calls of one AI message run concurrently, for tools with every kind of body. In v1 one node
// body runs them all; in v2 each is a separate task. The first test does not need a clock. The
// second measures time, so only release builds run it.
#include "agents/fake_model.hpp"
#include "batch/files.hpp"
#include "versions.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/base/await.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <latch>
#include <ostream>
#include <thread>

using namespace superstep;
using namespace std::chrono_literals;
using superstep::testing::fake_model;
using superstep::testing::react_versions;
using superstep::testing::temporary_folder;
namespace data = boost::unit_test::data;

namespace parallel_calls_test {

namespace {

constexpr auto calls = 8;

enum class body { coroutine, blocking, program };
std::ostream& operator<<(std::ostream& out, body b) {
  return out << (b == body::coroutine  ? "a coroutine"
                 : b == body::blocking ? "a blocking function"
                                       : "a program");
}

const auto bodies = std::vector<body>{body::coroutine, body::blocking, body::program};

struct call_args {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(call_args, (), (n))

/// Coroutines wait in it until all of them have arrived.
class meeting {
public:
  task<std::string> join() const {
    auto start = [this](completer<std::string> done) {
      auto all = std::vector<completer<std::string>>{};
      {
        const auto lock = std::scoped_lock{mutex_};
        waiting_.push_back(std::move(done));
        if (waiting_.size() == calls)
          all.swap(waiting_);
      }
      for (auto& one : all)
        one("met");
    };
    auto joined = await_callback<std::string>(std::move(start));
    co_return co_await joined;
  }

private:
  mutable std::mutex mutex_;
  mutable std::vector<completer<std::string>> waiting_;
};

/// Meeting points for calls of every kind of body.
struct meeting_places {
  meeting coroutines;
  std::latch threads{calls};
  temporary_folder files;
};

tool_ptr make_program(std::vector<std::string> argv) {
  auto options = command_options{};
  options.name = "work";
  options.argv = std::move(argv);
  return make_command(std::make_shared<io_runtime>(), std::move(options)).value();
}

/// A tool that returns "met" once all calls have arrived, and never before.
tool_ptr make_meeting_tool(body b, meeting_places& at) {
  switch (b) {
  case body::coroutine:
    return make_tool<call_args>("work", "",
                                [&at](const call_args&) { return at.coroutines.join(); });
  case body::blocking:
    return make_tool<call_args>("work", "", [&at](const call_args&) {
      at.threads.arrive_and_wait();
      return std::string{"met"};
    });
  case body::program:
    break;
  }
  constexpr auto script = R"sh(: > "$1/$SUPERSTEP_TOOL_CALL_ID"
while [ "$(ls "$1" | wc -l)" -lt "$2" ]; do sleep 0.05; done
echo met)sh";
  return make_program({"sh", "-c", script, "sh", at.files / "", std::to_string(calls)});
}

/// A tool whose calls take 300 ms.
tool_ptr make_slow_tool(body b) {
  switch (b) {
  case body::coroutine: {
    auto options = simulated_options{};
    options.name = "work";
    options.delay = std::chrono::milliseconds{300};
    return make_simulated(std::move(options)).value();
  }
  case body::blocking:
    return make_tool<call_args>("work", "", [](const call_args&) {
      std::this_thread::sleep_for(300ms);
      return std::string{"slept"};
    });
  case body::program:
    break;
  }
  return make_program({"sleep", "0.3"});
}

compiled_graph<chat_state> make_agent(tool_ptr work, react_version version) {
  auto asked = std::vector<tool_call>{};
  for (auto i = 0; i < calls; ++i) {
    auto call = tool_call{"c" + std::to_string(i), "work", {}};
    call.args["n"] = i;
    asked.push_back(std::move(call));
  }
  auto options = react_agent_options<chat_state>{};
  options.model = std::make_shared<const fake_model>(
      std::vector<message>{ai_message("", std::move(asked)), ai_message("done")});
  options.tools = {std::move(work)};
  options.version = version;
  return create_react_agent(std::move(options));
}

chat_state run(engine& lanes, const compiled_graph<chat_state>& agent) {
  auto state = chat_state{};
  state.messages = {human_message("go")};
  return lanes.invoke(agent, std::move(state)).state;
}

void check_answers(const chat_state& ended) {
  BOOST_TEST_REQUIRE(ended.messages.size() == calls + 3U);
  for (auto i = std::size_t{0}; i < calls; ++i) {
    BOOST_TEST(ended.messages[i + 2].tool_call_id == "c" + std::to_string(i));
    BOOST_TEST(!ended.messages[i + 2].is_error, ended.messages[i + 2].content);
  }
}

} // namespace

// If one of the eight calls were delayed until another has ended, none would end.
BOOST_AUTO_TEST_SUITE(calls_overlap)

BOOST_DATA_TEST_CASE(tool_calls_of_one_message_run_concurrently,
                     data::make(bodies) * data::make(react_versions) *
                         data::make(std::vector<std::size_t>{1, 2}),
                     kind, version, workers) {
  auto places = meeting_places{};
  auto lanes = engine{engine_options{.workers = workers}};
  const auto ended = run(lanes, make_agent(make_meeting_tool(kind, places), version));
  check_answers(ended);
  for (auto i = std::size_t{0}; i < calls; ++i)
    BOOST_TEST(ended.messages[i + 2].content == "met");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(calls_time)

// The whole run is timed, including the model's two turns. The best of five counts, because delays
// of a busy machine are not caused by the engine.
BOOST_DATA_TEST_CASE(eight_slow_tool_calls_take_time_of_one,
                     data::make(bodies) * data::make(react_versions), kind, version) {
  auto lanes = engine{engine_options{}};
  const auto agent = make_agent(make_slow_tool(kind), version);
  auto best = std::chrono::steady_clock::duration::max();
  for (auto round = 0; round < 5; ++round) {
    const auto began = std::chrono::steady_clock::now();
    const auto ended = run(lanes, agent);
    best = std::min(best, std::chrono::steady_clock::now() - began);
    check_answers(ended);
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(best).count();
  BOOST_TEST_MESSAGE(kind << ", " << version << ": " << ms << " ms");
  BOOST_TEST(ms >= 300);
  BOOST_TEST(ms < 450);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace parallel_calls_test
