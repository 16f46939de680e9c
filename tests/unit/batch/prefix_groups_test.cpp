// SPDX-License-Identifier: Apache-2.0
// Rows that share the start of their messages: the groups, the order, and the warm-up of each
// group.
#include "batch/prefix_groups.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(prefix_groups_suite)

namespace {

using namespace superstep;
using namespace superstep::testing;
using superstep::detail::prefix_groups;

constexpr auto prefix_bytes = std::size_t{4};

/// Returns the groups of rows with these texts; the line numbers count from 1.
std::unique_ptr<prefix_groups> groups_of(const std::vector<std::string>& texts,
                                         std::size_t concurrency) {
  auto out = std::make_unique<prefix_groups>(prefix_bytes, concurrency);
  auto line = detail::text_line{};
  for (const auto& text : texts) {
    ++line.number;
    out->add(line, {human_message(text)});
  }
  out->close();
  return out;
}

/// Takes the rows that may start now, and reports their starts. Returns their line numbers.
std::vector<std::uint64_t> start_all(prefix_groups& from) {
  auto out = std::vector<std::uint64_t>{};
  while (const auto next = from.next()) {
    out.push_back(next->number);
    from.started(next->group);
  }
  return out;
}

using numbers = std::vector<std::uint64_t>;

/// Runs rows on another thread. Checks that no second row of a group starts before its first row
/// has ended. The group of a row is the first letter of its text.
class checking_runner final : public row_runner {
public:
  ~checking_runner() override {
    is_ended_ = true;
    thread_.join();
  }
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    const auto group = request.messages.back().content.front();
    {
      const auto lock = std::scoped_lock{mutex_};
      order += group;
      if (!warm_.contains(group) && !warming_.insert(group).second)
        ++early;
    }
    return rows_.submit(std::move(request), [this, group, done = std::move(done)](row_outcome end) {
      {
        const auto lock = std::scoped_lock{mutex_};
        warm_.insert(group);
      }
      done(std::move(end));
    });
  }

  std::string order; ///< the groups of the rows, in the order of their starts
  int early = 0;     ///< rows that started while the first row of their group ran

private:
  held_runner rows_;
  std::mutex mutex_;
  std::set<char> warm_;
  std::set<char> warming_;
  std::atomic<bool> is_ended_{false};
  std::thread thread_{[this] {
    while (!is_ended_) {
      rows_.release();
      std::this_thread::yield();
    }
  }};
};

std::string mixed_rows(int count) {
  auto out = std::string{};
  for (auto i = 0; i < count; ++i)
    out += chat_line(std::to_string(i),
                     std::string(8, static_cast<char>('a' + i % 3)) + std::to_string(i));
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(prefix_contains_kind_and_text_of_messages) {
  const auto digest = [](const message_list& messages) {
    return detail::prefix_digest(messages, prefix_bytes);
  };
  BOOST_TEST((digest({human_message("abcd")}) == digest({human_message("abcx")})));
  BOOST_TEST((digest({human_message("abcd")}) != digest({human_message("abxd")})));
  BOOST_TEST((digest({human_message("abcd")}) != digest({system_message("abcd")})));
  BOOST_TEST((digest({human_message("a"), human_message("b")}) !=
              digest({human_message("ab"), human_message("")})));
  BOOST_TEST(!digest({human_message("a")}).has_value());
  BOOST_TEST(!digest({}).has_value());
}

BOOST_AUTO_TEST_CASE(rows_of_group_wait_for_their_first_row) {
  const auto groups = groups_of({"aaaa1", "bbbb1", "x", "aaaa2", "aaaa3", "cccc", "bbbb2"}, 2);
  // Rows without a group run first. While a warms up, its two other rows fill the concurrency.
  BOOST_TEST(start_all(*groups) == (numbers{3, 6, 1}), boost::test_tools::per_element());
  BOOST_TEST(!groups->is_ready());
  groups->ended(1);
  BOOST_TEST(groups->is_ready());
  BOOST_TEST(start_all(*groups) == (numbers{4, 5, 2}), boost::test_tools::per_element());
  BOOST_TEST(!groups->is_ready());
  groups->ended(2);
  BOOST_TEST(start_all(*groups) == (numbers{7}), boost::test_tools::per_element());
  BOOST_TEST(groups->is_ready());
}

BOOST_AUTO_TEST_CASE(small_groups_warm_up_at_the_same_time) {
  const auto groups = groups_of({"aaaa1", "aaaa2", "bbbb1", "bbbb2", "cccc1", "cccc2"}, 2);
  BOOST_TEST(start_all(*groups) == (numbers{1, 3}), boost::test_tools::per_element());
  groups->ended(2);
  BOOST_TEST(start_all(*groups) == (numbers{4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(skipped_row_is_not_a_warm_up) {
  const auto groups = groups_of({"aaaa1", "aaaa2", "aaaa3"}, 8);
  BOOST_TEST(groups->next()->number == 1U); // finished by an earlier run: it does not start
  BOOST_TEST(start_all(*groups) == (numbers{2}), boost::test_tools::per_element());
  BOOST_TEST(!groups->is_ready());
}

BOOST_AUTO_TEST_CASE(job_runs_groups_after_their_warm_up) {
  auto mixed = job{mixed_rows(90)};
  mixed.options.prefix_bytes = prefix_bytes;
  mixed.options.concurrency = 4;
  auto runner = checking_runner{};
  const auto summary = run_batch(mixed.options, runner, mixed.progress, mixed.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 90U);
  BOOST_TEST(runner.early == 0);
  BOOST_TEST(runner.order == std::string(30, 'a') + std::string(30, 'b') + std::string(30, 'c'));
}

BOOST_AUTO_TEST_CASE(limit_repeat_and_invalid_lines_apply_to_groups) {
  auto mixed = job{mixed_rows(6) + "no row\n" + mixed_rows(30)};
  mixed.options.prefix_bytes = prefix_bytes;
  mixed.options.bad_lines = on_bad_line::dead_letter;
  mixed.options.repeat = 2;
  mixed.options.limit = 7; // the first six rows and the invalid line
  auto runner = checking_runner{};
  const auto summary = run_batch(mixed.options, runner, mixed.progress, mixed.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 12U);
  BOOST_TEST(summary->bad_lines == 1U);
  BOOST_TEST(runner.early == 0);
}

BOOST_AUTO_TEST_CASE(groups_and_order_of_input_are_exclusive) {
  auto mixed = job{mixed_rows(6)};
  mixed.options.prefix_bytes = prefix_bytes;
  mixed.options.order = row_order::input;
  BOOST_TEST(mixed.run().error().text.find("--group-prefix") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
