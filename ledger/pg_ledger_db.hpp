// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger_db.hpp"
#include "postgres/pg_connection.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace superstep::detail {

/// The part of a worker in a job.
struct worker_identity {
  std::int64_t job = 0; ///< number of the job in the database
  std::string worker{}; ///< unique for each process, also if it is started again
  std::string host{};   ///< where the process runs, for `superstep jobs show`
  std::chrono::milliseconds lease{60'000};
  bool has_budget = false; ///< whether the worker needs spent_sums
};

/// The statements of a worker as calls of the functions in schema.cpp.
class pg_ledger_db final : public ledger_db {
public:
  /// @param connection must outlive this object
  pg_ledger_db(pg_connection& connection, worker_identity identity);

  [[nodiscard]] result<lease_answer> lease(std::uint32_t count, bool may_split,
                                           std::uint32_t starting) override;
  [[nodiscard]] result<std::vector<input_text>>
  read(const std::vector<leased_chunk>& chunks) override;
  [[nodiscard]] result<commit_answer> commit(const commit_request& request) override;
  [[nodiscard]] result<resolve_answer> resolve(const std::vector<leased_chunk>& chunks) override;
  [[nodiscard]] result<void> release(const std::vector<leased_chunk>& chunks) override;
  [[nodiscard]] result<beat_answer> beat(bool with_counts) override;

private:
  [[nodiscard]] pg_parameters job_and_worker() const;
  [[nodiscard]] std::int32_t lease_ms() const;

  pg_connection& connection_;
  worker_identity identity_;
};

} // namespace superstep::detail
