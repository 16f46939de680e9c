// SPDX-License-Identifier: Apache-2.0
// C++ tools that misbehave inside a batch: only their own row fails, and all others continue.
#include "batch/files.hpp"
#include "cli/agent_runner.hpp"
#include "versions.hpp"

#include <superstep/batch/batch.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/json.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <stdexcept>

using namespace superstep;
using superstep::testing::react_versions;
using superstep::testing::read_file;
using superstep::testing::temporary_folder;
using superstep::testing::write_file;

BOOST_AUTO_TEST_SUITE(batch_tools)

namespace {

constexpr auto rows = 40;
constexpr auto bytes_too_many = std::size_t{100'000'000};

/// Calls the tool that the row names, then answers "done".
class obedient_model final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    if (request.turn > 0)
      co_return ai_message("Done.");
    auto call = tool_call{"c1", request.messages.back().content, {}};
    call.args["n"] = 1;
    co_return ai_message("", {std::move(call)});
  }
  std::string fingerprint() const override { return "obedient"; }
};

struct call_args {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(call_args, (), (n))

/// Blocking calls wait here until the test opens it.
class closed_door {
public:
  void stand() {
    auto lock = std::unique_lock{mutex_};
    ++inside_;
    opened_.wait(lock, [this] { return is_open_; });
  }
  /// Lets all calls pass. Returns how many were waiting.
  int open() {
    const auto lock = std::scoped_lock{mutex_};
    is_open_ = true;
    opened_.notify_all();
    return inside_;
  }

private:
  std::mutex mutex_;
  std::condition_variable opened_;
  int inside_ = 0;
  bool is_open_ = false;
};

task<std::string> sleep_for_a_day() {
  co_await sleep_for{std::chrono::hours{24}};
  co_return "good morning";
}

tool_list make_tools(closed_door& door) {
  return {
      make_tool<call_args>("fine", "", [](const call_args& a) { return a.n + 41; }),
      make_tool<call_args>(
          "throws", "", [](const call_args&) -> int { throw std::runtime_error{"no such luck"}; }),
      make_tool<call_args>("floods", "",
                           [](const call_args&) { return std::string(bytes_too_many, 'x'); }),
      make_tool<call_args>("sleeps", "", [](const call_args&) { return sleep_for_a_day(); }),
      make_tool<call_args>("blocks", "",
                           [&door](const call_args&) {
                             door.stand();
                             return 0;
                           }),
  };
}

/// Most rows succeed; a few request each of the misbehaving tools.
std::string tool_of(int row) {
  switch (row) {
  case 3:
  case 33:
    return "throws";
  case 5:
    return "floods";
  case 7:
  case 17:
    return "sleeps";
  case 11:
  case 21:
    return "blocks";
  default:
    return "fine";
  }
}

void write_input(const std::string& path) {
  auto out = std::string{};
  for (auto i = 0; i < rows; ++i) {
    auto said = json::object{{"role", "user"}, {"content", tool_of(i)}};
    out += json::serialize(json::object{{"id", "row-" + std::to_string(i)},
                                        {"messages", json::array{std::move(said)}}}) +
           '\n';
  }
  write_file(path, out);
}

std::map<std::string, json::object> read_output(const std::string& path) {
  auto out = std::map<std::string, json::object>{};
  auto in = std::istringstream{read_file(path)};
  for (auto line = std::string{}; std::getline(in, line);) {
    auto row = json::parse(line).as_object();
    const auto key = std::string{row.at("id").as_string()};
    BOOST_TEST(out.emplace(key, std::move(row)).second, key << " occurs twice");
  }
  return out;
}

void check_row(const json::object& row, const std::string& tool) {
  const auto is_hung = tool == "sleeps" || tool == "blocks";
  BOOST_TEST((row.at("status") == (is_hung ? "error" : "ok")));
  if (is_hung) {
    const auto& why = row.at("error").as_object();
    BOOST_TEST((why.at("kind") == "timed_out"), json::serialize(why));
    return;
  }
  const auto& messages = row.at("output").at("messages").as_array();
  BOOST_TEST_REQUIRE(messages.size() == 4U);
  const auto& answer = messages[2].as_object();
  const auto said = std::string{answer.at("content").as_string()};
  BOOST_TEST(answer.contains("status") == (tool != "fine"));
  const auto expected = tool == "fine"     ? std::string{"42"}
                        : tool == "throws" ? "Error: no such luck\n Please fix your mistakes."
                                           : "Error: the result of tool 'floods' has 100000000 "
                                             "bytes; at most 1048576 are allowed\n Please fix your "
                                             "mistakes.";
  BOOST_TEST(said == expected);
}

batch_options options_of(const temporary_folder& in) {
  auto out = batch_options{};
  out.input = in / "in.jsonl";
  out.output = in / "out.jsonl";
  // Long enough for good rows even on a busy machine; the hanging rows wait for it concurrently.
  out.row_deadline = std::chrono::seconds{4};
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(misbehaving_tool_never_fails_other_rows,
                     boost::unit_test::data::make(react_versions), version) {
  const auto folder = temporary_folder{};
  const auto options = options_of(folder);
  write_input(options.input);
  auto door = closed_door{};
  auto spec = agent_spec{};
  spec.version = version;
  const auto one = agent{spec, std::make_shared<const obedient_model>(), make_tools(door)};
  auto lanes = engine{engine_options{}};
  auto runner = cli::agent_runner{one, lanes};
  auto notes = std::ostringstream{};
  const auto progress = make_progress_sink(progress_mode::none, notes);
  const auto ended = run_batch(options, runner, *progress, stop_request{});
  // The job has ended although two of its functions have not.
  BOOST_TEST(door.open() == 2);
  BOOST_TEST_REQUIRE(ended.has_value());
  BOOST_TEST((ended->code == exit_code::dead_rows));
  BOOST_TEST(ended->ok == rows - 4U);
  BOOST_TEST(ended->failed == 4U);
  const auto found = read_output(options.output);
  BOOST_TEST_REQUIRE(found.size() == std::size_t{rows});
  for (auto i = 0; i < rows; ++i)
    BOOST_TEST_CONTEXT("row " << i << ", " << tool_of(i))
  check_row(found.at("row-" + std::to_string(i)), tool_of(i));
  BOOST_TEST(read_output(folder / "out.dead.jsonl").size() == 4U);
}

BOOST_AUTO_TEST_SUITE_END()
