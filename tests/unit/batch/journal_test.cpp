// SPDX-License-Identifier: Apache-2.0
// The journal of a batch job: records, damage, headers and key digests.
#include "batch/journal.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

BOOST_AUTO_TEST_SUITE(journal)

namespace {

using namespace superstep;
using namespace superstep::detail;
using namespace superstep::testing;

result<journal_content> read(std::string_view bytes) {
  auto folder = temporary_folder{};
  write_file(folder / "journal", bytes);
  auto opened = detail::file::open_regular(folder / "journal", O_RDWR).value();
  return read_journal(opened);
}

std::string sample() {
  auto text = std::string{};
  append_job(text, {.job_id = "run-1",
                    .created = 17,
                    .agent = "a",
                    .tools = "t",
                    .model = "m",
                    .parameters = "p",
                    .input = "i"});
  append_start(text, "row \"1\"\n");
  append_start(text, "row 2");
  append_start(text, "row 2");
  append_start(text, "row 3");
  append_ok(text, "row \"1\"\n", 100,
            {.steps = 3, .model_calls = 2, .tool_calls = 1, .cost = 1'500});
  append_bad(text, 9, 50);
  append_dead(text, "row 3", 180, 90, {.total_tokens = -1, .rows_unpriced = 1});
  return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(records_are_read_back_as_written) {
  const auto text = sample();
  auto content = read(text).value();
  BOOST_REQUIRE(content.header.has_value());
  BOOST_TEST(content.header->job_id == "run-1");
  BOOST_TEST(content.header->created == 17);
  BOOST_TEST(content.header->input == "i");
  BOOST_TEST(content.done.size() == 2U);
  BOOST_TEST(content.done.contains(digest_of("row \"1\"\n")));
  BOOST_TEST(content.starts.size() == 2U);
  BOOST_TEST(content.starts[digest_of("row 2")] == 2U);
  BOOST_TEST(content.starts[digest_of("row 3")] == 1U); // failed; --retry-dead may start it again
  BOOST_TEST(content.bad_lines.contains(9));
  BOOST_TEST(content.ok == 1U);
  BOOST_TEST(content.dead == 1U);
  BOOST_TEST(content.output_end == 180U);
  BOOST_TEST(content.dead_end == 90U);
  BOOST_TEST(content.counts.steps == 3U);
  BOOST_TEST(content.counts.total_tokens == -1);
  BOOST_TEST(content.counts.cost == 1'500);
  BOOST_TEST(content.counts.rows_unpriced == 1U);
  BOOST_TEST(content.valid_bytes == text.size());
}

BOOST_AUTO_TEST_CASE(rebuild_keeps_the_counts_of_removed_lines) {
  auto text = sample();
  append_rebuild(text);
  append_ok(text, "row \"1\"\n", 100, {.steps = 3, .model_calls = 2, .cost = 1'500});
  const auto partial = text;
  append_rebuilt(text, 100, 0);
  const auto content = read(text).value();
  BOOST_TEST(content.ok == 1U);
  BOOST_TEST(content.dead == 0U);
  BOOST_TEST(content.unlisted.tool_calls == 1U); // the record of the row does not have it any more
  BOOST_TEST(content.unlisted.cost == 0);
  BOOST_TEST(content.unlisted.rows_unpriced == 0U);
  BOOST_TEST(content.counts.model_calls == 2U);
  BOOST_TEST(content.counts.tool_calls == 1U);
  BOOST_TEST(content.counts.rows_unpriced == 0U);

  // An interrupted rebuild begins again. It may find other lines than before.
  auto again = partial;
  append_rebuild(again);
  append_rebuilt(again, 0, 0);
  auto repeated = read(again).value();
  BOOST_TEST(repeated.counts.cost == 1'500);
  BOOST_TEST(repeated.unlisted.cost == 1'500);
  // The next rebuild adds to them.
  append_ok(again, "row 2", 50, {.cost = 100});
  append_rebuild(again);
  append_rebuilt(again, 0, 0);
  repeated = read(again).value();
  BOOST_TEST(repeated.unlisted.cost == 1'600);
  BOOST_TEST(repeated.counts.cost == 1'600);
}

BOOST_AUTO_TEST_CASE(counts_of_rows_that_run_again_are_kept) {
  auto text = sample();
  const auto before = read(text).value().counts;
  append_spent(text, {.model_calls = 5, .cost = 70});
  auto content = read(text).value();
  BOOST_TEST(content.counts.model_calls == before.model_calls + 5U);
  BOOST_TEST(content.unlisted.cost == 70);
  BOOST_TEST(content.ok + content.dead == 2U);
  append_rebuild(text);
  append_ok(text, "row \"1\"\n", 100, {.model_calls = 2});
  append_rebuilt(text, 100, 0);
  append_spent(text, {.cost = 1});
  content = read(text).value();
  BOOST_TEST(content.unlisted.cost == 1'571);
  BOOST_TEST(content.unlisted.model_calls == 5U);
}

BOOST_AUTO_TEST_CASE(rebuild_after_damage_keeps_the_counts_of_removed_lines) {
  auto text = std::string{};
  append_ok(text, "row 1", 10, {.cost = 4});
  append_rebuild(text);
  append_rebuilt(text, 0, 0); // row 1 is removed
  append_ok(text, "row 2", 10, {.cost = 6});
  const auto row_3 = text.size();
  append_ok(text, "row 3", 20, {.cost = 3});
  text[row_3] ^= 1; // damaged
  append_rebuild(text);
  append_ok(text, "row 2", 10, {.cost = 6});
  append_ok(text, "row 3", 20, {.cost = 3});
  append_rebuilt(text, 20, 0);
  const auto content = read(text).value();
  BOOST_TEST(content.unlisted.cost == 4);
  BOOST_TEST(content.counts.cost == 13);
}

BOOST_AUTO_TEST_CASE(torn_and_damaged_records_are_ignored) {
  const auto text = sample();
  for (auto size = std::size_t{0}; size <= text.size(); ++size) {
    auto content = read(text.substr(0, size)).value();
    const auto whole = text.rfind('\n', size == 0 ? 0 : size - 1);
    BOOST_TEST(content.valid_bytes == (size == 0 || whole == std::string::npos ? 0 : whole + 1));
  }
  for (auto at = std::size_t{0}; at < text.size(); at += 5) {
    auto damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    auto content = read(damaged);
    if (content)
      BOOST_TEST((content->valid_bytes <= at || content->damaged_lines == 1U));
  }
}

BOOST_AUTO_TEST_CASE(changed_input_discards_recorded_invalid_lines) {
  auto text = sample();
  append_job(text, {.job_id = "run-1",
                    .created = 17,
                    .agent = "b",
                    .tools = "t",
                    .model = "m",
                    .parameters = "p",
                    .input = "j"});
  auto content = read(text).value();
  BOOST_TEST(content.header->agent == "b");
  BOOST_TEST(content.bad_lines.empty());
  BOOST_TEST(content.done.size() == 2U);
}

BOOST_AUTO_TEST_CASE(digests_of_many_keys_are_distinct) {
  auto seen = std::set<std::pair<std::uint64_t, std::uint64_t>>{};
  for (auto i = 0; i < 100'000; ++i) {
    auto key = digest_of("row-" + std::to_string(i));
    seen.emplace(key.low, key.high);
  }
  BOOST_TEST(seen.size() == 100'000U);
}

BOOST_AUTO_TEST_SUITE_END()
