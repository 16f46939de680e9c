// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace superstep::testing {

inline constexpr auto shared_job_name = "orders";

/// A job with an agent that calls a tool once, in files and in a ledger.
class shared_job_files {
public:
  /// @param url of the ledger; empty: that of the server
  explicit shared_job_files(const postgres_server& server, int rows, int latency_ms = 5,
                            const std::string& url = {})
      : server_{server}, url_{url.empty() ? server.url() : url} {
    auto lines = std::string{};
    for (auto i = 0; i < rows; ++i)
      lines += "{\"id\":\"row-" + std::to_string(i) +
               "\",\"messages\":[{\"role\":\"user\",\"content\":\"2+" + std::to_string(i) +
               "\"}]}\n";
    job.write("in.jsonl", lines);
    job.write("agent.yaml", "name: adder\nmodel: {provider: scripted, path: model.yaml}\n"
                            "tools: [calculator]\n");
    write_model("2\\+(\\d+)", latency_ms);
  }

  /// Writes the rules of the model, which answers only messages with the pattern.
  void write_model(const std::string& pattern, int latency_ms = 5) const {
    job.write("model.yaml", "latency_ms: " + std::to_string(latency_ms) +
                                "\nrules:\n- type: human\n  match: '" + pattern +
                                "'\n  calls: [{name: calculator, args: {expression: '2 + \\1'}}]\n"
                                "- {type: tool, text: The sum is \\0.}\n");
  }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words,
                                                 const std::vector<std::string>& more = {}) const {
    words.insert(words.begin(), superstep_program());
    for (const auto& word :
         {std::string{"--ledger"}, url_, std::string{"--job"}, std::string{shared_job_name}})
      words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  ended_process call(std::vector<std::string> words,
                     const std::vector<std::string>& more = {}) const {
    return process{command(std::move(words), more)}.wait();
  }

  void submit(const std::vector<std::string>& more = {}) const {
    const auto end = call({"submit", job.agent, "--input", job.input}, more);
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  }

  /// Starts a worker with a short lease.
  [[nodiscard]] std::unique_ptr<process> worker(const std::vector<std::string>& more = {},
                                                const std::string& lease_ms = "2000") const {
    auto options = std::vector<std::string>{"--lease-ms", lease_ms,        "--progress",
                                            "none",       "--concurrency", "8"};
    options.insert(options.end(), more.begin(), more.end());
    return std::make_unique<process>(command({"run"}, options));
  }

  [[nodiscard]] rows_by_key exported(const std::vector<std::string>& more = {}) const {
    const auto end = call({"jobs", "export", "--output", job.folder / "exported.jsonl"}, more);
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
    return read_rows(job.read("exported.jsonl"));
  }

  /// Fails unless the ledger has the rows of a job in files, each once.
  void check_outputs(const std::vector<std::string>& more = {}) const {
    const auto alone = job.run({"--fresh"});
    BOOST_TEST_REQUIRE(alone.exit_code == 0, alone.err);
    check_equal_rows(exported(more), read_rows(job.read("out.jsonl")));
    BOOST_TEST(server_.value("select count(*) from superstep.chunks where state <> 2") == "0");
  }

  [[nodiscard]] int stored() const {
    return std::stoi(server_.value("select count(*) from superstep.outputs"));
  }

  cli_job job;

private:
  const postgres_server& server_;
  std::string url_;
};

/// Waits until the ledger has so many outputs.
inline void wait_for_rows(const shared_job_files& of, int rows) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (of.stored() < rows && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
}

} // namespace superstep::testing
