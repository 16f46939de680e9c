// SPDX-License-Identifier: Apache-2.0
// Reports: counts, confidence intervals, slowest rows, bounds, and HTML that cannot be injected.
#include "batch/output_line.hpp"
#include "results/html_page.hpp"
#include "results/report.hpp"
#include "unit/results/output_file.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;
using testing::read;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(reports)

BOOST_AUTO_TEST_CASE(wilson_interval_has_published_values) {
  // R: binom::binom.confint(8, 10, methods = "wilson")
  const auto share = wilson(8, 10);
  BOOST_TEST(share.value == 0.8);
  BOOST_TEST(share.low == 0.4901625, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(share.high == 0.9433178, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(wilson(0, 0).high == 0.0);
  BOOST_TEST(wilson(0, 5).low == 0.0);
  BOOST_TEST(wilson(5, 5).high == 1.0);
}

BOOST_AUTO_TEST_CASE(repeated_rows_do_not_narrow_intervals) {
  // Ten rows, of which eight are right. Each is repeated ten times with the same answer, so the
  // interval is that of the ten rows.
  auto got = report{};
  for (auto i = 0; i < 100; ++i) {
    auto line = read(ok_line(fmt::format("r{}#{}", i % 10, 1 + i / 10), "x"));
    line.score = i % 10 < 8 ? 1.0 : 0.0;
    got.add(line);
  }
  BOOST_TEST(contains(to_text(got), "80.0 % (95 % confidence: 49.0 to 94.3 %), 100 rows scored, "
                                    "repetitions of 10 rows"),
             to_text(got));
  // Answers that vary as much within a row as between rows are nearly like those of independent
  // rows. The difference is for the uncertainty of their variance.
  auto varied = score_groups{};
  for (auto i = 0; i < 100; ++i)
    varied.add(fmt::format("r{}#{}", i / 2, 1 + i % 2), i % 4 == 0 || i % 4 == 3 ? 1.0 : 0.0);
  BOOST_TEST(varied.interval().low < wilson(50, 100).low);
  BOOST_TEST(varied.interval().low > wilson(47, 94).low);
  // The repetitions of one row count as one row.
  auto single = score_groups{};
  for (auto i = 0; i < 20; ++i)
    single.add(fmt::format("r#{}", i), i % 2);
  BOOST_TEST(single.interval().low == wilson(0.5, 1).low);
  // Few rows with the same sum say little about the variance of other rows.
  const auto low_of = [](int rows, int repetitions) {
    auto equal = score_groups{};
    for (auto i = 0; i < rows * repetitions; ++i)
      equal.add(fmt::format("r{}#{}", i % rows, i / rows), i / rows % 2);
    return equal.interval().low;
  };
  BOOST_TEST(low_of(2, 10) == wilson(1, 2).low, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(low_of(10, 10) > wilson(5, 10).low);
  BOOST_TEST(low_of(10, 10) < wilson(40, 80).low);
  // If all are right, the number of rows determines the interval.
  auto right = score_groups{};
  for (auto i = 0; i < 20; ++i)
    right.add(fmt::format("r{}#{}", i % 5, 1 + i / 5), 1.0);
  BOOST_TEST(right.interval().low == wilson(5, 5).low);
  // Ids that only look like repetitions.
  auto mixed = score_groups{};
  for (const auto* key : {"a#1", "a#2", "b"})
    mixed.add(key, 1.0);
  BOOST_TEST(mixed.repeated_rows() == 0U);
  BOOST_TEST(mixed.interval().low == wilson(3, 3).low);
}

BOOST_AUTO_TEST_CASE(unreported_tokens_are_unknown) {
  // A server that reports no usage leaves zeros. A row without a model call has no tokens.
  const auto line_of = [](const std::string& id, int tokens, int calls, bool is_cached = false) {
    auto line = parse_json(ok_line(id, "x")).value().as_object();
    line["usage"] = {{"input_tokens", tokens}, {"output_tokens", 0}, {"total_tokens", tokens}};
    if (is_cached)
      line["usage"].as_object()["cached"] = 1;
    line["model_calls"] = calls;
    return superstep::to_text(line) + '\n';
  };
  const auto files = output_files{};
  const auto some =
      report::of_file(files.write("some.jsonl", line_of("a", 0, 2) + line_of("b", 30, 1) +
                                                    line_of("c", 0, 1, true) + line_of("d", 0, 0)))
          .value();
  BOOST_TEST(some.tokens.count() == 3U);
  BOOST_TEST(contains(to_text(some), "mean 10.0 per row; 30 in, 0 out, known for 3 rows"),
             to_text(some));
  BOOST_TEST(contains(to_html(some), "input tokens of 3 rows"));
  auto by_id = std::map<std::string, json::value>{};
  const auto written = to_json(some);
  for (const auto& row : written.at("slowest").as_array())
    by_id[std::string{row.at("id").as_string()}] = row.at("tokens");
  BOOST_TEST(by_id["a"].is_null());
  BOOST_TEST(by_id["d"] == json::value(0));
  const auto none = report::of_file(files.write("none.jsonl", line_of("a", 0, 1))).value();
  BOOST_TEST(contains(to_text(none), "tokens        -\n"), to_text(none));
  BOOST_TEST(contains(to_text(none), "- tokens"), to_text(none));
  BOOST_TEST(to_json(none).at("usage").is_null());
}

BOOST_AUTO_TEST_CASE(examples_of_errors_are_single_lines) {
  const auto files = output_files{};
  const auto path = files.write(
      "out.jsonl", R"({"id":"a","status":"error","error":{"kind":"k","message":"exit 3:\n boom"}})"
                   "\n");
  const auto text = to_text(report::of_file(path).value());
  BOOST_TEST(contains(text, "a: exit 3:  boom"), text);
}

BOOST_AUTO_TEST_CASE(report_counts_rows_errors_and_tokens) {
  const auto files = output_files{};
  const auto path = files.write("out.jsonl", ok_line("a", "1", 10) + ok_line("b", "2", 30) +
                                                 failed_line("c", "model_error") +
                                                 failed_line("d", "model_error"));
  static_cast<void>(files.write("out.summary.json", R"({"job_id":"run-1"})"));
  const auto got = report::of_file(path).value();
  BOOST_TEST(got.rows() == 4U);
  BOOST_TEST(got.failed == 2U);
  BOOST_TEST(got.errors.at("model_error").rows == 2U);
  BOOST_TEST(got.errors.at("model_error").examples.size() == 2U);
  BOOST_TEST(got.input_tokens == 10);
  BOOST_TEST(got.summary().at("job_id").as_string() == "run-1");
  BOOST_TEST(got.slowest().front().key == "b");
  BOOST_TEST(contains(to_text(got), "4 rows, 2 ok, 2 failed"));
  BOOST_TEST(to_json(got).at("errors").at("model_error").as_uint64() == 2U);
  BOOST_TEST(contains(to_html(got), "job run-1"));
}

BOOST_AUTO_TEST_CASE(slowest_rows_are_the_slowest_of_many) {
  auto options = report_options{};
  options.slowest_max = 3;
  auto got = report{options};
  for (auto i = 0; i < 1'000; ++i)
    got.add(read(ok_line(std::to_string(i), "x", (i * 7919) % 1'000)));
  const auto rows = got.slowest();
  BOOST_REQUIRE(rows.size() == 3U);
  BOOST_TEST(rows[0].wall_ms == 999.0);
  BOOST_TEST(rows[1].wall_ms == 998.0);
  BOOST_TEST(rows[2].wall_ms == 997.0);
}

BOOST_AUTO_TEST_CASE(number_of_error_classes_is_bounded) {
  auto options = report_options{};
  options.names_max = 10;
  options.examples_max = 2;
  auto got = report{options};
  for (auto i = 0; i < 100; ++i)
    got.add(read(failed_line(std::to_string(i), "kind" + std::to_string(i))));
  BOOST_TEST(got.errors.size() == 11U);
  BOOST_TEST(got.errors.at("(others)").rows == 90U);
  BOOST_TEST(got.errors.at("(others)").examples.size() == 2U);
}

BOOST_AUTO_TEST_CASE(scores_get_a_confidence_interval) {
  auto got = report{};
  for (auto i = 0; i < 10; ++i) {
    auto line = read(ok_line(std::to_string(i), "x"));
    line.score = i < 8 ? 1.0 : 0.0;
    got.add(line);
  }
  BOOST_TEST(contains(to_text(got), "score         80.0 % (95 % confidence: 49.0 to 94.3 %)"));
  BOOST_TEST(contains(to_html(got), "95 % confidence 49.0 to 94.3 %"));
  BOOST_TEST(to_json(got).at("score").at("mean").as_double() == 0.8);
}

BOOST_AUTO_TEST_CASE(sum_of_costs_has_no_rounding_errors) {
  auto got = report{};
  for (auto i = 0; i < 300; ++i)
    got.add(read(R"({"id":"a","answer":"x","cost":0.000046})"));
  BOOST_TEST(superstep::to_text(to_json(got).at("cost")) == "0.0138");
}

BOOST_AUTO_TEST_CASE(small_costs_are_not_rounded_to_zero) {
  auto got = report{};
  for (auto i = 0; i < 3; ++i)
    got.add(read(R"({"id":"a","answer":"x","cost":0.0000135})"));
  BOOST_TEST(to_text(got).find("cost          $0.0000405, $0.0000135 per row") != std::string::npos,
             to_text(got));
}

BOOST_AUTO_TEST_CASE(missing_numbers_are_not_shown_as_zero) {
  auto got = report{};
  got.add(read(R"({"id":"a","answer":"x","wall_ms":3})"));
  const auto text = to_text(got);
  for (const auto* part : {"tokens        -\n", "calls         - model calls, - tool calls\n",
                           "a  ok, - steps, - tool calls, - tokens  x"})
    BOOST_TEST(contains(text, part), text);
  const auto json = to_json(got);
  for (const auto* name : {"usage", "model_calls", "tool_calls", "tokens", "steps"})
    BOOST_TEST(json.at(name).is_null(), name);
  BOOST_TEST(contains(to_html(got), "<b>-</b><span>model calls</span>"));
  got.add(read(ok_line("b", "1")));
  BOOST_TEST(contains(to_text(got), "calls         1 model call, 0 tool calls"));
}

BOOST_AUTO_TEST_CASE(lines_without_status_are_counted_as_unknown) {
  auto got = report{};
  got.add(read(R"({"id":"a","answer":"x"})"));
  got.add(read(R"({"id":"b","answer":null})"));
  got.add(read(R"({"id":"c","label":"x"})"));
  got.add(read(R"({"id":"d","answer":null,"status":"error"})"));
  got.add(read(R"({"id":"e","label":"x","error.code":null})"));
  got.add(read(R"({"id":"f","label":null,"error.code":"timed_out"})"));
  got.add(read(R"({"id":"g","label":"x","error":null})"));
  BOOST_TEST(got.rows() == 7U);
  BOOST_TEST(contains(to_text(got), "7 rows, 3 ok, 2 failed, 2 of unknown status (write the "),
             to_text(got));
  BOOST_TEST(to_json(got).at("rows").at("unknown").as_uint64() == 2U);
  BOOST_TEST(contains(to_html(got), "<b>2</b><span>of unknown status</span>"));
  BOOST_TEST(got.errors.at("timed_out").rows == 1U);
  BOOST_TEST(got.errors.at("unknown").rows == 1U);
}

BOOST_AUTO_TEST_CASE(messages_without_answer_do_not_count_as_success) {
  const auto question = std::string{R"({"id":"a","messages":[{"type":"human","content":"x"})"};
  auto got = report{};
  got.add(read(question + "]}")); // the model has failed
  got.add(read(question + R"(,{"type":"ai","content":"","tool_calls":[{"name":"f"}]}]})"));
  got.add(read(question + R"(,{"type":"tool","name":"f","content":"1"}]})"));
  got.add(read(R"({"id":"a","messages":[]})"));
  got.add(read(question + R"(,{"type":"ai","content":"y","tool_calls":[]}]})"));
  got.add(read(question + R"(,{"role":"assistant","content":"y"}]})"));
  BOOST_TEST(contains(to_text(got), "6 rows, 2 ok, 0 failed, 4 of unknown status"), to_text(got));
}

BOOST_AUTO_TEST_CASE(charts_use_the_singular_for_one) {
  auto values = distribution{};
  values.add(0);
  values.add(1);
  BOOST_TEST(contains(histogram_chart(values, "steps"), "p50 0 steps, p95 1 step, max 1 step<"));
  BOOST_TEST(contains(histogram_chart(values, "steps"), "highest bar: 1 row<"));
}

BOOST_AUTO_TEST_CASE(charts_of_equal_values_are_sentences) {
  auto values = distribution{};
  values.add(958);
  BOOST_TEST(histogram_chart(values, "tokens") == "<p>1 row: 958 tokens</p>");
  values.add(958);
  BOOST_TEST(histogram_chart(values, "tokens") == "<p>all 2 rows: 958 tokens</p>");
}

BOOST_AUTO_TEST_CASE(durations_have_few_digits) {
  using std::chrono::microseconds;
  for (const auto& [micros, label] : {std::pair{600, "0.6 ms"},
                                      {99'940, "99.9 ms"},
                                      {100'400, "100 ms"},
                                      {9'999'000, "9999 ms"},
                                      {75'040'000, "75.0 s"}})
    BOOST_TEST(duration_label(microseconds{micros}) == label);
}

BOOST_AUTO_TEST_CASE(barrier_waits_are_omitted_if_zero) {
  auto got = report{};
  got.add(read(R"({"id":"a","answer":"x","barrier_wait_ms":0})"));
  BOOST_TEST(!contains(to_text(got), "barrier"));
  BOOST_TEST(!contains(to_html(got), "barriers"));
  BOOST_TEST(to_json(got).at("barrier_wait_ms").at("count").as_uint64() == 1U);
  got.add(read(R"({"id":"b","answer":"x","barrier_wait_ms":2.5})"));
  BOOST_TEST(contains(to_text(got), "barrier wait"));
  BOOST_TEST(contains(to_html(got), "Wait at barriers"));
}

BOOST_AUTO_TEST_CASE(answers_from_the_cache_are_counted) {
  auto got = report{};
  got.add(read(R"({"id":"a","answer":"x","model_calls":2,"usage":{"input_tokens":1,"cached":1}})"));
  got.add(read(R"({"id":"b","answer":"x","model_calls":3,"usage":{"input_tokens":1,"cached":2}})"));
  BOOST_TEST(contains(to_text(got), "5 model calls (3 answered from the cache), "), to_text(got));
  BOOST_TEST(to_json(got).at("usage").at("cached").as_uint64() == 3U);
  BOOST_TEST(contains(to_html(got), "<b>3</b><span>answers from the cache</span>"));
}

BOOST_AUTO_TEST_CASE(calls_of_failed_steps_are_without_result) {
  auto line = parse_json(failed_line("a", "worker_failed")).value();
  auto& messages = line.at("output").at("messages").as_array();
  messages.push_back({{"type", "ai"},
                      {"content", ""},
                      {"tool_calls", json::array{json::object{{"name", "crash"}, {"id", "0"}},
                                                 json::object{{"name", "stock"}, {"id", "1"}}}}});
  auto got = report{};
  got.add(read(superstep::to_text(line))); // no node has failed, for example at a limit of steps
  BOOST_TEST(got.tools.empty());
  line.at("error").as_object()["node"] = "tools";
  got.add(read(superstep::to_text(line)));
  BOOST_TEST(contains(to_text(got), "  1  crash, 1 without a result\n"), to_text(got));
  BOOST_TEST(to_json(got).at("tools").at("stock").at("without_result").as_uint64() == 1U);
  BOOST_TEST(to_json(got).at("tools").at("stock").at("failed").as_uint64() == 0U);
  // The deadline of a row also cuts its calls off.
  line.at("error").as_object().erase("node");
  line.at("error").as_object()["kind"] = "timed_out";
  got.add(read(superstep::to_text(line)));
  BOOST_TEST(to_json(got).at("tools").at("stock").at("without_result").as_uint64() == 2U);
}

BOOST_AUTO_TEST_CASE(charts_label_logarithmic_axes_only) {
  auto values = distribution{};
  for (const auto value : {3U, 4U, 4U, 9U})
    values.add(value);
  const auto linear = histogram_chart(values, "steps");
  for (const auto* part : {"highest bar: 2 rows<", ">3 steps<", ">9 steps<"})
    BOOST_TEST(contains(linear, part), linear);
  BOOST_TEST(!contains(linear, "logarithmic"));
  values.add(4'000);
  BOOST_TEST(contains(histogram_chart(values, "steps"), "logarithmic axis above 64 steps<"));

  auto times = histogram{};
  times.add(std::chrono::microseconds{600});
  times.add(std::chrono::seconds{2});
  const auto chart = histogram_chart(times);
  for (const auto* part : {"logarithmic axis<", "p50 0.6 ms", "max 2000 ms<", "from 0.6 ms"})
    BOOST_TEST(contains(chart, part), chart);
}

// The summary of a run and the report print the same numbers for the same rows.
BOOST_AUTO_TEST_CASE(report_and_summary_have_equal_percentiles) {
  auto summary = batch_summary{};
  auto got = report{};
  for (auto i = std::int64_t{1}; i < 2'000; ++i) {
    const auto wall = std::chrono::nanoseconds{i * i * 7'919 % 900'000'007};
    auto outcome = row_outcome{};
    outcome.barrier_wait = wall / 3;
    auto origin = detail::row_origin{};
    origin.key = std::to_string(i);
    origin.key_name = "id";
    auto line = std::string{};
    detail::append_output_line(line, origin, outcome, wall, {"run-1", 0});
    got.add(read(line));
    summary.row_times.add(wall);
    summary.barrier_waits.add(outcome.barrier_wait);
  }
  const auto json = to_json(got);
  const auto times = superstep::to_json(summary).at("times_ms");
  for (const auto* share : {"p50", "p95", "count"}) {
    BOOST_TEST(times.at("row").at(share) == json.at("latency_ms").at(share), share);
    BOOST_TEST(times.at("barrier_wait").at(share) == json.at("barrier_wait_ms").at(share), share);
  }
  const auto text = superstep::to_text(summary);
  const auto p50 = fmt::format("p50 {:.1f} ms", in_ms(summary.row_times.percentile(0.5)));
  BOOST_TEST(contains(text, "row " + p50), text);
  BOOST_TEST(contains(to_text(got), "latency       " + p50), to_text(got));
}

BOOST_AUTO_TEST_CASE(html_escapes_all_texts_of_rows) {
  const auto attack = std::string{"</pre><script>alert(1)</script>\"'&"};
  const auto files = output_files{};
  auto tool = json::object{{"type", "tool"}, {"name", attack}, {"content", attack}};
  auto line = parse_json(ok_line(attack, attack)).value();
  line.at("output").at("messages").as_array().push_back(tool);
  const auto path = files.write("<b>&.jsonl", superstep::to_text(line) + '\n' +
                                                  failed_line(attack, attack, attack));
  const auto page = to_html(report::of_file(path).value());
  BOOST_TEST(!contains(page, "<script"));
  BOOST_TEST(!contains(page, "<b>&."));
  BOOST_TEST(contains(page, "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
  BOOST_TEST(page.starts_with(html_start));
  BOOST_TEST(contains(page, "default-src 'none'"));
  BOOST_TEST(!contains(page, "http://"));
  BOOST_TEST(!contains(page, "https://"));
}

BOOST_AUTO_TEST_CASE(text_hides_no_control_characters) {
  auto got = report{};
  got.add(read(failed_line("a", "x", "red \x1b[31m text")));
  BOOST_TEST(!contains(to_text(got), "\x1b"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
