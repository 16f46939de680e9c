// SPDX-License-Identifier: Apache-2.0
// Ends the process if memory or another resource runs out on a thread of the engine or of a
// library, where the error cannot be handled. If a verb itself meets such an error, run.cpp or
// main() reports it.
#include "cli/out_of_resources.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/batch.hpp>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace superstep::cli {

namespace {

/// The terminate handler that was installed before on_terminate().
std::terminate_handler& previous_handler() {
  static auto handler = std::terminate_handler{nullptr};
  return handler;
}

std::atomic<bool> runs_resumable_job{false}; ///< see set_resumable()

/// Whether the exception that called std::terminate() means that the machine lacks a resource.
bool is_shortage_in_flight() {
  const auto why = std::current_exception();
  if (!why)
    return false;
  try {
    std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const std::system_error& e) {
    return is_shortage(e.code());
  } catch (...) { // not a shortage: the previous handler reports it
    return false;
  }
}

[[noreturn]] void on_terminate() {
  constexpr auto what =
      std::string_view{"superstep: the machine is out of memory or another resource\n"};
  constexpr auto with_advice = std::string_view{
      "superstep: the machine is out of memory or another resource; the finished rows of the job "
      "are safe, rerun to resume\n"};
  if (is_shortage_in_flight()) {
    const auto text = runs_resumable_job.load(std::memory_order_relaxed) ? with_advice : what;
    // write(2) instead of an iostream, which may allocate memory.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(static_cast<int>(exit_code::shortage));
  }
  if (previous_handler() != nullptr)
    previous_handler()();
  std::abort();
}

} // namespace

void set_resumable(bool is_job) noexcept {
  runs_resumable_job.store(is_job, std::memory_order_relaxed);
}

void end_with_shortage_on_terminate() {
  previous_handler() = std::get_terminate();
  std::set_terminate(on_terminate);
}

} // namespace superstep::cli
