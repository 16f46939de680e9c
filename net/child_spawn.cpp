// SPDX-License-Identifier: Apache-2.0
// Starts programs with clone(2), like posix_spawn(3): the new process shares this process's memory,
// and the calling thread is suspended until exec. posix_spawn itself is not used, because it cannot
// set resource limits or the parent-death signal. It also cannot open the pidfd in the same call;
// opening it later could fail while the program already runs. child_process.cpp calls spawn().
#include "net/child_spawn.hpp"

#include "net/descriptor_limit.hpp"
#include "net/program_guard.hpp"

#include <superstep/base/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifdef __SANITIZE_THREAD__
// ThreadSanitizer's wrapper of clone() assumes a new process with separate memory and then loses
// track of the calling thread's locks. The C library's other name for it is not wrapped.
extern "C" int __clone(int (*start)(void*), void* stack, int flags, void* argument, ...);
#endif

namespace superstep {

namespace {

constexpr auto first_free_fd = 3; // lower numbers are the standard streams of the program

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

/// Returns the descriptor with a number above the standard streams. pipe2() may return a lower
/// number if this process has closed a standard stream.
result<unique_fd> lifted(int fd) {
  auto out = unique_fd{fd};
  if (fd < first_free_fd) {
    out = unique_fd{::fcntl(fd, F_DUPFD_CLOEXEC, first_free_fd)};
    const auto number = errno;
    ::close(fd);
    if (out.get() < 0)
      return start_error("cannot open a pipe", number);
  }
  return out;
}

result<pipe_ends> open_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return start_error("cannot open a pipe", errno);
  auto second = unique_fd{ends[1]};
  auto read = lifted(ends[0]);
  if (!read)
    return read.error();
  auto write = lifted(second.release());
  if (!write)
    return write.error();
  auto out = pipe_ends{};
  out.read = *std::move(read);
  out.write = *std::move(write);
  return out;
}

struct limit {
  int resource;
  rlimit value;
  bool is_set; // if false, the program inherits this process's limit
};

limit limit_of(int resource, std::optional<std::uint64_t> asked) noexcept {
  const auto value = asked.value_or(0);
  return {resource, {value, value}, asked.has_value()};
}

/// Returns the limit of open files. It is always set, because this process may have raised its own
/// soft limit (descriptor_limit.hpp).
limit limit_of_files(std::optional<std::uint64_t> asked) noexcept {
  if (asked)
    return limit_of(RLIMIT_NOFILE, asked);
  return {RLIMIT_NOFILE, descriptor_limit_of_programs(), true};
}

/// Everything that the new process needs. It is prepared in advance, because the new process must
/// not allocate.
struct child_plan {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* folder; // null for this process's folder
  std::array<int, 3> standard;
  std::array<limit, 4> limits;
  int guard;
  pid_t parent;
  enum class step : std::uint8_t { none, folder, limits, exec } failed_at = step::none;
  int number = 0;
};

/// Runs in the new process, which shares this process's memory. Therefore it may only make system
/// calls and must not call library functions that have state.
__attribute__((no_sanitize("address", "thread", "undefined"))) int become_program(void* given) {
  auto& plan = *static_cast<child_plan*>(given);
  const auto fail = [&plan](child_plan::step at) {
    plan.number = errno;
    plan.failed_at = at;
    ::syscall(SYS_exit_group, 127);
  };
  ::syscall(SYS_setpgid, 0, 0);
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::syscall(SYS_getppid) != plan.parent) // the parent died before prctl()
    ::syscall(SYS_exit_group, 127);
  announce(plan.guard, 0, static_cast<int>(::syscall(SYS_getpid)));
  for (auto i = 0; i < first_free_fd; ++i)
    ::syscall(SYS_dup3, plan.standard[static_cast<std::size_t>(i)], i, 0);
  // closes files that other libraries have opened without O_CLOEXEC
  if (::syscall(SYS_close_range, first_free_fd, ~0U, 0) != 0)
    for (auto fd = first_free_fd; fd < 65'536; ++fd)
      ::syscall(SYS_close, fd);
  if (plan.folder != nullptr && ::syscall(SYS_chdir, plan.folder) != 0)
    fail(child_plan::step::folder);
  for (const auto& one : plan.limits) {
    if (one.is_set && ::syscall(SYS_prlimit64, 0, one.resource, &one.value, nullptr) != 0)
      fail(child_plan::step::limits);
  }
  constexpr auto mask_bytes = 8; // the size of the kernel's signal set
  const std::uint64_t zeros[4] = {};
  for (auto signal = 1; signal <= 64; ++signal) // zeros: default handler, no flags, empty mask
    ::syscall(SYS_rt_sigaction, signal, zeros, nullptr, mask_bytes);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, nullptr, mask_bytes);
  ::syscall(SYS_execve, plan.program, plan.argv, plan.environment);
  fail(child_plan::step::exec);
  return 127;
}

