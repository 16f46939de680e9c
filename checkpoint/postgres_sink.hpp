// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres_db.hpp"
#include "postgres_leases.hpp"
#include "write_queue.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace superstep::detail {

class batch_columns;

/// Writes checkpoints to a PostgreSQL database, a batch with one call of the function save().
///
/// Each call has a number. If the connection is lost before the answer arrives, settle() asks
/// whether the call has committed, and otherwise prevents it. Only then the batch is written again,
/// so no write is lost or doubled.
class postgres_sink final : public row_sink {
public:
  /// Connects to the database.
  /// @param is_cancelled see pg_connection
  /// @throws checkpoint_error
  postgres_sink(const pg_address& address, const postgres_checkpointer_options& options,
                std::shared_ptr<postgres_leases> leases, std::function<bool()> is_cancelled);
  ~postgres_sink() override;

  void write(std::span<pending_write>) override;
  [[nodiscard]] bool try_write_now(std::span<pending_write>) noexcept override;
  void run(const std::function<void(database&)>&) override;
  [[nodiscard]] const std::string& name() const noexcept override { return db_->name(); }

private:
  /// The answer to a call of save(), or null if the call has not committed.
  using answer = std::optional<std::string>;

  [[nodiscard]] std::optional<error> try_to_write(std::span<pending_write>);
  [[nodiscard]] result<pg_rows> save(const batch_columns& batch, std::int64_t number);
  [[nodiscard]] result<answer> settle(std::int64_t number);
  [[nodiscard]] result<void> add_writer();
  void record_answer(std::span<pending_write>, const std::string& text);

  const bool is_durable_;
  const std::shared_ptr<postgres_leases> leases_;
  std::unique_ptr<postgres_database> db_;
  std::int64_t writer_ = 0; ///< row of this process in the table `writers`; 0: none yet
  std::int64_t number_ = 0; ///< of the last call of save()
  /// Number of the call by try_write_now() whose answer was lost; 0 if there is none. Its entries
  /// are the first of the next batch.
  std::int64_t unsettled_ = 0;
};

} // namespace superstep::detail
