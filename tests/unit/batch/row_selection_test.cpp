// SPDX-License-Identifier: Apache-2.0
// The rows of a job: limit, shards, random samples and repetitions, also when a job is resumed.
#include "batch/row_selection.hpp"
#include "job_fixture.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

BOOST_AUTO_TEST_SUITE(row_selections)

namespace {

using namespace superstep;
using namespace superstep::testing;
using namespace superstep::detail;

std::set<std::string> keys_of(const job& of) {
  auto out = std::set<std::string>{};
  for (const auto& [key, row] : of.output())
    out.insert(key);
  return out;
}

/// Returns the keys that a job with these options has run.
template <class Change>
std::set<std::string> keys_with(const std::string& input, Change change) {
  auto job = testing::job{input};
  change(job.options);
  BOOST_TEST(job.run().has_value());
  return keys_of(job);
}

} // namespace

BOOST_AUTO_TEST_CASE(limit_counts_rows_of_the_job_not_of_a_run) {
  auto job = testing::job{chat_lines(20)};
  job.options.limit = 8;
  BOOST_TEST(job.run().value().rows_this_run == 8U);
  const auto again = job.run().value();
  BOOST_TEST(again.rows_this_run == 0U);
  BOOST_TEST(again.left() == 12U);
  BOOST_TEST(has(job.file("out.summary.json"), "\"left\":12"));
  job.options.limit = 11;
  BOOST_TEST(job.run().value().rows_this_run == 3U);
  BOOST_TEST(job.progress.last.rows == 11U);
  BOOST_TEST(keys_of(job).contains("row-10"));
  BOOST_TEST(!keys_of(job).contains("row-11"));
  job.options.limit = 5;
  BOOST_TEST(job.run().value().rows_this_run == 0U);
}

BOOST_AUTO_TEST_CASE(shards_are_disjoint_and_complete) {
  const auto input = chat_lines(200);
  auto all = std::set<std::string>{};
  auto sizes = std::vector<std::size_t>{};
  for (auto shard = std::uint64_t{1}; shard <= 4; ++shard) {
    const auto keys = keys_with(input, [&](batch_options& options) {
      options.shard = shard;
      options.shards = 4;
    });
    sizes.push_back(keys.size());
    all.insert(keys.begin(), keys.end());
  }
  BOOST_TEST(all.size() == 200U);
  BOOST_TEST(sizes[0] + sizes[1] + sizes[2] + sizes[3] == 200U);
  BOOST_TEST(std::ranges::min(sizes) > 30U);
}

BOOST_AUTO_TEST_CASE(row_keeps_its_shard_when_input_changes) {
  const auto first_half = [](batch_options& options) { options.shards = 2; };
  const auto before = keys_with(chat_lines(60), first_half);
  const auto after = keys_with(chat_line("new", "x") + chat_lines(80), first_half);
  BOOST_TEST(std::ranges::includes(after, before));
}

BOOST_AUTO_TEST_CASE(changed_shard_is_rejected_by_name) {
  auto job = testing::job{chat_lines(30)};
  job.options.shards = 2;
  const auto first = job.run().value();
  BOOST_TEST(first.left() == 0U);
  job.options.shard = 2;
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "(changed: --shard from 1/2 to 2/2)"), refused.error().text);
  job.options.force = true;
  const auto second = job.run().value();
  BOOST_TEST(second.rows_this_run == 30U - first.rows);
  BOOST_TEST(second.left() == 0U);
  job.options.force = false;
  job.options.limit = 1'000;
  BOOST_TEST(job.run().value().rows_this_run == 0U);
  BOOST_TEST(job.output().size() == 30U);
  for (const auto& [key, count] : job.runner.runs)
    BOOST_TEST(count == 1, key);
}

BOOST_AUTO_TEST_CASE(forced_change_to_all_rows_runs_the_rest) {
  auto job = testing::job{chat_lines(30)};
  job.options.shards = 3;
  BOOST_TEST(job.run().has_value());
  job.options.shards = 1;
  job.options.force = true;
  const auto all = job.run().value();
  BOOST_TEST(all.rows == 30U);
  BOOST_TEST(all.left() == 0U);
  BOOST_TEST(job.output().size() == 30U);
}

BOOST_AUTO_TEST_CASE(sample_depends_on_seed_only) {
  const auto sample = [](std::uint64_t seed) {
    return [seed](batch_options& options) {
      options.sample = 20;
      options.seed = seed;
    };
  };
  const auto first = keys_with(chat_lines(100), sample(1));
  BOOST_TEST(first.size() == 20U);
  BOOST_TEST(keys_with(chat_lines(100), sample(1)) == first);
  BOOST_TEST(keys_with(chat_lines(100), sample(2)) != first);
  BOOST_TEST(keys_with(chat_lines(5), sample(1)).size() == 5U);
}

BOOST_AUTO_TEST_CASE(limit_applies_to_the_rows_of_a_sample) {
  auto job = testing::job{chat_lines(100)};
  job.options.sample = 20;
  job.options.limit = 6;
  const auto part = job.run().value();
  BOOST_TEST(part.rows == 20U);
  BOOST_TEST(part.rows_this_run == 6U);
  job.options.limit.reset();
  BOOST_TEST(job.run().value().rows_this_run == 14U);
  job.options.seed = 9;
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "--sample from 20 seed 1 to 20 seed 9"));
}

