// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/text_server.hpp"

#include <superstep/batch/batch.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::cli {

/// Returns the progress of a job in the text format of Prometheus, version 0.0.4.
[[nodiscard]] std::string metrics_text(const batch_progress& now);

/// Parses the value of --metrics: `PORT` or `127.0.0.1:PORT`.
[[nodiscard]] result<std::uint16_t> metrics_port(std::string_view text);

/// A progress sink that also serves the progress as metrics, at http://127.0.0.1:PORT/metrics.
class metrics_sink final : public progress_sink {
public:
  /// @param inner receives all calls at its own interval
  explicit metrics_sink(std::unique_ptr<progress_sink> inner) : inner_{std::move(inner)} {}

  /// Starts the server and reports its address as a note. Fails if the port is in use.
  [[nodiscard]] result<void> listen(io_runtime& io, std::uint16_t port);

  [[nodiscard]] std::chrono::milliseconds interval() const noexcept override;
  [[nodiscard]] bool is_outdated() override;
  void update(const batch_progress& now) override;
  void note(std::string_view text) override { inner_->note(text); }
  void finish(const batch_progress& now) override;

private:
  void store(const batch_progress& now);
  [[nodiscard]] std::string text() const;

  std::unique_ptr<progress_sink> inner_;
  std::chrono::steady_clock::time_point next_{}; ///< when inner_ gets the next update
  bool is_outdated_ = false;                     ///< whether inner_ asked for an update
  mutable std::mutex mutex_;
  batch_progress latest_;             ///< guarded by mutex_
  std::optional<text_server> server_; ///< last, because it calls text()
};

} // namespace superstep::cli
