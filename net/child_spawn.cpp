// SPDX-License-Identifier: Apache-2.0
#include "net/child_spawn.hpp"

#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace superstep {

namespace {

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

result<pipe_ends> open_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return error{errc::io_failed, std::string{"cannot open a pipe: "} + std::strerror(errno)};
  auto out = pipe_ends{};
  out.read = unique_fd{ends[0]};
  out.write = unique_fd{ends[1]};
  return out;
}

/// What posix_spawn needs to be told, freed at the end.
class spawn_plan {
public:
  spawn_plan() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  spawn_plan(const spawn_plan&) = delete;
  spawn_plan& operator=(const spawn_plan&) = delete;
  ~spawn_plan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }

  void own_group_and_default_signals() {
    auto none = sigset_t{};
    auto all = sigset_t{};
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none); // the I/O thread blocks them all
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// The C form of a list of texts; valid as long as they are.
std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  auto out = std::vector<char*>{};
  for (auto& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

error cannot_start(const process_request& request, int number) {
  auto text = "cannot start \"" + request.argv.front() + "\"";
  if (!request.working_directory.empty())
    text += " in folder \"" + request.working_directory + "\"";
  return {number == ENOENT || number == ENOTDIR ? errc::not_found : errc::io_failed,
          text + ": " + std::strerror(number)};
}

bool has_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

std::optional<error> find_fault(const process_request& request) {
  if (request.argv.empty() || request.argv.front().empty())
    return error{errc::invalid_argument, "argv is empty: name the program to run"};
  auto any_nul = has_nul(request.working_directory);
  for (const auto& argument : request.argv)
    any_nul = any_nul || has_nul(argument);
  if (request.environment)
    for (const auto& [name, value] : *request.environment)
      any_nul = any_nul || has_nul(name) || has_nul(value);
  if (any_nul)
    return error{errc::invalid_argument, "argv, folder or environment of \"" +
                                             request.argv.front() + "\" holds a zero byte"};
  return std::nullopt;
}

} // namespace

result<spawned> spawn(const process_request& request) {
  if (auto fault = find_fault(request))
    return std::move(*fault);
  auto input = open_pipe();
  auto output = open_pipe();
  auto errors = open_pipe();
  for (const auto* pipe : {&input, &output, &errors})
    if (!*pipe)
      return pipe->error();

  auto plan = spawn_plan{};
  plan.own_group_and_default_signals();
  ::posix_spawn_file_actions_adddup2(&plan.actions, input->read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&plan.actions, output->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&plan.actions, errors->write.get(), STDERR_FILENO);
  // Other libraries may have opened files without O_CLOEXEC; a child must not hold them.
  ::posix_spawn_file_actions_addclosefrom_np(&plan.actions, STDERR_FILENO + 1);
  if (!request.working_directory.empty())
    ::posix_spawn_file_actions_addchdir_np(&plan.actions, request.working_directory.c_str());

  auto arguments = request.argv;
  const auto argv = as_pointers(arguments);
  auto settings = std::vector<std::string>{};
  if (request.environment)
    for (const auto& [name, value] : *request.environment)
      settings.push_back(name + '=' + value);
  const auto own_environment = as_pointers(settings);
  auto pid = pid_t{};
  const auto failed =
      ::posix_spawnp(&pid, argv.front(), &plan.actions, &plan.attributes, argv.data(),
                     request.environment ? own_environment.data() : environ);
  if (failed != 0)
    return cannot_start(request, failed);

  auto out = spawned{};
  out.pid = pid;
  out.input = std::move(input->write);
  out.output = std::move(output->read);
  out.errors = std::move(errors->read);
  out.ended = unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (out.ended.get() < 0) {
    const auto number = errno;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return cannot_start(request, number);
  }
  return out;
}

} // namespace superstep
