// SPDX-License-Identifier: Apache-2.0
// The answer cache: which answers are stored, when two requests are equal, equal requests in
// flight, the size of the file, and files of other programs.
#include "agents/cached_model.hpp"
#include "agents/fake_model.hpp"
#include "support/manual_executor.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/await.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace superstep;
using superstep::test::manual_executor;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(answer_cache_suite)

namespace {

/// A folder that is deleted at the end of a test.
struct folder {
  folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "answer_cache_XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return (path / "cache.db").string(); }
  std::filesystem::path path;
};

std::shared_ptr<detail::answer_cache> opened(const folder& in,
                                             std::int64_t bytes_max = std::int64_t{1} << 24) {
  auto made = detail::answer_cache::open(in.file(), bytes_max);
  BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().text));
  return *std::move(made);
}

/// Counts its calls. Each call takes a second, and its answer contains the number of the call.
class slow_model final : public chat_model {
public:
  explicit slow_model(int failures = 0) : failures_{failures} {}
  task<result<message>> complete(model_request) const override {
    const auto number = ++calls_;
    auto sleeping = sleep_for{1s};
    co_await sleeping;
    if (number <= failures_)
      co_return error{model_errc::server_error, "down"};
    co_return ai_message("answer " + std::to_string(number));
  }
  std::string fingerprint() const override { return "slow"; }
  [[nodiscard]] int calls() const { return calls_; }

private:
  int failures_;
  mutable int calls_ = 0;
};

model_request asking(std::string text) {
  auto out = model_request{};
  out.messages.push_back(human_message(std::move(text)));
  out.parameters["temperature"] = 0;
  return out;
}

template <class Model>
chat_model_ptr cached(const std::shared_ptr<Model>& inner, const folder& in,
                      detail::cached_model_options options = {}) {
  return detail::cache_answers(inner, opened(in), std::move(options));
}

message answered(const chat_model_ptr& model, const model_request& request) {
  auto out = sync_wait(model->complete(request));
  BOOST_REQUIRE(out.has_value());
  return *std::move(out);
}

std::int64_t hits(const message& answer) {
  if (!answer.usage)
    return 0;
  const auto* count = answer.usage->input_details.if_contains(detail::cached_answers_key);
  return count != nullptr ? count->as_int64() : 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_request_is_answered_from_the_file) {
  const auto in = folder{};
  auto answer = ai_message("good");
  answer.id = "msg-1";
  auto usage = token_usage{};
  usage.input_tokens = 7;
  usage.total_tokens = 9;
  answer.usage = usage;
  const auto inner = std::make_shared<const testing::fake_model>(std::vector<message>{answer});
  BOOST_TEST(answered(cached(inner, in), asking("a")).usage->total_tokens == 9);
  auto again = asking("a"); // of another process, row and turn
  again.run_key = "row 2";
  again.turn = 0;
  auto heard = std::string{};
  again.on_chunk = [&](const message_chunk& piece) { heard += piece.part.content; };
  const auto hit = answered(cached(inner, in), again);
  BOOST_TEST(inner->asked().size() == 1U);
  BOOST_TEST(hit.content == "good");
  BOOST_TEST(heard == "good");
  BOOST_TEST(hit.id == "");
  BOOST_TEST(hit.usage->total_tokens == 0);
  BOOST_TEST(hit.usage->input_details.at(detail::cached_tokens_key) == 9);
  BOOST_TEST(hits(hit) == 1);
}

BOOST_AUTO_TEST_CASE(different_requests_do_not_share_answers) {
  const auto in = folder{};
  auto requests = std::vector<model_request>{asking("a"), asking("b")};
  const auto change = [&](auto f) { f(requests.emplace_back(asking("a"))); };
  change([](auto& r) { r.sample = 2; });
  change([](auto& r) { r.sample = 3; });
  change([](auto& r) { r.parameters["max_tokens"] = 5; });
  change([](auto& r) { r.system = std::make_shared<const message>(system_message("s")); });
  change([](auto& r) {
    r.tools = std::make_shared<const std::vector<tool_definition>>(
        1, tool_definition{"t", "", json::object{}});
  });
  change([](auto& r) { r.messages.push_back(ai_message("b")); });
  const auto inner =
      std::make_shared<const testing::fake_model>(std::vector<message>{ai_message("good")});
  const auto model = cached(inner, in);
  for (auto i = std::size_t{0}; i < requests.size(); ++i) {
    BOOST_TEST(hits(answered(model, requests[i])) == 0);
    BOOST_TEST(inner->asked().size() == i + 1);
  }
  for (const auto& request : requests)
    BOOST_TEST(hits(answered(model, request)) == 1);
}

