// SPDX-License-Identifier: Apache-2.0
// The last resort when a resource runs out inside the engine or a library, on any thread. Errors on
// the way of a verb are handled by the verb (run.cpp) or by main() (superstep.cpp).
#include "cli/out_of_resources.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/batch.hpp>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace superstep::cli {

namespace {

std::terminate_handler& previous_handler() {
  static auto handler = std::terminate_handler{nullptr};
  return handler;
}

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
  } catch (...) { // reported by the previous handler
    return false;
  }
}

[[noreturn]] void on_terminate() {
  constexpr auto text = std::string_view{
      "superstep: the machine is out of memory or another resource; the finished rows of a job are "
      "safe, rerun to resume\n"};
  if (is_shortage_in_flight()) {
    // No iostream: it may allocate.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(static_cast<int>(exit_code::shortage));
  }
  if (previous_handler() != nullptr)
    previous_handler()();
  std::abort();
}

} // namespace

void end_with_shortage_on_terminate() {
  previous_handler() = std::get_terminate();
  std::set_terminate(on_terminate);
}

} // namespace superstep::cli
