// SPDX-License-Identifier: Apache-2.0
// The view of one row: its conversation by super-step, its error, and the timeline of its calls.
#include "results/row_timeline.hpp"
#include "results/row_view.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;

namespace {

void check_parts(const std::string& text, const std::vector<std::string>& parts) {
  auto at = std::size_t{0};
  for (const auto& part : parts) {
    at = text.find(part, at);
    BOOST_TEST((at != std::string::npos), '\'' << part << "' is missing or too early in\n" << text);
    if (at == std::string::npos)
      return;
  }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(row_views, output_files)

BOOST_AUTO_TEST_CASE(row_shows_messages_by_super_step) {
  const auto line = parse_json(R"({"id":"a","status":"ok","output":{"messages":[
    {"type":"human","content":"two\r\nlines","id":"a-0-0"},
    {"type":"ai","content":"","id":"a-1-0","usage_metadata":{"input_tokens":3,"output_tokens":4},
     "tool_calls":[{"name":"add","args":{"x":1},"id":"c0","type":"tool_call"}]},
    {"type":"tool","content":"no","name":"add","id":"a-2-0","tool_call_id":"c0","status":"error"},
    {"type":"ai","content":"\u001b[31mdone","id":"a-3-0"}],"structured_response":{"n":1}},
    "error":null,"cost":5e-05,"steps":3,"wall_ms":7})")
                        .value();
  const auto text = row_text(line.as_object());
  check_parts(text,
              {"id              a", "cost            $0.00005\n", "steps           3",
               "wall_ms         7", R"(structured_response {"n":1})", "human\n  two\n  lines\n",
               "-- super-step 1\n", "ai (3 tokens in, 4 out)\n", R"(-> add {"x":1} [c0])",
               "-- super-step 2\n", "tool add (error) [c0]\n  no\n", "-- super-step 3\n", "done"});
  BOOST_TEST(text.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(row_counts_model_calls_without_a_message) {
  const auto text_of = [](const std::string& calls) {
    return row_text(parse_json(R"({"id":"a","status":"ok","output":{"messages":[
      {"type":"ai","content":"of the input","id":"a-0-0"},
      {"type":"ai","content":"x","id":"a-1-0","usage_metadata":{"input_tokens":3,"output_tokens":4}}]},
      "usage":{"input_tokens":13,"output_tokens":9},"model_calls":)" +
                               calls + "}")
                        .value()
                        .as_object());
  };
  check_parts(text_of("3"), {"\n-- 2 model calls without a message here (10 tokens in, 5 out)"});
  check_parts(text_of("2"), {"\n-- 1 model call without a message here"});
  BOOST_TEST(text_of("1").find("without a message") == std::string::npos);
  const auto failed =
      parse_json(R"({"id":"a","output":{"messages":[]},"error":{"kind":"model_error"},
                                     "usage":{"input_tokens":0,"output_tokens":0},"model_calls":1})")
          .value();
  BOOST_TEST(row_text(failed.as_object()).find("without a message") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(failed_row_shows_its_error) {
  const auto line = parse_json(failed_line("a", "model_error", "the server refused")).value();
  check_parts(
      row_text(line.as_object()),
      {"status          error", "error: kind model_error, attempts 1", "the server refused"});
}

BOOST_AUTO_TEST_CASE(last_line_with_the_id_is_found) {
  const auto path = write("o", ok_line("a", "first") + ok_line("b", "x") + ok_line("a", "second"));
  const auto found = find_row(path, "a").value();
  BOOST_TEST(found.line.value_or("").find("second") != std::string::npos);
  BOOST_TEST(!found.is_torn);
  BOOST_TEST(!find_row(path, "c").value().line.has_value());
  BOOST_TEST(find_row(path + "x", "a").has_error());
}

BOOST_AUTO_TEST_CASE(found_line_is_that_of_the_file) {
  constexpr auto levels = std::size_t{900}; // more than parse_json() accepts
  const auto line = R"({ "id":"a", "cost":0.00002, "x":)" + std::string(levels, '[') +
                    std::string(levels, ']') + '}';
  const auto found = find_row(write("o", line + "\n{\"id\":\"a\""), "a").value();
  BOOST_TEST(found.line.value_or("") == line);
  BOOST_TEST(found.is_torn);
}

BOOST_AUTO_TEST_CASE(similar_ids_are_the_nearest_ones) {
  auto lines = std::string{};
  for (const auto* id :
       {"order-17", "Order-1", "order-71", "x", "order-7", "order-117", "task-9", "order-1#1"})
    lines += ok_line(id, "1");
  const auto path = write("o", lines);
  using ids = std::vector<std::string>;
  const auto similar = [&](const std::string& id) {
    const auto found = find_similar_ids(path, id).value();
    BOOST_TEST(found.first == "order-17");
    return found.similar;
  };
  BOOST_TEST((similar("ORDER-17") == ids{"order-17", "Order-1", "order-7"}));
  BOOST_TEST((similar("order-1") == ids{"Order-1", "order-1#1", "order-17"}));
  BOOST_TEST((similar("taks-9") == ids{"task-9"})); // two letters are exchanged
  BOOST_TEST((similar("task") == ids{"task-9"}));
  BOOST_TEST(similar("nothing like it").empty());
  BOOST_TEST(similar(std::string(10'000, 'x')).empty());
  BOOST_TEST(find_similar_ids(write("empty", ""), "a").value().first.empty());
}

BOOST_AUTO_TEST_CASE(timeline_shows_rejected_answers_and_errors) {
  const auto path = write("events",
                          R"({"row":"a","event":"model_start","call_id":"0","t_ns":0}
{"row":"a","event":"model_end","call_id":"0","t_ns":1000000,"attempt":1,"status":"ok","usage":{"input_tokens":4,"output_tokens":2}}
{"row":"a","event":"model_start","call_id":"1","t_ns":1000000,"request":"response"}
{"row":"a","event":"model_end","call_id":"1","t_ns":2000000,"attempt":1,"status":"ok"}
{"row":"a","event":"model_rejected","call_id":"1","t_ns":2000000,"error":"is not\nJSON","answer":"two\nlines"}
{"row":"a","event":"model_start","call_id":"2","t_ns":3000000,"request":"response"}
{"row":"a","event":"model_end","call_id":"2","t_ns":4000000,"attempt":1,"status":"error","error":"HTTP 400"}
)");
  check_parts(row_timeline(path, "a").value(),
              {"model 0 ok, 4 tokens in, 2 out\n", "model 1 (structured response) rejected\n",
               "2.0 ms   rejected: is not JSON; answer: two lines\n",
               "model 2 (structured response) error\n", "4.0 ms   failed: HTTP 400"});
}

BOOST_AUTO_TEST_CASE(timeline_lists_calls_of_one_row) {
  const auto path =
      write("events", R"({"row":"a","event":"model_start","call_id":"0","t_ns":1000000}
{"row":"b","event":"tool_start","call_id":"x","t_ns":1500000}
{"row":"a","event":"model_end","call_id":"0","t_ns":3000000}
{"row":"a","event":"tool_start","call_id":"c0","t_ns":3000000}
{"row":"a","event":"tool_end","call_id":"c0","t_ns":5000000}
{"row":"a","event":"tool_start","call_id":"c1","tool":"stock","t_ns":4000000}
)");
  const auto text = row_timeline(path, "a").value();
  check_parts(text, {"0.0 ms", "2.0 ms", "model 0", "2.0 ms", "2.0 ms", "tool c0", "3.0 ms", "open",
                     "tool c1 (stock)"});
  BOOST_TEST(text.find("of the row") == std::string::npos);
  BOOST_TEST(text.find("tool x") == std::string::npos);
  BOOST_TEST(row_timeline(path, "c").value().empty());
}

BOOST_AUTO_TEST_CASE(timeline_separates_starts_of_row) {
  const auto path = write(
      "events",
      R"({"row":"a","row_attempt":1,"event":"model_start","call_id":"0","time":"2026-03-01T09:30:00.125Z","t_ns":0}
{"row":"a","row_attempt":2,"event":"model_start","call_id":"0","t_ns":2000000}
{"row":"a","row_attempt":1,"event":"model_end","call_id":"0","t_ns":3000000,"attempt":1,"status":"error"}
{"row":"a","row_attempt":2,"event":"model_retry","call_id":"0","t_ns":4000000,"attempt":1,"error":"HTTP 500"}
{"row":"a","row_attempt":2,"event":"model_end","call_id":"0","t_ns":5000000,"attempt":2,"status":"ok","usage":{"input_tokens":4,"output_tokens":2,"total_tokens":6}}
{"row":"a","row_attempt":2,"event":"tool_start","call_id":"c","t_ns":6000000}
{"row":"a","row_attempt":2,"event":"tool_discarded","call_id":"c","t_ns":7000000}
)");
  check_parts(row_timeline(path, "a").value(),
              {"-- start 1 of the row\n", "09:30:00.125      0.0 ms     3.0 ms", "model 0 error\n",
               "-- start 2 of the row\n", "0.0 ms     3.0 ms",
               "model 0 ok, 2 attempts, 4 tokens in, 2 out\n",
               "2.0 ms   attempt 1 failed: HTTP 500\n", "open", "tool c, discarded"});
}

// The clock of t_ns begins again when the machine is restarted between two runs of a job.
BOOST_AUTO_TEST_CASE(timeline_shows_starts_with_restarted_clock) {
  const auto path =
      write("events",
            R"({"row":"a","row_attempt":1,"event":"model_start","call_id":"0","t_ns":9000000000000}
{"row":"a","row_attempt":2,"event":"model_start","call_id":"0","t_ns":5000000}
{"row":"a","row_attempt":2,"event":"model_end","call_id":"0","t_ns":7000000,"status":"ok"}
{"row":"a","row_attempt":2,"event":"model_start","call_id":"1","t_ns":4000000}
)");
  check_parts(row_timeline(path, "a").value(),
              {"-- start 1 of the row\n", "0.0 ms", "open", "-- start 2 of the row\n",
               "0.0 ms     2.0 ms", "model 0 ok", "0.0 ms", "open"});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