BOOST_AUTO_TEST_CASE(sampled_requests_bypass_the_cache) {
  const auto in = folder{};
  const auto inner =
      std::make_shared<const testing::fake_model>(std::vector<message>{ai_message("good")});
  auto warm = asking("a");
  warm.parameters["temperature"] = 0.7;
  auto unset = asking("a");
  unset.parameters.clear();
  for (const auto& request : {warm, unset}) {
    const auto model = cached(inner, in);
    static_cast<void>(answered(model, request));
    BOOST_TEST(hits(answered(model, request)) == 0);
    auto options = detail::cached_model_options{};
    options.with_sampled = true;
    const auto asked = cached(inner, in, options);
    static_cast<void>(answered(asked, request));
    BOOST_TEST(hits(answered(asked, request)) == 1);
  }
  auto deterministic = detail::cached_model_options{};
  deterministic.is_deterministic = true; // a model without a temperature
  static_cast<void>(answered(cached(inner, in, deterministic), unset));
  BOOST_TEST(hits(answered(cached(inner, in, deterministic), unset)) == 1);
}

BOOST_AUTO_TEST_CASE(bad_answers_are_not_stored) {
  const auto in = folder{};
  auto cut = ai_message("incomplete");
  cut.response_metadata["finish_reason"] = "length";
  auto broken = ai_message("calls");
  broken.invalid_tool_calls.emplace_back();
  for (const auto& answer : {ai_message(""), ai_message(" \n"), cut, broken}) {
    const auto inner = std::make_shared<const testing::fake_model>(std::vector<message>{answer});
    const auto model = cached(inner, in);
    static_cast<void>(answered(model, asking("a")));
    BOOST_TEST(hits(answered(model, asking("a"))) == 0);
  }
  const auto failing = std::make_shared<const testing::fake_model>(std::vector<message>{});
  const auto model = cached(failing, in);
  BOOST_TEST(sync_wait(model->complete(asking("a"))).has_error());
  BOOST_TEST(sync_wait(model->complete(asking("a"))).has_error());
  BOOST_TEST(failing->asked().size() == 2U);
}

BOOST_AUTO_TEST_CASE(answer_that_misses_its_schema_is_not_stored) {
  auto format = answer_schema{};
  format.schema =
      parse_json(R"({"type":"object","properties":{"x":{"minimum":0}},"required":["x"]})")
          .value()
          .as_object();
  auto request = asking("a");
  request.format = std::make_shared<const answer_schema>(format);
  const auto is_stored = [&](const char* text) {
    const auto own = folder{};
    const auto inner =
        std::make_shared<const testing::fake_model>(std::vector<message>{ai_message(text)});
    const auto model = cached(inner, own);
    static_cast<void>(answered(model, request));
    return hits(answered(model, request)) == 1;
  };
  for (const auto* text : {"no", R"({"y":1})", R"({"x":-1})", "```json\n{\"x\":-1}\n```"})
    BOOST_TEST(!is_stored(text), text);
  for (const auto* text : {R"({"x":1})", "```json\n{\"x\":1}\n```"})
    BOOST_TEST(is_stored(text), text);
}

