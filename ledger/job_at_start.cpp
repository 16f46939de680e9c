// SPDX-License-Identifier: Apache-2.0
// The first and the last statement of a worker. Launchers start workers also while the server
// restarts.
#include "job_at_start.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

namespace superstep::detail {
namespace {

using steady = std::chrono::steady_clock;

/// Whether libpq reports an address that does not exist, so that waiting is of no use: an unknown
/// host, or a folder for the server's socket that does not exist.
bool has_wrong_address(std::string_view text) {
  constexpr auto unknown_host = std::string_view{"could not translate host name"};
  constexpr auto of_resolver = std::string_view{"Temporary failure"}; // it has not answered
  if (text.find(unknown_host) != std::string_view::npos)
    return text.find(of_resolver) == std::string_view::npos;
  constexpr auto before = std::string_view{"server on socket \""};
  const auto at = text.find(before);
  if (at == std::string_view::npos)
    return false;
  const auto path = text.substr(at + before.size());
  auto failed = std::error_code{};
  return !std::filesystem::exists(
             std::filesystem::path{path.substr(0, path.find('"'))}.parent_path(), failed) &&
         !failed;
}

/// Returns whether a stop was requested during the pause.
bool stopped_during(std::chrono::milliseconds pause, const stop_request& stop) {
  constexpr auto poll = steady::duration{std::chrono::milliseconds{50}};
  const auto until = steady::now() + pause;
  for (auto now = steady::now(); now < until && stop.current() == stop_request::none;
       now = steady::now())
    std::this_thread::sleep_for(std::min(poll, until - now));
  return stop.current() != stop_request::none;
}

} // namespace

result<shared_job> find_job_at_start(pg_connection& connection, const std::string& name,
                                     const ledger_worker_options& worker, const stop_request& stop,
                                     const std::function<void(const std::string&)>& note) {
  const auto limit = steady::now() + worker.reconnect_timeout;
  auto pause = worker.backoff_min;
  for (auto attempt = 0;; ++attempt) {
    auto job = find_shared_job(connection, name);
    if (job || job.error().code != errc::io_failed || has_wrong_address(job.error().text))
      return job;
    const auto is_stopped = stop.current() != stop_request::none;
    if (!is_stopped && steady::now() >= limit)
      return job;
    if (!is_stopped && attempt == 0)
      note("waiting for " + job.error().text);
    if (is_stopped || stopped_during(pause, stop))
      return error{errc::cancelled, "stopped while it waited for " + job.error().text};
    pause = std::min(pause * 2, worker.backoff_max);
  }
}

result<shared_job> find_job_at_end(pg_connection& connection, const std::string& name,
                                   const ledger_worker_options& worker, const stop_request& stop) {
  const auto limit = steady::now() + std::chrono::seconds{30};
  auto pause = worker.backoff_min;
  while (true) {
    auto job = find_shared_job(connection, name);
    if (job || job.error().code != errc::io_failed || steady::now() + pause >= limit ||
        stopped_during(pause, stop))
      return job;
    pause = std::min(pause * 2, worker.backoff_max);
  }
}

} // namespace superstep::detail
