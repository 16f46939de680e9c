// SPDX-License-Identifier: Apache-2.0
// The recorded model: lookup by row and turn, and errors in the file.
#include "support/manual_executor.hpp"

#include <superstep/models/chat_model.hpp>
#include <superstep/models/recorded_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

using namespace superstep;

namespace {

/// A temporary file that is removed by the destructor.
class temporary_file {
public:
  explicit temporary_file(std::string_view text)
      : path_{std::filesystem::temp_directory_path() /
              ("superstep_recorded_" + std::to_string(::getpid()) + ".jsonl")} {
    std::ofstream{path_, std::ios::binary} << text;
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

result<chat_model_ptr> load(const temporary_file& file, std::chrono::milliseconds latency = {}) {
  auto options = recorded_model_options{};
  options.path = file.path();
  options.latency = latency;
  return make_recorded_model(std::move(options));
}

result<message> ask(const chat_model_ptr& model, std::string key, std::uint32_t turn) {
  auto run = test::manual_executor{};
  auto request = model_request{};
  request.run_key = std::move(key);
  request.turn = turn;
  auto answer = model->complete(std::move(request));
  run.finish(answer);
  return answer.take();
}

constexpr auto good = std::string_view{
    R"({"custom_id":"r1","gold":"18","turns":[{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\": \"\\u00e4\"}"}}]},{"role":"assistant","content":"b"}]})"
    "\n\n"
    R"({"id":7,"turns":[]})"};

struct bad_case {
  std::string_view text;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const bad_case& c) {
  return out << c.text;
}
const auto bad_cases = std::vector<bad_case>{
    {"", ".jsonl: has no recorded rows"},
    {" \n\n", ".jsonl: has no recorded rows"},
    {"\n{\"custom_id\": 1", ":2: invalid JSON"},
    {"[]", ":1: a row must be an object"},
    {R"({"id":"a","turns":"x"})", ":1: \"turns\" must be a list"},
    {R"({"custom_id":[1],"turns":[]})", ":1: \"custom_id\" must be a string or an integer"},
    {R"({"id":true,"turns":[]})", ":1: \"id\" must be a string or an integer"},
    {R"({"id":"a","turns":[3]})", ":1: turn 0: must be an object"},
    {R"({"id":"a","turns":[{"role":"assistant","content":"b"},["c"]]})",
     ":1: turn 1: must be an object"},
    {R"({"turns":[]})", ":1: a row needs"},
    {R"({"id":"a"})", ":1: a row needs"},
    {"{\"id\":\"a\",\"turns\":[]}\n{\"id\":\"a\",\"turns\":[]}",
     ":2: duplicate row \"a\", first in line 1"},
    {R"({"id":"a","turns":[{"role":"user","content":"x"}]})", "turn 0: must have"},
    {R"({"id":"a","turns":["x"]})", ":1: turn 0: must be an object"},
};

} // namespace

BOOST_AUTO_TEST_CASE(recorded_model_finds_answers_by_row_and_turn) {
  const auto file = temporary_file{good};
  const auto model = load(file);
  BOOST_REQUIRE(model.has_value());
  const auto first = ask(*model, "r1", 0);
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->content == "a");
  BOOST_TEST(first->tool_calls.at(0).args.at("x").as_string() == "ä");
  BOOST_TEST(ask(*model, "r1", 1)->content == "b");
  BOOST_TEST((*model)->fingerprint().starts_with("recorded "));
}

BOOST_AUTO_TEST_CASE(missing_row_or_turn_is_named_in_error) {
  const auto file = temporary_file{good};
  const auto model = load(file);
  BOOST_REQUIRE(model.has_value());
  const auto row = ask(*model, "r9", 0);
  BOOST_TEST((row.error().code == make_error_code(model_errc::missing_turn)));
  BOOST_TEST(row.error().text.find("r9") != std::string::npos);
  const auto turn = ask(*model, "7", 0);
  BOOST_TEST(turn.error().text.find("turn 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(recorded_answer_is_delayed_by_configured_latency) {
  const auto file = temporary_file{good};
  const auto model = load(file, std::chrono::milliseconds{300});
  auto run = test::manual_executor{};
  auto request = model_request{};
  request.run_key = "r1";
  auto answer = (*model)->complete(std::move(request));
  const auto took = run.finish(answer);
  BOOST_TEST((took == std::chrono::milliseconds{300}));
}

BOOST_DATA_TEST_CASE(invalid_recording_is_rejected_with_line_and_reason,
                     boost::unit_test::data::make(bad_cases), c) {
  const auto file = temporary_file{c.text};
  const auto model = load(file);
  BOOST_REQUIRE(model.has_error());
  BOOST_TEST_CONTEXT(model.error().text)
  BOOST_TEST((model.error().text.find(c.expected) != std::string::npos));
}

BOOST_AUTO_TEST_CASE(recorded_model_ignores_incomplete_last_line) {
  const auto whole = std::string{R"({"id":"r2","turns":[{"role":"assistant","content":"c"}]})"};
  for (auto size = std::size_t{1}; size < whole.size() - 1; ++size) {
    if (whole[size - 1] == '}')
      continue; // damaged in the middle, not at the end
    const auto file = temporary_file{std::string{good} + "\n" + whole.substr(0, size)};
    const auto model = load(file);
    BOOST_REQUIRE(model.has_value());
    BOOST_TEST(ask(*model, "r1", 0)->content == "a");
    BOOST_TEST(ask(*model, "r2", 0).has_error());
  }
}

BOOST_AUTO_TEST_CASE(missing_recording_file_is_named_in_error) {
  auto options = recorded_model_options{};
  options.path = "/no/such/file.jsonl";
  const auto model = make_recorded_model(std::move(options));
  BOOST_TEST(model.error().text.find("/no/such/file.jsonl") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unreadable_recording_file_is_reported_with_reason) {
  const auto file = temporary_file{good};
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  const auto is_root = ::geteuid() == 0; // root may read all files
  if (is_root)
    BOOST_REQUIRE(::seteuid(65'534) == 0);
  const auto model = load(file);
  if (is_root)
    BOOST_REQUIRE(::seteuid(0) == 0);
  BOOST_REQUIRE(model.has_error());
  BOOST_TEST(model.error().text == "cannot read \"" + file.path() + "\": Permission denied");
}
