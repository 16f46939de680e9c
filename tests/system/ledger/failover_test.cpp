// SPDX-License-Identifier: Apache-2.0
// Jobs whose ledger is behind a pooler, or whose server is replaced by its replica.
#include "pooler.hpp"
#include "shared_job_files.hpp"

#include <csignal>
#include <random>
#include <thread>

namespace {

using namespace superstep::testing;
using std::chrono::milliseconds;

using worker_list = std::vector<std::unique_ptr<process>>;

/// Returns the server of these tests, without a ledger and threads.
const postgres_server& empty_database() {
  static const auto server = postgres_server{};
  server.run("drop schema if exists superstep cascade; "
             "drop schema if exists superstep_threads cascade");
  return server;
}

worker_list start_workers(const shared_job_files& files, int count) {
  auto out = worker_list{};
  for (auto i = 0; i < count; ++i)
    out.push_back(files.worker({"--checkpoints"}));
  return out;
}

/// Waits until all workers have ended well. Those that were started while the ledger was away have
/// failed, and start again, as a launcher would do.
void finish(const shared_job_files& files, worker_list& workers) {
  for (auto& worker : workers)
    if (worker->wait().exit_code != 0)
      worker = files.worker({"--checkpoints"});
  for (auto& worker : workers) {
    const auto end = worker->wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  files.check_outputs();
}

} // namespace

BOOST_AUTO_TEST_CASE(pooler_of_transactions_is_supported) {
  const auto& server = empty_database();
  const auto behind = pooler{server};
  const auto files = shared_job_files{server, 200, 5, behind.url()};
  files.submit({"--chunk-rows", "16"});
  auto workers = worker_list{};
  for (auto i = 0; i < 4; ++i)
    workers.push_back(files.worker());
  for (auto& worker : workers) {
    const auto end = worker->wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(kills_behind_pooler_lose_no_row) {
  const auto& server = empty_database();
  auto behind = pooler{server};
  const auto files = shared_job_files{server, 480, 20, behind.url()};
  files.submit({"--chunk-rows", "32"});
  auto random = std::mt19937{17};
  auto workers = start_workers(files, 3);
  auto kills = 0;
  for (auto round = 0; round < 6; ++round) {
    std::this_thread::sleep_for(milliseconds{100 + random() % 300});
    if (round % 2 == 1) {
      behind.kill();
      behind.start();
    }
    auto& victim = workers[random() % workers.size()];
    kills += victim->wait_for(milliseconds{0}) ? 0 : 1;
    victim->send(SIGKILL);
    static_cast<void>(victim->wait());
    victim = files.worker({"--checkpoints"});
  }
  BOOST_TEST(kills > 0);
  finish(files, workers);
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "0");
}

/// The replica is synchronous: what the server has acknowledged survives its loss.
BOOST_AUTO_TEST_CASE(job_continues_on_promoted_replica) {
  auto primary = postgres_server{};
  const auto replica = postgres_server{replica_of{primary}};
  primary.run("alter system set synchronous_standby_names = '*'");
  primary.run("select pg_reload_conf()");
  const auto url = "postgresql:///postgres?user=postgres&target_session_attrs=read-write&host=" +
                   primary.folder() + "," + replica.folder();
  const auto files = shared_job_files{replica, 480, 20, url};
  files.submit({"--chunk-rows", "32"});
  auto workers = start_workers(files, 3);
  wait_for_rows(files, 100);
  primary.crash(SIGQUIT);
  const auto before = files.stored();
  std::this_thread::sleep_for(milliseconds{500}); // the workers find no server that they can use
  BOOST_TEST(replica.value("select pg_promote()") == "t");
  for (const auto& worker : workers)
    BOOST_TEST(!worker->wait_for(milliseconds{0}));
  finish(files, workers);
  BOOST_TEST(before >= 100);
  BOOST_TEST(before < 480);
  BOOST_TEST(replica.value("select count(*) from superstep_threads.threads") == "0");
}
