// SPDX-License-Identifier: Apache-2.0
// The idempotency keys of tool calls in jobs without checkpoints.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(call_keys)

namespace {

using namespace superstep::testing;

/// A job of rows without ids. Each row calls a tool that writes its idempotency key to a file, and
/// waits until the file `gate` exists.
struct noting_job : cli_job {
  explicit noting_job(int rows) {
    write("agent.yaml", "model: {provider: scripted, path: model.yaml}\ntools:\n"
                        "- command: {name: note, description: Notes., argv: [/bin/sh, -c, 'echo "
                        "$SUPERSTEP_IDEMPOTENCY_KEY >> " +
                            log + "; while [ ! -e " + gate + " ]; do sleep 0.05; done']}\n");
    write("model.yaml", "rules:\n- {type: human, calls: [{name: note, args: {}}]}\n"
                        "- {type: tool, text: done}\n");
    auto lines = std::string{};
    for (auto row = 0; row < rows; ++row)
      lines += "{\"messages\":[{\"role\":\"user\",\"content\":\"note\"}]}\n";
    write("in.jsonl", lines);
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    auto out = std::vector<std::string>{};
    auto lines = std::istringstream{std::filesystem::exists(log) ? read_file(log) : std::string{}};
    for (auto line = std::string{}; std::getline(lines, line);)
      out.push_back(line);
    return out;
  }
  void open_gate() const { write_file(gate, ""); }

  std::string log = folder / "keys";
  std::string gate = folder / "gate";
};

} // namespace

BOOST_AUTO_TEST_CASE(jobs_with_equal_rows_have_different_keys) {
  const auto job = noting_job{3};
  job.open_gate();
  for (const auto& output : {job.output, job.folder / "second.jsonl"}) {
    auto other = job.arguments();
    std::ranges::replace(other, job.output, output);
    const auto end = process{other}.wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  BOOST_TEST(job.run({"--fresh"}).exit_code == 0); // another job
  const auto keys = job.keys();
  BOOST_TEST(keys.size() == 9U);
  BOOST_TEST(std::set<std::string>(keys.begin(), keys.end()).size() == 9U);
}

BOOST_AUTO_TEST_CASE(resumed_job_repeats_calls_with_same_keys) {
  const auto job = noting_job{3};
  auto killed = process{job.arguments()};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (job.keys().size() < 3 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  killed.send(SIGKILL);
  static_cast<void>(killed.wait());
  job.open_gate();
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 0, end.err);
  const auto keys = job.keys();
  BOOST_TEST(keys.size() == 6U);
  BOOST_TEST(std::set<std::string>(keys.begin(), keys.end()).size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
