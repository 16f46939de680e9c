// SPDX-License-Identifier: Apache-2.0
// Timeouts of tool calls: coroutines, blocking functions, failures and cancellation.
#include "tools/run_tool.hpp"

#include <superstep/base/await.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/describe/class.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <new>
#include <string>

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(tool_timeouts)

namespace {

struct nothing {};
BOOST_DESCRIBE_STRUCT(nothing, (), ())

/// Never completes; releases `held` when its frame is destroyed.
task<std::string> never(std::shared_ptr<int> held) {
  auto waiting = await_callback<int>([](const completer<int>&) {});
  co_await waiting;
  co_return std::to_string(*held);
}

template <class Fn>
tool_ptr limited(Fn fn, std::chrono::milliseconds length) {
  return with_timeout(make_tool<nothing>("work", "Works.", std::move(fn)), length);
}

constexpr auto briefly = std::chrono::milliseconds{1};
constexpr auto long_enough = std::chrono::hours{1};
constexpr auto refusal =
    "Error: the call of tool 'work' was stopped: it took longer than 1 ms\n Please fix your "
    "mistakes.";

} // namespace

BOOST_AUTO_TEST_CASE(call_that_ends_before_timeout_returns_its_result) {
  const auto plain = limited([](const nothing&) { return "done"; }, long_enough);
  BOOST_TEST(run_tool(*plain, {}).content == "done");
  const auto later = limited(
      [](const nothing&) -> task<std::string> {
        co_await sleep_for{std::chrono::milliseconds{1}};
        co_return "done later";
      },
      long_enough);
  BOOST_TEST(run_tool(*later, {}).content == "done later");
  BOOST_TEST(plain->definition().name == "work");
}

BOOST_AUTO_TEST_CASE(suspended_coroutine_is_destroyed_at_timeout) {
  const auto held = std::make_shared<int>(1);
  const auto stuck = limited([held](const nothing&) { return never(held); }, briefly);
  const auto out = run_tool(*stuck, {});
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content == refusal);
  BOOST_TEST(held.use_count() == 2); // the tool holds the other reference
}

BOOST_AUTO_TEST_CASE(late_result_of_blocking_function_is_discarded) {
  const auto slow = limited(
      [](const nothing&) {
        const auto begun = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begun < 2 * briefly)
          ;
        return "too late";
      },
      briefly);
  const auto out = run_tool(*slow, {});
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content == refusal);
}

// A result that blames the tool would hide that the machine lacked memory.
BOOST_AUTO_TEST_CASE(shortage_after_timeout_is_thrown) {
  const auto slow = limited(
      [](const nothing&) -> std::string {
        const auto begun = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begun < 2 * briefly)
          ;
        throw std::bad_alloc{};
      },
      briefly);
  BOOST_CHECK_THROW(run_tool(*slow, {}), std::bad_alloc);
}

BOOST_AUTO_TEST_CASE(timeout_passes_on_exceptions_and_stop_requests) {
  const auto fails =
      limited([](const nothing&) -> std::string { throw tool_exception{"no"}; }, long_enough);
  BOOST_CHECK_THROW(run_tool(*fails, {}), tool_exception);
  auto from = std::stop_source{};
  from.request_stop();
  auto context = tool_context{};
  context.stop = from.get_token();
  const auto looks = limited(
      [](const nothing&, const tool_context& c) { return c.stop.stop_requested(); }, long_enough);
  BOOST_TEST(run_tool(*looks, {}, context).content == "true");
}

BOOST_AUTO_TEST_SUITE_END()