BOOST_AUTO_TEST_CASE(repeated_rows_have_distinct_ids_and_seeds) {
  auto job = testing::job{chat_lines(3)};
  job.options.repeat = 4;
  job.options.seed = 10;
  const auto summary = job.run().value();
  BOOST_TEST(summary.rows == 12U);
  BOOST_TEST(summary.left() == 0U);
  BOOST_TEST(job.output().size() == 12U);
  BOOST_TEST(job.runner.runs["row-2#1"] == 1);
  BOOST_TEST(job.runner.last.key == "row-2#4");
  BOOST_TEST(job.runner.last.config.run_id == "row-2#4");
  BOOST_TEST(job.runner.last.sample == 4U);
  BOOST_TEST(job.runner.last.seed.value() == 13U);
  BOOST_TEST(job.run().value().already_finished);
  job.options.repeat = 5;
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "--repeat from 4 seed 10 to 5 seed 10"));
  job.options.force = true;
  BOOST_TEST(job.run().value().rows_this_run == 3U);
}

BOOST_AUTO_TEST_CASE(seed_of_a_batch_request_is_that_of_its_first_sample) {
  auto job = testing::job{R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions",)"
                          R"("body":{"messages":[{"role":"user","content":"x"}],"seed":40}})"};
  job.options.repeat = 3;
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(job.runner.last.seed.value() == 42U);
}

BOOST_AUTO_TEST_CASE(failed_samples_are_retried_and_usable_as_input) {
  auto job = testing::job{chat_line("a", "fail") + chat_line("b", "x") +
                          R"({"messages":[{"role":"user","content":"fail"}]})"};
  job.options.repeat = 2;
  BOOST_TEST(job.run().value().failed == 4U);
  const auto letters = job.file("out.dead.jsonl");
  job.options.retry_dead = true;
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().failed == 4U);
  BOOST_TEST(job.runner.runs.size() == 4U);
  BOOST_TEST(job.runner.runs["a#2"] == 1);
  BOOST_TEST(job.runner.runs["3#1"] == 1);
  BOOST_TEST(job.output().size() == 6U);
  auto second = testing::job{letters};
  BOOST_TEST(second.run().value().failed == 4U);
  BOOST_TEST(second.runner.runs.contains("a#2"));
  BOOST_TEST(second.runner.runs.contains("3#1"));
}

BOOST_AUTO_TEST_CASE(limit_counts_repeated_row_and_invalid_line_once) {
  auto job = testing::job{"{broken\n" + chat_lines(5)};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.repeat = 3;
  job.options.limit = 3;
  const auto part = job.run().value();
  BOOST_TEST(part.rows == 16U);
  BOOST_TEST(part.rows_this_run == 6U);
  BOOST_TEST(part.bad_lines == 1U);
  BOOST_TEST(job.progress.last.rows == 7U);
  BOOST_TEST(part.left() == 9U);
}

BOOST_AUTO_TEST_CASE(id_field_selects_the_key) {
  auto job = testing::job{R"({"id":"x","nr":7,"messages":[{"role":"user","content":"one"}]})"
                          "\n"
                          R"({"id":"x","nr":"8","messages":[{"role":"user","content":"fail"}]})"};
  job.options.id_field = "nr";
  BOOST_TEST(job.run().value().failed == 1U);
  BOOST_TEST(to_text(job.output()["7"]["columns"]) == R"({"id":"x"})");
  job.options.retry_dead = true;
  BOOST_TEST(job.run().value().rows_this_run == 1U);
  BOOST_TEST(job.output().size() == 2U);
  job.options.id_field = "id";
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "the row id \"x\" is already used on line 1"));
  job.options.id_field = "key";
  BOOST_TEST(has(job.run().error().text, "the row has no member \"key\", which --id-field names"));
}

BOOST_AUTO_TEST_CASE(repeats_are_read_as_they_are_written) {
  auto options = batch_options{};
  const auto once = repeats_of(repeat_text(options));
  BOOST_REQUIRE(once.has_value());
  BOOST_TEST(once->samples == 1U);
  options.repeat = 4;
  options.seed = 7;
  const auto often = repeats_of(repeat_text(options));
  BOOST_REQUIRE(often.has_value());
  BOOST_TEST(often->samples == 4U);
  BOOST_TEST(often->seed == 7U);
  for (const auto* text : {"4", "0 seed 1", "4 seed", "4 seed x", "4 seed 1 2", "x seed 1"})
    BOOST_TEST(repeats_of(text).has_error(), text);
}

BOOST_AUTO_TEST_CASE(samples_have_ids_and_seeds_of_their_own) {
  auto row = input_row{};
  row.request.key = "a";
  const auto alone = sample_of(row, 1, {});
  BOOST_TEST(alone.request.key == "a");
  BOOST_TEST(!alone.request.seed.has_value());
  const auto second = sample_of(row, 2, {.samples = 3, .seed = 7});
  BOOST_TEST(second.request.key == "a#2");
  BOOST_TEST(second.request.config.run_id == "a#2");
  BOOST_TEST(second.request.sample == 2U);
  BOOST_TEST(second.request.seed.value() == 8U);
  row.request.parameters["seed"] = 100;
  BOOST_TEST(sample_of(row, 3, {.samples = 3, .seed = 7}).request.seed.value() == 102U);
}

BOOST_AUTO_TEST_SUITE_END()
