// SPDX-License-Identifier: Apache-2.0
// Journaled tools in processes without memory: each allocation after the start of the tool fails
// once. The effect must not happen twice, and the resumed run must end.
#include "effect_processes.hpp"

#include <superstep/tools/command.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

/// Number of the allocation that fails, from the start of the tool; 0: none.
std::atomic<long> failing_allocation{0};
std::atomic<long> allocations{0};
std::atomic<bool> is_counting{false};

bool fails_now() noexcept {
  return is_counting.load(std::memory_order_relaxed) &&
         allocations.fetch_add(1, std::memory_order_relaxed) + 1 ==
             failing_allocation.load(std::memory_order_relaxed);
}

void* allocated(std::size_t size) {
  auto* const p = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (p == nullptr)
    throw std::bad_alloc{};
  return p;
}

} // namespace

void* operator new(std::size_t size) {
  return allocated(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace effect_processes {

/// A tool that starts to count allocations when it is called, or stops when its inner tool has
/// ended.
class counting_tool final : public tool {
public:
  counting_tool(tool_ptr inner, bool starts) : inner_{std::move(inner)}, starts_{starts} {}
  [[nodiscard]] const tool_definition& definition() const noexcept override {
    return inner_->definition();
  }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    if (starts_)
      is_counting = true;
    auto body = inner_->run(call, context);
    auto out = co_await body;
    if (!starts_)
      is_counting = false;
    co_return out;
  }

private:
  tool_ptr inner_;
  bool starts_;
};

/// Returns a journaled tool that counts allocations from its start until its result is saved.
tool_ptr counted(tool_ptr inner) {
  auto within = journaled(std::make_shared<const counting_tool>(std::move(inner), true));
  return std::make_shared<const counting_tool>(std::move(within), false);
}

tool_ptr plain_function(const world& outside) {
  return sending(outside, death::never);
}

tool_ptr coroutine(const world& outside) {
  return make_tool<no_arguments>(
      "send", "", [outside](const no_arguments&, const tool_context& c) -> task<std::string> {
        outside.change("send", c);
        auto pause = sleep_for{std::chrono::milliseconds{1}};
        co_await pause;
        co_return std::string(100, 's');
      });
}

tool_ptr program(const world& outside) {
  auto options = command_options{};
  options.argv = {"sh", "-c", "echo \"send $SUPERSTEP_IDEMPOTENCY_KEY\" >> \"$0\"; echo sent",
                  outside.path()};
  return make_tool("send", "", std::move(options));
}

struct memory_case {
  const char* name;
  tool_ptr (*make)(const world&);
  friend std::ostream& operator<<(std::ostream& out, const memory_case& c) { return out << c.name; }
};

/// Runs the thread in a child process in which one allocation fails. Returns whether that
/// allocation was reached.
bool run_without_memory(const std::string& path, const world& outside, const memory_case& c,
                        long allocation) {
  const auto said = in_child([&] {
    std::set_terminate([] { ::_exit(7); });
    ::alarm(30); // ends a process that hangs; the parent then reads no text
    failing_allocation = allocation;
    const auto g = graph_of(path, {counted(c.make(outside))}, {{"c1", "send", {}}}, death::never);
    try {
      (void)run(g, nullptr);
    } catch (const std::exception&) { // the run, or the process, may end with any error
    }
    is_counting = false;
    return std::string{allocations >= allocation ? "reached" : "not reached"};
  });
  return said != "not reached";
}

} // namespace effect_processes

using namespace effect_processes;

BOOST_AUTO_TEST_SUITE(effects_without_memory)

const auto memory_cases = std::vector<memory_case>{
    {"function", &plain_function}, {"coroutine", &coroutine}, {"program", &program}};

BOOST_DATA_TEST_CASE(failed_allocation_does_not_repeat_the_effect,
                     boost::unit_test::data::make(memory_cases), c) {
  auto had_effect = 0;
  auto was_unknown = 0;
  auto allocation = 1L;
  for (auto is_reached = true; is_reached; ++allocation) {
    const auto folder = temporary_folder{};
    const auto outside = world{folder.file("effects")};
    is_reached = run_without_memory(folder.file(), outside, c, allocation);
    const auto said = in_child([&] {
      ::alarm(30);
      return run(
          graph_of(folder.file(), {journaled(c.make(outside))}, {{"c1", "send", {}}}, death::never),
          nullptr);
    });
    const auto effects = outside.lines().size();
    BOOST_TEST_CONTEXT("allocation " << allocation << " gave: " << said) {
      BOOST_TEST(effects <= 1U);
      BOOST_TEST(said.ends_with(";after;"));
      const auto is_unknown = said.starts_with("Error: the result of this call of tool 'send'");
      BOOST_TEST((is_unknown || effects == 1U));
      was_unknown += is_unknown ? 1 : 0;
      had_effect += effects == 1U ? 1 : 0;
    }
  }
  BOOST_TEST_MESSAGE(c << ": " << allocation << " allocations, " << had_effect << " effects, "
                       << was_unknown << " unknown outcomes");
  BOOST_TEST(allocation > 10);
  BOOST_TEST(was_unknown > 0);
}

BOOST_AUTO_TEST_SUITE_END()
