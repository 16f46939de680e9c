// SPDX-License-Identifier: Apache-2.0
// Jobs whose model writes calls as text give the same rows as jobs whose model has native calls:
// the same texts, calls and results. This holds for each protocol and both versions of the agent.
// Slow builds test a sample of the rows.
#include "goldens/written_call.hpp"
#include "process.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

BOOST_AUTO_TEST_SUITE(protocol_jobs)

namespace {

using namespace superstep::testing;

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr auto row_step = std::size_t{1};
#else
constexpr auto row_step = std::size_t{25};
#endif

const auto protocols = std::vector<std::string>{"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};
const auto versions = std::vector<std::string>{"v1", "v2"};

/// Input, recorded answers and tools of one `superstep run`.
struct job_data {
  std::vector<json::object> input;
  std::vector<json::object> turns;
  std::map<std::string, json::object> schemas; ///< of simulated tools; if empty, calculator
};

std::string lines(const std::vector<json::object>& rows) {
  auto out = std::string{};
  for (const auto& row : rows)
    out += json::serialize(row) + '\n';
  return out;
}

/// Rewrites turns as a model without native calls would have written them.
json::object as_text(const json::object& row, const superstep::tool_protocol& protocol) {
  auto turns = json::array{};
  for (const auto& t : row.at("turns").as_array()) {
    const auto& turn = t.as_object();
    auto text = text_at(turn, "content");
    if (const auto* calls = turn.if_contains("tool_calls"))
      for (const auto& call : calls->as_array()) {
        const auto& function = call.at("function").as_object();
        const auto arguments = json::parse(function.at("arguments").as_string());
        text += (text.empty() ? "" : "\n") +
                superstep::conformance::written_call(protocol, text_at(function, "name"),
                                                     arguments.as_object());
      }
    turns.push_back(json::object{{"role", "assistant"}, {"content", text}});
  }
  auto out = row;
  out["turns"] = std::move(turns);
  return out;
}

/// @param protocol empty if the model has native calls
rows_by_key run_job(const job_data& data, const std::string& version, const std::string& protocol) {
  auto turns = data.turns;
  auto model = json::object{{"provider", "recorded"}, {"path", "turns.jsonl"}};
  if (!protocol.empty()) {
    model["protocol"] = protocol;
    const auto form = superstep::make_protocol(protocol).value();
    for (auto& row : turns)
      row = as_text(row, *form);
  }
  auto tools = json::array{};
  for (const auto& [name, schema] : data.schemas) {
    auto options = json::object{{"name", name}, {"description", "echoes"}, {"args_schema", schema}};
    tools.push_back(json::object{{"simulated", std::move(options)}});
  }
  if (tools.empty())
    tools.push_back("calculator");
  auto job = cli_job{};
  job.write("in.jsonl", lines(data.input));
  job.write("turns.jsonl", lines(turns));
  job.write("agent.yaml", json::serialize(json::object{{"name", "jobs"},
                                                       {"model", std::move(model)},
                                                       {"version", version},
                                                       {"tools", std::move(tools)}}));
  const auto end = job.run({"--concurrency", "16"});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  return read_rows(job.read("out.jsonl"));
}

/// Returns a common text for equal values: 2.0 and 2 are the same number in some protocols.
std::string plain(const json::value& v) {
  if (const auto* number = v.if_double(); number != nullptr && *number == std::trunc(*number))
    return std::to_string(static_cast<std::int64_t>(*number));
  auto out = std::string{};
  if (const auto* items = v.if_array())
    for (const auto& item : *items)
      out += plain(item) + ',';
  else if (const auto* members = v.if_object())
    for (const auto& member : *members)
      out += std::string{member.key()} + ':' + plain(member.value()) + ',';
  else
    return json::serialize(v);
  return v.is_array() ? '[' + out + ']' : '{' + out + '}';
}
std::string plain_text(const std::string& text) {
  auto failed = boost::system::error_code{};
  const auto value = json::parse(text, failed);
  return failed ? text : plain(value);
}

/// Returns the conversation without ids, which are generated for calls in text; results answer
/// calls by position. White space at the end of a text separated it from the calls.
std::vector<std::string> conversation(const json::object& row) {
  auto out = std::vector<std::string>{text_at(row, "status")};
  auto ids = std::vector<std::string>{};
  auto answered = std::size_t{0};
  for (const auto& m : messages_of(row)) {
    const auto& message = m.as_object();
    auto text = text_at(message, "content");
    text.resize(text.find_last_not_of(" \n") + 1);
    out.push_back(text_at(message, "type") + ": " + plain_text(text));
    if (text_at(message, "type") == "tool") {
      BOOST_TEST_REQUIRE(answered < ids.size());
      BOOST_TEST(text_at(message, "tool_call_id") == ids[answered]);
      ++answered;
    }
    if (const auto* calls = message.if_contains("tool_calls"))
      for (const auto& call : calls->as_array()) {
        out.push_back(text_at(call.as_object(), "name") + ' ' + plain(call.at("args")));
        ids.push_back(text_at(call.as_object(), "id"));
      }
  }
  BOOST_TEST(answered == ids.size());
  return out;
}

/// Whether a call violates its own schema: it was rejected, or has a null where null is not allowed
/// (which native calls accept). A protocol need not represent such a call.
bool breaks_schema(const json::object& row) {
  const auto is_null = [](const auto& argument) { return argument.value().is_null(); };
  return std::ranges::any_of(messages_of(row), [&](const auto& m) {
    const auto& message = m.as_object();
    const auto* calls = message.if_contains("tool_calls");
    const auto has_null =
        calls != nullptr && std::ranges::any_of(calls->as_array(), [&](const auto& call) {
          return std::ranges::any_of(call.at("args").as_object(), is_null);
        });
    const auto* status = message.if_contains("status");
    return has_null || (status != nullptr && *status == "error");
  });
}

/// @returns the number of compared rows
std::size_t check_jobs(const job_data& data, const std::string& version,
                       const std::string& protocol, const rows_by_key& native) {
  const auto rows = run_job(data, version, protocol);
  BOOST_TEST(rows.size() == native.size());
  auto compared = std::size_t{0};
  for (const auto& [key, row] : native) {
    if (breaks_schema(row))
      continue;
    BOOST_TEST_CONTEXT(protocol << ' ' << version << ' ' << key) {
      BOOST_TEST_REQUIRE(rows.contains(key));
      BOOST_TEST(conversation(rows.at(key)) == conversation(row), boost::test_tools::per_element());
    }
    ++compared;
  }
  return compared;
}

job_data gsm8k_job() {
  const auto folder = shared_data("gsm8k");
  const auto input = read_objects(read_file(folder + "/input.jsonl"));
  auto recorded = read_rows(read_file(folder + "/recorded_turns.jsonl"));
  auto out = job_data{};
  for (auto i = std::size_t{0}; i < input.size(); i += row_step) {
    out.input.push_back(input[i]);
    out.turns.push_back(recorded.at(text_at(input[i], "custom_id")));
  }
  return out;
}

/// Returns one message with all expected calls, then a final text.
json::object recorded_turns(const json::object& question) {
  auto calls = json::array{};
  for (const auto& call : question.at("expected_calls").as_array()) {
    auto function =
        json::object{{"name", call.at("name")}, {"arguments", json::serialize(call.at("args"))}};
    calls.push_back(json::object{{"id", "call_" + std::to_string(calls.size())},
                                 {"type", "function"},
                                 {"function", std::move(function)}});
  }
  auto asks =
      json::object{{"role", "assistant"}, {"content", "I call."}, {"tool_calls", std::move(calls)}};
  auto closes = json::object{{"role", "assistant"}, {"content", "Done."}};
  return {{"id", question.at("id")}, {"turns", json::array{std::move(asks), std::move(closes)}}};
}

/// Adds the question unless the job has a tool of the same name with another schema.
bool add_question(job_data& job, const json::object& question) {
  auto schemas = job.schemas;
  for (const auto& tool : question.at("tools").as_array()) {
    const auto& function = tool.at("function").as_object();
    const auto& schema = function.at("parameters").as_object();
    const auto [place, is_new] = schemas.emplace(text_at(function, "name"), schema);
    if (!is_new && place->second != schema)
      return false;
  }
  job.schemas = std::move(schemas);
  job.input.push_back({{"id", question.at("id")}, {"messages", question.at("messages")}});
  job.turns.push_back(recorded_turns(question));
  return true;
}

/// Groups the questions into jobs: an agent has each tool once, and questions define different
/// tools with the same name.
std::vector<job_data> bfcl_jobs() {
  auto out = std::vector<job_data>{};
  auto number = std::size_t{0};
  for (const auto* group : {"multiple", "parallel", "parallel_multiple"})
    for (const auto& row :
         read_objects(read_file(shared_data("bfcl") + "/bfcl_" + group + ".jsonl"))) {
      if (number++ % row_step != 0)
        continue;
      if (std::ranges::none_of(out, [&](auto& job) { return add_question(job, row); }))
        BOOST_TEST_REQUIRE(add_question(out.emplace_back(), row));
    }
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(gsm8k_rows_match_with_text_and_native_calls,
                     boost::unit_test::data::make(versions), version) {
  const auto data = gsm8k_job();
  const auto native = run_job(data, version, "");
  for (const auto& protocol : protocols)
    BOOST_TEST(check_jobs(data, version, protocol, native) == data.input.size());
}

BOOST_DATA_TEST_CASE(bfcl_rows_match_with_text_and_native_calls,
                     boost::unit_test::data::make(versions), version) {
  auto broken = std::size_t{0};
  auto rows = std::size_t{0};
  auto compared = std::size_t{0};
  for (const auto& data : bfcl_jobs()) {
    const auto native = run_job(data, version, "");
    rows += data.input.size();
    broken += static_cast<std::size_t>(
        std::ranges::count_if(native, [](const auto& row) { return breaks_schema(row.second); }));
    for (const auto& protocol : protocols)
      compared += check_jobs(data, version, protocol, native);
  }
  BOOST_TEST(compared == (rows - broken) * protocols.size());
  BOOST_TEST(broken * 100 <= rows);
  BOOST_TEST_MESSAGE(version << ": " << rows << " rows, " << broken
                             << " with calls their schema forbids");
}

BOOST_AUTO_TEST_SUITE_END()
