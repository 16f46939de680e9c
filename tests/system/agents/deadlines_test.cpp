// SPDX-License-Identifier: Apache-2.0
// Calls that take too long end at the deadline of their task, wherever it was set, and leave no
// connection, process, permit or frame behind.
#include "agents/fake_model.hpp"
#include "batch/files.hpp"
#include "support/process_state.hpp"
#include "system/models/loopback_server.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/models/model_retry.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

using namespace superstep;
using namespace std::chrono_literals;
using superstep::testing::fake_model;
using superstep::testing::temporary_folder;
using test::loopback_server;
namespace data = boost::unit_test::data;

namespace deadlines_test {

struct work {
  int done = 0;
};
BOOST_DESCRIBE_STRUCT(work, (), (done))

constexpr auto outer = node<work>{"outer"};
constexpr auto inner = node<work>{"inner"};

/// The setting that limits the call.
enum class limit { attempt, step, run };
std::ostream& operator<<(std::ostream& out, limit l) {
  return out << (l == limit::attempt ? "attempt" : l == limit::step ? "step" : "run");
}
const auto limits = std::vector<limit>{limit::attempt, limit::step, limit::run};
const auto depths = std::vector<int>{0, 1}; // graphs around that of the call

graph_errc code_of(limit l) {
  return l == limit::attempt ? graph_errc::node_timeout
         : l == limit::step  ? graph_errc::step_timeout
                             : graph_errc::deadline;
}

/// A call that would take much longer than the test.
using slow_call = std::function<task<void>()>;

/// Runs the call in a node and returns the error of the run.
std::error_code run(engine& e, const slow_call& call, limit kind, int depth,
                    std::chrono::milliseconds length) {
  auto body = [call](const work&) -> task<update<work>> {
    auto calling = call();
    co_await calling;
    co_return update{set<&work::done>(1)};
  };
  auto options = node_options{};
  auto compiled = compile_options{};
  auto config = run_config{};
  if (kind == limit::attempt)
    options.timeout = timeout_policy{.run = length};
  if (kind == limit::step)
    compiled.step_timeout = length;
  if (kind == limit::run)
    config.deadline = length;
  auto g = graph<work>{};
  if (depth == 0) {
    g.add(outer, body, options);
  } else {
    auto below = graph<work>{};
    below.add(inner, body).edge(start, inner);
    g.add(
        outer,
        [nested = below.compile()](const work& s, runtime rt) -> task<update<work>> {
          auto running = rt.invoke(nested, s);
          const auto out = co_await running;
          co_return update{set<&work::done>(out.done)};
        },
        options);
  }
  g.edge(start, outer);
  try {
    static_cast<void>(e.invoke(g.compile(std::move(compiled)), work{}, std::move(config)));
  } catch (const graph_error& failed) {
    return failed.code();
  }
  return {};
}

/// Runs the call with growing limits until it was under way when its time was over.
void run_until_begun(const slow_call& call, limit kind, int depth,
                     const std::function<bool()>& has_begun) {
  auto e = engine{{.workers = 2}};
  const auto start = std::chrono::steady_clock::now();
  for (auto length = 50ms; !has_begun() && length < 20s; length *= 2)
    BOOST_TEST((run(e, call, kind, depth, length) == code_of(kind)));
  BOOST_TEST((std::chrono::steady_clock::now() - start < 45s));
  BOOST_TEST_REQUIRE(has_begun());
}

http_client make_client(io_runtime& io) {
  auto made = http_client::make(io, {});
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

/// A server that reads requests and answers none.
struct silent_server {
  std::atomic<int> asked{0};
  std::atomic<int> closed{0};
  loopback_server server{[this](auto& socket, int) {
    while (!loopback_server::read_head(socket).empty())
      ++asked;
    ++closed;
  }};

  [[nodiscard]] bool are_all_closed() const {
    for (auto i = 0; i < 10'000 && closed < server.connections(); ++i)
      std::this_thread::sleep_for(1ms);
    return closed == server.connections();
  }
};

BOOST_AUTO_TEST_SUITE(deadlines)

BOOST_DATA_TEST_CASE(http_request_ends_at_deadline_of_its_task,
                     data::make(limits) * data::make(depths), kind, depth) {
  auto to = silent_server{};
  auto io = io_runtime{};
  const auto client = make_client(io);
  const auto call = [&]() -> task<void> {
    auto request = http_request{};
    request.url = to.server.address();
    auto sending = client.send(std::move(request));
    const auto response = co_await sending;
    BOOST_ERROR("the request ended");
  };
  run_until_begun(call, kind, depth, [&] { return to.asked > 0; });
  BOOST_TEST(to.are_all_closed());
}

BOOST_DATA_TEST_CASE(child_process_ends_at_deadline_of_its_task,
                     data::make(limits) * data::make(depths), kind, depth) {
  const auto folder = temporary_folder{};
  const auto path = (folder / "pids");
  auto io = io_runtime{};
  const auto call = [&]() -> task<void> {
    auto request = process_request{};
    request.argv = {"sh", "-c", "echo $$ >> \"$0\"; exec sleep 600", path};
    auto running = run_process(io, std::move(request));
    const auto ended = co_await running;
    BOOST_ERROR("the program ended");
  };
  const auto pids = [&] {
    auto in = std::ifstream{path};
    auto out = std::vector<int>{};
    for (auto pid = 0; in >> pid;)
      out.push_back(pid);
    return out;
  };
  run_until_begun(call, kind, depth, [&] { return !pids().empty(); });
  for (const auto pid : pids())
    BOOST_TEST(test::is_gone(pid));
}

BOOST_DATA_TEST_CASE(model_retry_ends_at_deadline_of_its_task,
                     data::make(limits) * data::make(depths), kind, depth) {
  const auto failing = std::make_shared<const fake_model>(std::vector<message>{});
  auto options = model_retry_options{};
  options.attempts_max = 1'000'000;
  options.backoff_base = options.backoff_max = 1h;
  const auto model = with_retry(failing, options);
  const auto users = failing.use_count();
  const auto call = [model]() -> task<void> {
    auto asking = model->complete({});
    const auto answer = co_await asking;
    BOOST_ERROR("the call ended");
  };
  run_until_begun(call, kind, depth, [&] { return !failing->asked().empty(); });
  for (auto i = 0; i < 10'000 && failing.use_count() > users; ++i)
    std::this_thread::sleep_for(1ms); // a nested run ends after its caller has got the error
  BOOST_TEST(failing.use_count() == users);
}

BOOST_DATA_TEST_CASE(provider_call_releases_permit_at_deadline_of_task,
                     data::make(limits) * data::make(depths), kind, depth) {
  auto to = silent_server{};
  auto io = io_runtime{};
  auto bounds = model_limits_options{};
  bounds.model_calls = 1;
  bounds.is_adaptive = false;
  const auto shared = std::make_shared<model_limits>(bounds);
  auto options = provider_model_options{};
  options.model = "m";
  options.base_url = to.server.address();
  options.api_key_env = "";
  const auto made = make_provider_model(options, io, shared);
  BOOST_REQUIRE(made.has_value());
  const auto call = [model = *made]() -> task<void> {
    auto request = model_request{};
    request.messages.push_back(human_message("Hello?"));
    auto asking = model->complete(std::move(request));
    const auto answer = co_await asking;
    BOOST_ERROR("the call ended");
  };
  run_until_begun(call, kind, depth, [&] { return to.asked > 0; });
  BOOST_TEST(to.are_all_closed());
  auto permit = shared->calls().try_acquire();
  for (auto i = 0; i < 10'000 && !permit; ++i) {
    std::this_thread::sleep_for(1ms); // a nested run ends after its caller has got the error
    permit = shared->calls().try_acquire();
  }
  BOOST_TEST(permit.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace deadlines_test
