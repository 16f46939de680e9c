// SPDX-License-Identifier: Apache-2.0
// Checks the options of a job before any file is opened.
#include "check_options.hpp"

namespace superstep::detail {

namespace {

/// Rejects options that need the files of an earlier run, which a job does not have if it writes to
/// standard output.
result<void> check_piped(const batch_options& options) {
  if (options.output == "-" && (options.fresh || options.force || options.retry_dead))
    return error{errc::invalid_argument,
                 "--fresh, --force and --retry-dead need a file as --output: a job that writes to "
                 "standard output has no other files and cannot be resumed"};
  return {};
}

} // namespace

result<void> check_options(const batch_options& options) {
  if (options.input.empty() || options.output.empty())
    return error{errc::invalid_argument,
                 "batch_options::input and batch_options::output must be set"};
  if (options.concurrency == 0)
    return error{errc::invalid_argument, "batch_options::concurrency must be at least 1"};
  if (options.line_bytes_max == 0)
    return error{errc::invalid_argument, "batch_options::line_bytes_max must be at least 1"};
  if (options.shard == 0 || options.shard > options.shards)
    return error{errc::invalid_argument,
                 "batch_options::shard must be at least 1 and at most batch_options::shards"};
  if (options.sample == 0)
    return error{errc::invalid_argument, "batch_options::sample must be at least 1"};
  if (options.repeat == 0)
    return error{errc::invalid_argument, "batch_options::repeat must be at least 1"};
  if (options.ready_rows_max == 0)
    return error{errc::invalid_argument, "batch_options::ready_rows_max must be at least 1"};
  if (options.write_queue_max == 0)
    return error{errc::invalid_argument, "batch_options::write_queue_max must be at least 1"};
  if (options.recursion_limit == 0)
    return error{errc::invalid_argument, "batch_options::recursion_limit must be at least 1"};
  if (options.row_deadline && options.row_deadline->count() < 0)
    return error{errc::invalid_argument, "batch_options::row_deadline must not be negative"};
  if (options.shortage_wait.count() < 0)
    return error{errc::invalid_argument, "batch_options::shortage_wait must not be negative"};
  if (options.sync_interval.count() < 0 || options.failure_drain.count() < 0)
    return error{errc::invalid_argument,
                 "batch_options::sync_interval and failure_drain must not be negative"};
  if (options.time == nullptr)
    return error{errc::invalid_argument, "batch_options::time must not be null"};
  if (options.fresh && options.force)
    return error{errc::invalid_argument,
                 "--fresh starts again and --force resumes; use only one of them"};
  if (options.fresh && options.retry_dead)
    return error{errc::invalid_argument,
                 "--fresh runs all rows and --retry-dead only failed ones; use only one of them"};
  if (options.prefix_bytes > 0 && options.order == row_order::input)
    return error{errc::invalid_argument,
                 "--group-prefix changes the order in which rows run, and --order input would keep "
                 "them waiting for earlier rows; use only one of them"};
  return check_piped(options);
}

} // namespace superstep::detail
