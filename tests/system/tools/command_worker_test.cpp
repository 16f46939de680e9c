// SPDX-License-Identifier: Apache-2.0
// Tools whose program serves many calls: answers, crashes, timeouts, invalid lines, cancellation
// and the end of the processes.
#include "net/io_runtime_impl.hpp"
#include "tools/run_tool.hpp"

#include <superstep/tools/command.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;
using namespace superstep;

namespace command_worker_test {

namespace {

/// Reads calls. `$id` is the id of the call, `$line` the whole call, `$n` the number of the call.
const auto loop_start = std::string{R"sh(n=0
while read -r line; do
  n=$((n + 1)); id=${line#*:}; id=${id%%,*}
)sh"};

std::string serve(const std::string& body) {
  return loop_start + body + "\ndone";
}

const auto answer_pid = std::string{R"sh(echo "{\"id\":$id,\"result\":\"$$\"}")sh"};

/// Writes to `path` when its input is closed, and answers each call with its process id.
std::string serve_until_closed(const std::string& path) {
  return serve(answer_pid) + "; echo closed > " + path;
}

struct workers {
  std::shared_ptr<io_runtime> io = std::make_shared<io_runtime>();

  /// Makes a tool whose failures are results.
  [[nodiscard]] tool_ptr make(const std::string& script, std::size_t count = 1,
                              std::chrono::milliseconds timeout = 20s, bool answers_failures = true,
                              std::size_t max_output_bytes = 1000) const {
    auto o = command_options{};
    o.name = "w";
    o.argv = {"sh", "-c", script};
    o.protocol = command_protocol::jsonl;
    o.workers = count;
    o.timeout = timeout;
    o.answers_failures = answers_failures;
    o.max_output_bytes = max_output_bytes;
    auto made = make_command(io, std::move(o));
    BOOST_REQUIRE(made.has_value());
    return *made;
  }
};

/// Keeps an I/O thread busy, so that several events wait when it looks for the next ones.
class load {
public:
  explicit load(io_runtime& io) : io_{io} { add(); }
  load(const load&) = delete;
  load& operator=(const load&) = delete;
  ~load() {
    is_stopping_ = true;
    while (!has_ended_)
      std::this_thread::sleep_for(1ms);
  }

private:
  void add() {
    boost::asio::post(io_.get().io, [this] {
      if (is_stopping_) {
        has_ended_ = true;
        return;
      }
      std::this_thread::sleep_for(5ms);
      add();
    });
  }

  io_runtime& io_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_ended_ = false;
};

tool_output ask(const tool_ptr& tool, json::object args = {}) {
  auto context = tool_context{};
  context.run_key = "row 7";
  context.tool_call_id = "call_1";
  return testing::run_tool(*tool, std::move(args), context);
}

/// Makes `count` calls at a time.
std::vector<tool_output> ask_all(const tool_ptr& tool, std::size_t count) {
  const auto context = tool_context{};
  auto given = std::vector<tool_call>{};
  for (auto i = std::size_t{0}; i < count; ++i)
    given.push_back({std::to_string(i), "w", {{"i", i}}});
  auto calls = std::vector<task<tool_output>>{};
  for (const auto& call : given)
    calls.push_back(tool->run(call, context));
  auto out = std::vector<tool_output>{};
  for (auto& one : sync_wait(when_all(std::move(calls)))) {
    BOOST_REQUIRE(one.value.has_value());
    out.push_back(std::move(*one.value));
  }
  return out;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

/// Waits until the process has ended; at most 10 seconds.
bool has_ended(pid_t pid) {
  for (auto i = 0; i < 1'000 && exists(pid); ++i)
    std::this_thread::sleep_for(10ms);
  return !exists(pid);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(command_workers, workers)

BOOST_AUTO_TEST_CASE(one_process_serves_all_calls) {
  const auto tool = make(serve(answer_pid));
  const auto first = ask(tool);
  BOOST_TEST(!first.is_error);
  for (auto i = 0; i < 100; ++i)
    BOOST_TEST(ask(tool).content == first.content);
}

BOOST_AUTO_TEST_CASE(line_contains_arguments_and_keys) {
  const auto tool = make(serve(R"sh(printf '{"id":%s,"result":%s}\n' "$id" "$line")sh"));
  const auto seen = parse_json(ask(tool, {{"a", "x\ny"}}).content).value();
  BOOST_TEST(to_text(seen.at("arguments")) == R"({"a":"x\ny"})");
  BOOST_TEST(seen.at("tool").as_string() == "w");
  BOOST_TEST(seen.at("run_key").as_string() == "row 7");
  BOOST_TEST(seen.at("tool_call_id").as_string() == "call_1");
  BOOST_TEST(seen.at("attempt").as_int64() == 1);
  BOOST_TEST(seen.at("idempotency_key").as_string().size() == 32U);
}

BOOST_AUTO_TEST_CASE(result_is_converted_like_that_of_functions) {
  const auto result_of = [&](const std::string& json) {
    return ask(make(serve(R"sh(echo '{"id":1,"result":)sh" + json + "}'")));
  };
  BOOST_TEST(result_of(R"("text")").content == "text");
  BOOST_TEST(result_of(R"({"a": [1, null]})").content == R"({"a": [1, null]})");
  BOOST_TEST(result_of("1.5").content == "1.5");
  BOOST_TEST((*result_of(R"([{"type": "text", "text": "x"}])").blocks).size() == 1U);
}

BOOST_AUTO_TEST_CASE(error_answer_is_read_by_the_model) {
  const auto tool = make(serve(R"sh(echo "{\"id\":$id,\"error\":\"no such city $$\"}")sh"));
  const auto first = ask(tool);
  BOOST_TEST(first.is_error);
  BOOST_TEST(first.content.starts_with("Error: no such city "));
  BOOST_TEST(ask(tool).content == first.content); // the worker is not replaced
}

BOOST_AUTO_TEST_CASE(pool_starts_no_more_than_its_processes) {
  const auto tool = make(serve("sleep 0.02\n" + answer_pid), 3);
  auto pids = std::set<std::string>{};
  for (const auto& out : ask_all(tool, 24)) {
    BOOST_TEST(!out.is_error);
    pids.insert(out.content);
  }
  BOOST_TEST(pids.size() == 3U);
}

BOOST_AUTO_TEST_CASE(crashed_worker_fails_its_call_only) {
  const auto tool = make(serve("[ $n = 2 ] && { echo why >&2; exit 3; }\n" + answer_pid));
  const auto outs = ask_all(tool, 5);
  const auto failed = std::ranges::count_if(outs, &tool_output::is_error);
  BOOST_TEST(failed == 2);
  BOOST_TEST(outs[1].content ==
             "Error: command 'sh': worker ended with status 3; its standard error:\nwhy\n");
  BOOST_TEST(!outs[2].is_error);
}

BOOST_AUTO_TEST_CASE(failure_of_worker_fails_the_run_by_default) {
  const auto failing = std::vector<std::pair<std::string, std::string>>{
      {"{ echo why >&2; exit 3; }", "worker ended with status 3; its standard error:\nwhy"},
      {"{ echo noise; continue; }", "it is not JSON"},
      {"sleep 30", "did not answer within 500 ms"}};
  for (const auto& [body, text] : failing) {
    const auto tool = make(serve("[ $n = 2 ] && " + body + "\n" + answer_pid), 1, 500ms, false);
    BOOST_TEST(!ask(tool).is_error);
    BOOST_CHECK_EXCEPTION(ask(tool), tool_failed, [&](const tool_failed& e) {
      return e.code() == tool_errc::worker_failed && has(e.what(), "tool 'w': sh: ") &&
             has(e.what(), text) && is_unavailable(std::current_exception());
    });
    BOOST_TEST(!ask(tool).is_error); // by the next worker
  }
}

BOOST_AUTO_TEST_CASE(error_in_answer_of_worker_is_a_result) {
  const auto tool =
      make(serve(R"sh(echo "{\"id\":$id,\"error\":\"no such city\"}")sh"), 1, 20s, false);
  BOOST_TEST(has(ask(tool).content, "no such city"));
}

BOOST_AUTO_TEST_CASE(late_worker_is_killed_and_replaced) {
  const auto tool =
      make(serve(R"sh(case $line in *slow*) sleep 30 & echo hm >&2; sleep 30;; esac)sh"
                 "\n" +
                 answer_pid),
           1, 1s);
  const auto pid = static_cast<pid_t>(std::stol(ask(tool).content));
  const auto late = ask(tool, {{"slow", true}});
  BOOST_TEST(late.is_error);
  BOOST_TEST(has(late.content, "did not answer within 1000 ms and was killed"));
  BOOST_TEST(has(late.content, "its standard error:\nhm"));
  BOOST_TEST(has_ended(pid));
  BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(time_in_the_queue_is_not_limited) {
  const auto tool = make(serve("sleep 0.25\n" + answer_pid), 1, 2s);
  for (const auto& out : ask_all(tool, 10))
    BOOST_TEST(!out.is_error, out.content);
}

BOOST_AUTO_TEST_CASE(invalid_answer_fails_only_its_call) {
  for (const auto* bad :
       {"hello", "{", "[]", "{}", R"({"id":2})", R"({"id":2,"result":1,"error":"x"})",
        R"({"id":2,"error":1})", R"({"id":2,"result":1,"more":1})", R"({"id":"2","result":1})",
        R"({"id":3,"result":1})", R"({"id":-1,"result":1})"}) {
    const auto tool =
        make(serve("[ $n = 2 ] && { echo '" + std::string{bad} + "'; continue; }\n" + answer_pid));
    const auto first = ask(tool);
    const auto failed = ask(tool);
    BOOST_TEST(failed.is_error, bad);
    BOOST_TEST(has(failed.content, "wrote an invalid answer"), failed.content);
    const auto next = ask(tool);
    BOOST_TEST(!next.is_error, next.content);
    BOOST_TEST(next.content != first.content); // another process
  }
}

BOOST_AUTO_TEST_CASE(second_line_with_answer_fails_the_call) {
  const auto tool = make(serve(R"sh(printf '{"id":%s,"result":1}\nmore\n' "$id")sh"));
  for (auto i = 0; i < 2; ++i) {
    const auto out = ask(tool);
    BOOST_TEST(out.is_error);
    BOOST_TEST(has(out.content, "wrote more than one line for one call"), out.content);
  }
}

BOOST_AUTO_TEST_CASE(late_second_line_does_not_harm_next_call) {
  // The second answer to call 1 arrives while the worker serves call 2, or before.
  const auto tool = make(serve(R"sh(if [ $n = 1 ]; then
  echo "{\"id\":$id,\"result\":\"$$\"}"; sleep 0.05; echo "{\"id\":$id,\"result\":\"again\"}"
else echo "{\"id\":$id,\"result\":\"$$\"}"; fi)sh"));
  auto pids = std::set<std::string>{};
  for (auto i = 0; i < 6; ++i) {
    const auto out = ask(tool);
    BOOST_TEST(!out.is_error, out.content);
    BOOST_TEST(out.content != "again");
    pids.insert(out.content);
  }
  BOOST_TEST(pids.size() == 3U); // each process was replaced after its second call
}

BOOST_AUTO_TEST_CASE(unexpected_line_of_idle_worker_replaces_it) {
  const auto tool = make(serve(answer_pid + "; sleep 0.05; echo noise"));
  const auto first = static_cast<pid_t>(std::stol(ask(tool).content));
  BOOST_TEST(has_ended(first));
  BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(too_long_line_is_an_error) {
  const auto tool =
      make(serve("[ $n = 2 ] && { head -c 300000 /dev/zero; sleep 30; }\n" + answer_pid));
  BOOST_TEST(!ask(tool).is_error);
  BOOST_TEST(has(ask(tool).content, "wrote a line of more than 1000 bytes and was killed"));
  BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(worker_may_exit_after_its_answer) {
  const auto tool = make(serve(answer_pid + "; exit 0"));
  for (auto i = 0; i < 20; ++i)
    BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(worker_may_exit_after_long_answer) {
  const auto answer =
      std::string{R"sh(printf '{"id":%s,"result":"%040000d"}\n' "$id" 7; exit 0)sh"};
  const auto tool = make(serve(answer), 1, 20s, true, 100'000);
  const auto busy = load{*io};
  for (const auto& out : ask_all(tool, 30)) {
    BOOST_TEST(!out.is_error, out.content.substr(0, 100));
    BOOST_TEST(out.content.size() == 40'000U);
  }
}

BOOST_AUTO_TEST_CASE(closed_output_is_noticed) {
  const auto tool = make(serve(answer_pid + "; [ $n = 2 ] && { exec >&-; sleep 30; }"));
  BOOST_TEST(!ask(tool).is_error);
  BOOST_TEST(!ask(tool).is_error);
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(ask(tool)); // an error, or served by the next process
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 10s));
  BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(cancelled_call_kills_its_worker) {
  const auto tool = make(serve("[ $n = 2 ] && sleep 30\n" + answer_pid));
  const auto pid = static_cast<pid_t>(std::stol(ask(tool).content));
  const auto limited = with_timeout(tool, 200ms); // cancels the call
  BOOST_TEST(ask(limited).is_error);
  BOOST_TEST(has_ended(pid));
  BOOST_TEST(!ask(tool).is_error);
}

BOOST_AUTO_TEST_CASE(tool_throws_if_no_worker_ever_answers) {
  const auto tool = make("echo 'ModuleNotFoundError: x' >&2; exit 1");
  for (auto i = 0; i < 2; ++i) // the model does not read the first errors either
    BOOST_CHECK_EXCEPTION(ask(tool), tool_unavailable, [](const tool_unavailable& e) {
      return has(e.what(), "has answered a call; the last worker ended with status 1") &&
             has(e.what(), "ModuleNotFoundError");
    });
}

BOOST_AUTO_TEST_CASE(tool_throws_if_five_workers_fail_their_calls) {
  const auto tool = make("read -r line; echo 'KeyError: x' >&2; exit 1");
  for (auto i = 0; i < 4; ++i)
    BOOST_TEST(has(ask(tool).content, "ended with status 1; its standard error:\nKeyError"));
  BOOST_CHECK_EXCEPTION(ask(tool), tool_unavailable, [](const tool_unavailable& e) {
    return has(e.what(), "tool 'w': sh: none of its first 5 workers has answered a call");
  });
}

BOOST_AUTO_TEST_CASE(error_contains_standard_error_of_its_call_only) {
  const auto tool = make(serve("echo \"log $n\" >&2; [ $n = 3 ] && exit 3\n" + answer_pid));
  BOOST_TEST(!ask(tool).is_error);
  BOOST_TEST(!ask(tool).is_error);
  BOOST_TEST(ask(tool).content ==
             "Error: command 'sh': worker ended with status 3; its standard error:\nlog 3\n");
}

BOOST_AUTO_TEST_CASE(missing_program_throws) {
  auto o = command_options{};
  o.name = "w";
  o.argv = {"superstep-no-such-program"};
  o.protocol = command_protocol::jsonl;
  const auto tool = make_command(io, o).value();
  for (auto i = 0; i < 3; ++i)
    BOOST_CHECK_THROW(ask(tool), tool_unavailable);
}

BOOST_AUTO_TEST_CASE(destroying_tool_closes_input_and_waits) {
  const auto path = "/tmp/superstep_worker_test." + std::to_string(::getpid());
  auto tool = make(serve_until_closed(path));
  const auto pid = static_cast<pid_t>(std::stol(ask(tool).content));
  tool.reset();
  BOOST_TEST(!exists(pid));
  auto text = std::string{};
  std::ifstream{path} >> text;
  BOOST_TEST(text == "closed");
  ::unlink(path.c_str());
}

BOOST_AUTO_TEST_CASE(worker_that_ignores_closed_input_is_killed) {
  auto tool = make(serve(answer_pid) + "; sleep 60");
  const auto pid = static_cast<pid_t>(std::stol(ask(tool).content));
  const auto begin = std::chrono::steady_clock::now();
  tool.reset();
  const auto took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST((took >= 1900ms && took < 10s));
  BOOST_TEST(!exists(pid));
}

BOOST_AUTO_TEST_CASE(invalid_worker_options_are_rejected) {
  auto o = command_options{};
  o.name = "w";
  o.argv = {"cat"};
  o.workers = 2;
  BOOST_TEST(make_command(io, o).error().text == "command: workers: requires the protocol jsonl");
  o.protocol = command_protocol::jsonl;
  o.workers = command_workers_max + 1;
  BOOST_TEST(make_command(io, o).error().text == "command: workers: must be at most 1024");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace command_worker_test
