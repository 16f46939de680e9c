// SPDX-License-Identifier: Apache-2.0
// The engine and the threads of this process. They are created when first used, again in a forked
// child, and end before the interpreter does.
#include "process.hpp"

#include "objects.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include <pthread.h>

namespace superstep::python {

namespace {

// The objects of a parent process are not destroyed in a forked child: their threads do not exist
// there, and their locks may be held.
std::atomic<process*> current{nullptr};
std::atomic<body_pool*> current_bodies{nullptr};
std::atomic<std::uint64_t> forks{0};

/// Whether the process exits, so that no run can be started.
bool is_exiting = false;

/// Number of threads that the program has asked for; also holds in forked children.
std::size_t workers_chosen = 0;

/// Maximum wait for threads at the end of the process.
constexpr auto exit_grace = std::chrono::seconds{1};

void forget_parent() noexcept {
  current.store(nullptr);
  current_bodies.store(nullptr);
  is_exiting = false; // the child of a process that exits may run for long
  forget_left_objects();
  nb::set_leak_warnings(false); // references that the parent's threads held are never released
  forks.fetch_add(1);
}

/// Whether forget_parent() is called in forked children, from the first call of this function on.
bool watches_forks() noexcept {
  static const auto is_registered = ::pthread_atfork(nullptr, nullptr, &forget_parent) == 0;
  return is_registered;
}

} // namespace

process& process::get() {
  if (auto* const here = current.load())
    return *here;
  if (!watches_forks())
    throw std::bad_alloc{}; // the only error of pthread_atfork()
  auto* const made = new process;
  made->bodies_ = new body_pool;
  current_bodies.store(made->bodies_);
  current.store(made);
  return *made;
}

body_pool& process::bodies() noexcept {
  return *current_bodies.load();
}

bool process::is_started() noexcept {
  return current.load() != nullptr;
}

std::uint64_t process::generation() noexcept {
  // A checkpointer or store may be used, and have threads, before the engine starts.
  static_cast<void>(watches_forks());
  return forks.load();
}

void process::start(std::size_t workers) {
  if (is_exiting)
    throw std::runtime_error{"no run can be started: the process is exiting"};
  if (engine_ && workers != workers_chosen)
    throw nb::value_error(("the engine of this process already runs with workers=" +
                           std::to_string(workers_chosen) + "; call engine() before the first run")
                              .c_str());
  if (engine_)
    return;
  auto options = engine_options{};
  options.workers = workers;
  options.shutdown_grace = exit_grace;
  options.hung_after = std::chrono::hours{24 * 365}; // Python code may run for long
  engine_ = std::make_shared<engine>(options);
  workers_chosen = workers;
}

std::shared_ptr<engine> process::runs() {
  if (!engine_)
    start(workers_chosen);
  return engine_;
}

const std::shared_ptr<io_runtime>& process::io() {
  if (!io_)
    io_ = std::make_shared<io_runtime>();
  return io_;
}

bool process::stop() {
  is_exiting = true;
  auto* const here = current.load();
  if (here == nullptr)
    return true;
  auto has_ended = false;
  {
    auto last = std::exchange(here->engine_, nullptr);
    const auto unlocked = nb::gil_scoped_release{}; // runners need the GIL to end
    has_ended = here->bodies_->stop(exit_grace);
    last.reset();
  }
  drop_left_objects();
  return has_ended;
}

} // namespace superstep::python
