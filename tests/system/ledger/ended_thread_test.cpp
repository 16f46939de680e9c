// SPDX-License-Identifier: Apache-2.0
// The two transactions at the end of a row with checkpoints: the last checkpoint of its thread, and
// its output.
#include "models/loopback_server.hpp"
#include "shared_job_files.hpp"
#include "system/postgres/statement_proxy.hpp"

#include <atomic>
#include <csignal>

using namespace superstep::testing;
using superstep::test::loopback_server;

BOOST_AUTO_TEST_CASE(row_with_ended_thread_makes_no_call_again) {
  auto calls = std::atomic<int>{0};
  auto model = loopback_server{[&calls](loopback_server::socket& socket, int) {
    if (loopback_server::read_head(socket).empty())
      return;
    ++calls;
    const auto body =
        std::string{R"({"model":"m","choices":[{"message":{"role":"assistant","content":"yes"}}],)"
                    R"("usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})"};
    loopback_server::write(socket, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                   "Connection: close\r\nContent-Length: " +
                                       std::to_string(body.size()) + "\r\n\r\n" + body);
  }};
  const auto server = postgres_server{};
  auto proxy = statement_proxy{server.folder(), "superstep.commit("};
  const auto files = shared_job_files{server, 1, 5, proxy.url()};
  files.job.write("agent.yaml", "name: asks\nmodel: {provider: openai, model: m, base_url: \"" +
                                    model.address() + "\", api_key_env: \"\"}\n");
  files.submit();
  // The process dies after the last checkpoint, before the database gets the output.
  proxy.plan({1, statement_phase::before, [](pid_t client) { ::kill(client, SIGKILL); }});
  const auto killed = files.worker({"--checkpoints"})->wait();
  BOOST_TEST(killed.signal == SIGKILL, killed.err);
  BOOST_TEST(files.stored() == 0);
  BOOST_TEST(calls == 1);
  const auto end = files.worker({"--checkpoints"})->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  const auto rows = files.exported();
  BOOST_TEST_REQUIRE(rows.size() == 1U);
  BOOST_TEST(text_at(messages_of(rows.at("row-0")).back().as_object(), "content") == "yes");
  BOOST_TEST(calls == 1);
  BOOST_TEST(server.value("select sum(total_tokens) from superstep.chunks") == "15");
}
