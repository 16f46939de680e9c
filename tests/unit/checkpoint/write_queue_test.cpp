// SPDX-License-Identifier: Apache-2.0
// The order in which the writer thread serves writes, maintenance tasks and timers.
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/write_queue.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ss = superstep;

BOOST_AUTO_TEST_SUITE(write_queue)

namespace {

/// Stores nothing.
class null_sink final : public ss::detail::row_sink {
public:
  void write(std::span<ss::detail::pending_write> batch) override {
    record_outcome(batch, std::nullopt);
  }
  [[nodiscard]] bool try_write_now(std::span<ss::detail::pending_write>) noexcept override {
    return false;
  }
  void run(const std::function<void(ss::detail::database&)>&) override { ++tasks; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

  std::atomic<int> tasks{0};

private:
  std::string name_ = "nothing";
};

} // namespace

BOOST_AUTO_TEST_CASE(writes_and_tasks_proceed_while_timers_are_due) {
  auto made = std::make_unique<null_sink>();
  const auto& sink = *made;
  const auto queue = ss::detail::write_queue::start(std::move(made), {});
  // Each timer takes time, and the next one is due before it has ended.
  std::function<void(bool)> timer = [&](bool is_stopping) {
    const auto next = ss::detail::write_queue::clock::now();
    while (ss::detail::write_queue::clock::now() < next + std::chrono::microseconds{100})
      continue;
    if (!is_stopping)
      queue->run_at(next, timer);
  };
  queue->run_at(ss::detail::write_queue::clock::now(), timer);
  const auto thread = std::make_shared<ss::detail::thread_state>();
  for (auto i = 1; i <= 10; ++i) {
    auto lock = std::unique_lock{queue->mutex()};
    auto write = ss::detail::pending_write{};
    write.thread = thread;
    write.head = std::make_shared<ss::detail::namespace_head>();
    queue->enqueue(std::move(write));
    queue->wait_for(lock, thread);
    lock.unlock();
    queue->run([](ss::detail::database&) {});
    BOOST_TEST(sink.tasks.load() == i);
  }
  queue->stop();
}

BOOST_AUTO_TEST_CASE(step_is_saved_while_many_runs_wait) {
  constexpr auto runs = 1'000;
  const auto folder = temporary_folder{};
  const auto ours = open_checkpointer(folder.file());
  const auto theirs = open_checkpointer(folder.file()); // like another process
  const auto name = [](int i) { return "busy" + std::to_string(i); };
  auto held = std::vector<ss::lease_ptr>{};
  for (auto i = 0; i < runs; ++i)
    theirs->take(name(i), ss::busy_policy::wait,
                 [&](auto got) { held.push_back(*std::move(got)); });
  BOOST_TEST(held.size() == static_cast<std::size_t>(runs));
  auto given = std::atomic<int>{0};
  for (auto i = 0; i < runs; ++i)
    ours->take(name(i), ss::busy_policy::wait, [&](const auto& got) { given += got ? 1 : 0; });
  BOOST_TEST(given.load() == 0);
  ours->put_effect("t", "k", ss::effect_record{});
  wait_until_saved(*ours);
  BOOST_TEST(given.load() == 0);
  held.clear();
  while (given.load() < runs)
    std::this_thread::yield();
}

BOOST_AUTO_TEST_SUITE_END()