BOOST_AUTO_TEST_CASE(call_that_misses_schema_of_response_is_not_stored) {
  const auto parameters = parse_json(R"({"type":"object","required":["x","why"],"properties":
      {"x":{"enum":["a","b"]},"why":{"anyOf":[{"type":"string"},{"type":"null"}]}}})");
  const auto is_stored = [&](const char* args, bool is_forced, bool is_strict) {
    auto request = asking("a");
    request.tools = std::make_shared<const std::vector<tool_definition>>(
        1, tool_definition{"label", "", parameters->as_object()});
    if (is_forced)
      request.parameters["tool_choice"] = "label";
    request.parameters["strict"] = is_strict;
    auto call = tool_call{"c", "label", {}};
    if (args != nullptr)
      call.args = parse_json(args)->as_object();
    const auto answer = args != nullptr ? ai_message("", {call}) : ai_message("no call");
    const auto own = folder{};
    const auto inner = std::make_shared<const testing::fake_model>(std::vector<message>{answer});
    const auto model = cached(inner, own);
    static_cast<void>(answered(model, request));
    return hits(answered(model, request)) == 1;
  };
  BOOST_TEST(is_stored(R"({"x":"a","why":null})", true, true));
  BOOST_TEST(is_stored(R"({"x":"a"})", true, true)); // the absent member may also be missing
  BOOST_TEST(!is_stored(R"({"x":"a"})", true, false));
  BOOST_TEST(!is_stored(R"({"x":"c","why":null})", true, true));
  BOOST_TEST(!is_stored(R"({"why":null})", true, true));
  BOOST_TEST(!is_stored(nullptr, true, true));
  BOOST_TEST(is_stored(R"({"x":"c"})", false, false)); // the agent answers such a call
  BOOST_TEST(is_stored(nullptr, false, false));
}