/// Starts the process; returns its pid, or -1 with errno set. The same call opens the pidfd, so
/// that a running program always has one.
int clone_into(child_plan& plan, int& pidfd) {
  constexpr auto stack_bytes = std::size_t{64} * 1024;
  auto stack = std::vector<std::max_align_t>(stack_bytes / sizeof(std::max_align_t));
  pidfd = -1;
#ifdef __SANITIZE_THREAD__
  constexpr auto clone = &::__clone;
#else
  using ::clone;
#endif
  return clone(&become_program, stack.data() + stack.size(),
               CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
}

/// Returns the texts as a null-terminated array; valid as long as they are.
std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  auto out = std::vector<char*>{};
  for (auto& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string cannot_start(const process_request& request) {
  auto text = "cannot start \"" + request.argv.front() + "\"";
  if (!request.working_directory.empty())
    text += " in folder \"" + request.working_directory + "\"";
  return text;
}

error failure_of(const process_request& request, const child_plan& plan) {
  auto what = cannot_start(request);
  if (plan.failed_at == child_plan::step::folder)
    what += ": cannot enter the folder";
  else if (plan.failed_at == child_plan::step::limits)
    what += ": its limits cannot be set";
  return start_error(what, plan.number);
}

bool has_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

std::optional<error> find_fault(const process_request& request) {
  if (request.argv.empty() || request.argv.front().empty())
    return error{errc::invalid_argument, "argv: the first item must be the program to run"};
  auto any_nul = has_nul(request.working_directory);
  for (const auto& argument : request.argv)
    any_nul = any_nul || has_nul(argument);
  if (request.environment)
    for (const auto& [name, value] : *request.environment)
      any_nul = any_nul || has_nul(name) || has_nul(value);
  if (any_nul)
    return error{errc::invalid_argument, "cannot start \"" + request.argv.front() +
                                             "\": an argument, the folder or an environment "
                                             "variable contains a zero byte"};
  return std::nullopt;
}

} // namespace

error start_error(const std::string& what, int number) {
  auto text = what + ": " + std::strerror(number);
  const auto code = std::error_code{number, std::generic_category()};
  // Two more errors are temporary: the program's file is being written (ETXTBSY), or a signal has
  // interrupted the call.
  if (is_shortage(code) || number == ETXTBSY || number == EINTR)
    return {errc::shortage, std::move(text)};
  if (number == ENOENT || number == ENOTDIR)
    return {errc::not_found, std::move(text)};
  return {code, std::move(text)};
}

result<spawned> spawn(const process_request& request, program_guard& guard) {
  if (auto fault = find_fault(request))
    return std::move(*fault);
  auto program = find_program(request.argv.front(), search_path(request));
  if (!program)
    return program.error();
  const auto known_to = guard.socket();
  if (!known_to)
    return known_to.error();
  auto input = open_pipe();
  auto output = open_pipe();
  auto errors = open_pipe();
  for (const auto* pipe : {&input, &output, &errors})
    if (!*pipe)
      return pipe->error();

  auto arguments = request.argv;
  const auto argv = as_pointers(arguments);
  auto settings = std::vector<std::string>{};
  if (request.environment)
    for (const auto& [name, value] : *request.environment)
      settings.push_back(name + '=' + value);
  const auto own_environment = as_pointers(settings);
  const auto& limits = request.limits;
  const auto cpu_seconds =
      limits.cpu ? std::optional{static_cast<std::uint64_t>(limits.cpu->count())} : std::nullopt;
  auto plan =
      child_plan{program->c_str(),
                 argv.data(),
                 request.environment ? own_environment.data() : environ,
                 request.working_directory.empty() ? nullptr : request.working_directory.c_str(),
                 {input->read.get(), output->write.get(), errors->write.get()},
                 {limit_of(RLIMIT_AS, limits.memory_bytes), limit_of(RLIMIT_CPU, cpu_seconds),
                  limit_of_files(limits.files), limit_of(RLIMIT_NPROC, limits.processes)},
                 *known_to,
                 ::getpid()};
  auto pidfd = -1;
  const auto pid = clone_into(plan, pidfd);
  if (pid < 0)
    return start_error(cannot_start(request), errno);
  auto ended = unique_fd{pidfd};
  if (plan.failed_at != child_plan::step::none || pidfd < 0) {
    const auto number = errno;
    ::kill(-pid, SIGKILL);
    guard.ended(pid);
    ::waitpid(pid, nullptr, 0);
    return pidfd < 0 ? start_error(cannot_start(request) + ": pidfd_open", number)
                     : failure_of(request, plan);
  }
  guard.started(pid);
  auto out = spawned{};
  out.pid = pid;
  out.input = std::move(input->write);
  out.output = std::move(output->read);
  out.errors = std::move(errors->read);
  out.ended = std::move(ended);
  return out;
}

} // namespace superstep