namespace {

task<void> ask_for(chat_model_ptr model, model_request request,
                   std::vector<result<message>>& into) {
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  into.push_back(std::move(answer));
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_requests_in_flight_are_sent_once) {
  const auto in = folder{};
  const auto inner = std::make_shared<const slow_model>();
  const auto model = cached(inner, in);
  auto run = manual_executor{};
  auto answers = std::vector<result<message>>{};
  auto tasks = std::vector<task<void>>{};
  for (auto i = 0; i < 5; ++i) {
    tasks.push_back(ask_for(model, asking("a"), answers));
    run.start(tasks.back());
  }
  BOOST_TEST(inner->calls() == 1);
  run.advance(2s);
  BOOST_REQUIRE(answers.size() == 5U);
  auto reused = std::int64_t{0};
  for (const auto& one : answers) {
    BOOST_TEST(one->content == "answer 1");
    reused += hits(*one);
  }
  BOOST_TEST(reused == 4);
}

BOOST_AUTO_TEST_CASE(failed_request_is_sent_by_all_who_waited) {
  const auto in = folder{};
  const auto inner = std::make_shared<const slow_model>(1);
  const auto model = cached(inner, in);
  auto run = manual_executor{};
  auto answers = std::vector<result<message>>{};
  auto tasks = std::vector<task<void>>{};
  for (auto i = 0; i < 3; ++i) {
    tasks.push_back(ask_for(model, asking("a"), answers));
    run.start(tasks.back());
  }
  run.advance(1s);
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST(answers[0].has_error());
  run.advance(1s); // both others at the same time, not one after the other
  BOOST_REQUIRE(answers.size() == 3U);
  BOOST_TEST(answers[1].has_value());
  BOOST_TEST(answers[2].has_value());
}

BOOST_AUTO_TEST_CASE(cancelled_request_does_not_block_equal_ones) {
  const auto in = folder{};
  const auto inner = std::make_shared<const slow_model>();
  const auto model = cached(inner, in);
  auto run = manual_executor{};
  auto answers = std::vector<result<message>>{};
  auto tasks = std::vector<task<void>>{};
  for (auto i = 0; i < 2; ++i) {
    tasks.push_back(ask_for(model, asking("a"), answers));
    run.start(tasks.back());
  }
  tasks.front() = task<void>{};
  run.run_ready();
  run.advance(1s);
  BOOST_REQUIRE(answers.size() == 1U);
  BOOST_TEST(answers[0]->content == "answer 2");
}

BOOST_AUTO_TEST_CASE(oldest_answers_are_deleted_at_the_size_limit) {
  const auto in = folder{};
  constexpr auto limit = std::int64_t{1} << 20;
  const auto cache = opened(in, limit);
  auto text = std::string{};
  for (auto i = 0; i < 2'000; ++i)
    text += std::to_string(i * 7'919 % 10'007); // cannot be compressed to almost nothing
  const auto key = [](int i) { return "key " + std::to_string(i); };
  constexpr auto count = 1'000;
  for (auto i = 0; i < count; ++i)
    cache->put(key(i), std::to_string(i) + text);
  BOOST_TEST(!cache->find(key(0)).has_value());
  BOOST_TEST(cache->find(key(count - 1)).value_or("") == std::to_string(count - 1) + text);
  BOOST_TEST(static_cast<std::int64_t>(std::filesystem::file_size(in.file())) < 2 * limit);
}

BOOST_AUTO_TEST_CASE(two_connections_share_one_cache_file) {
  const auto in = folder{};
  const auto fill = [&](int from) { // without assertions, because a second thread calls it
    const auto cache = detail::answer_cache::open(in.file(), std::int64_t{1} << 24).value();
    for (auto i = from; i < 400; i += 2)
      cache->put(std::to_string(i), "answer " + std::to_string(i));
  };
  auto other = std::thread{fill, 1};
  fill(0);
  other.join();
  const auto cache = opened(in);
  for (auto i = 0; i < 400; ++i)
    BOOST_TEST(cache->find(std::to_string(i)).value_or("") == "answer " + std::to_string(i));
}

BOOST_AUTO_TEST_CASE(file_of_another_program_is_refused) {
  const auto in = folder{};
  std::ofstream{in.file()} << "This is not a database, but a text that is long enough.";
  BOOST_TEST(detail::answer_cache::open(in.file(), 0).has_error());
  const auto missing = detail::answer_cache::open((in.path / "no" / "cache.db").string(), 0);
  BOOST_REQUIRE(missing.has_error());
  BOOST_TEST(missing.error().text.find("cache.db") != std::string::npos, missing.error().text);
}

BOOST_AUTO_TEST_CASE(damaged_cache_causes_one_warning) {
  const auto in = folder{};
  for (auto i = 0; i < 100; ++i)
    opened(in)->put("key " + std::to_string(i), std::string(500, 'x'));
  constexpr auto page = 4096; // the first page is intact
  const auto size = std::filesystem::file_size(in.file());
  auto file = std::fstream{in.file(), std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(page);
  file << std::string(size - page, '\xff') << std::flush;
  const auto activity = std::make_shared<call_activity>();
  const auto cache = detail::answer_cache::open(in.file(), std::int64_t{1} << 24, activity).value();
  BOOST_TEST(!cache->find("key 1"));
  cache->put("key 1", "answer");
  const auto warnings = activity->warnings();
  BOOST_REQUIRE(warnings.size() == 1U);
  BOOST_TEST(warnings[0].find("is damaged") != std::string::npos, warnings[0]);
  std::filesystem::resize_file(in.file(), page + 1);
  const auto again = detail::answer_cache::open(in.file(), std::int64_t{1} << 24);
  BOOST_REQUIRE(again.has_error());
  BOOST_TEST(again.error().text.find("delete a damaged cache") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unused_cache_of_agent_file_causes_warning) {
  const auto in = folder{};
  const auto warnings_with = [&](const std::string& model, const std::string& more) {
    auto reading = read_agent_text("model: {provider: ollama, model: m" + model +
                                       "}\ncache: {path: cache.db" + more + "}\n",
                                   "agent.yaml", in.path.string());
    BOOST_TEST(reading.faults.empty(), to_text(reading.faults));
    auto built = build_agent(std::move(reading), shared_io_runtime());
    BOOST_TEST(built.faults.empty(), to_text(built.faults));
    return built.warnings.size();
  };
  BOOST_TEST(warnings_with("", "") == 1U);
  BOOST_TEST(warnings_with(", temperature: 0.5", "") == 1U);
  BOOST_TEST(warnings_with(", temperature: 0", "") == 0U);
  BOOST_TEST(warnings_with("", ", sampled: true") == 0U);
  const auto refused = read_agent_text(
      "model: {provider: recorded, path: a}\ncache: {path: cache.db}\n", "agent.yaml", ".");
  BOOST_TEST(refused.faults.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
