// SPDX-License-Identifier: Apache-2.0
// Finds the file of a program in PATH, and checks whether a program could be started.
// child_spawn.cpp starts it.
#include "net/child_spawn.hpp"

#include <superstep/net/detail/child_process.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace superstep {

namespace {

/// Returns 0 if the file can be executed, otherwise the errno value.
int refusal_of(const std::string& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0)
    return errno;
  if (!S_ISREG(about.st_mode))
    return EACCES;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Whether the system executes formats other than ELF and scripts, because the administrator has
/// registered them (binfmt_misc).
bool has_other_formats() {
  auto code = std::error_code{};
  auto entries = std::filesystem::directory_iterator{"/proc/sys/fs/binfmt_misc", code};
  for (; !code && entries != std::filesystem::directory_iterator{}; entries.increment(code))
    if (const auto name = entries->path().filename(); name != "register" && name != "status")
      return true;
  return false;
}

std::optional<error> find_format_fault(const std::string& file) {
  const auto opened = unique_fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  // the file may be executable but not readable; then only the kernel can check it
  if (opened.get() < 0)
    return std::nullopt;
  auto start = std::array<char, 256>{};
  const auto size = ::read(opened.get(), start.data(), start.size());
  const auto text = std::string_view{start.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  if (text.starts_with("\x7f"
                       "ELF"))
    return std::nullopt;
  if (!text.starts_with("#!"))
    return has_other_formats()
               ? std::nullopt
               : std::optional{start_error("\"" + file +
                                               "\" is not a program for this machine and not a "
                                               "script that begins with #!",
                                           ENOEXEC)};
  auto rest = text.substr(2, text.find('\n') - 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const auto interpreter = std::string{rest.substr(0, rest.find_first_of(" \t\r"))};
  const auto number = refusal_of(interpreter);
  return number == 0 ? std::nullopt
                     : std::optional{start_error("cannot start \"" + file +
                                                     "\": its interpreter \"" + interpreter + "\"",
                                                 number)};
}

} // namespace

std::string search_path(const process_request& request) {
  if (request.environment)
    for (const auto& [name, value] : *request.environment)
      if (name == "PATH")
        return value;
  const auto* const ours = std::getenv("PATH");
  return ours != nullptr ? ours : "/usr/bin:/bin";
}

result<std::string> find_program(const std::string& name, std::string_view path) {
  const auto cannot = [&name](int number) {
    return start_error("cannot start \"" + name + "\"", number);
  };
  if (name.find('/') != std::string::npos)
    return name; // a path is used as it is, relative to the working directory of the program
  auto refusal = ENOENT;
  while (true) {
    const auto folder = path.substr(0, path.find(':'));
    const auto file = (folder.empty() ? "." : std::string{folder}) + '/' + name;
    const auto number = refusal_of(file);
    if (number == 0)
      return file;
    if (number == EACCES)
      refusal = number;
    if (folder.size() == path.size())
      return cannot(refusal);
    path.remove_prefix(folder.size() + 1);
  }
}

std::optional<error> find_start_fault(const process_request& request) {
  if (request.argv.empty() || request.argv.front().empty())
    return error{errc::invalid_argument, "argv: the first item must be the program to run"};
  const auto pidfd = unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  if (pidfd.get() < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM)
    return start_error("cannot run programs: pidfd_open(2) requires Linux 5.3 or later and a "
                       "seccomp filter that allows it",
                       errno);
  const auto& folder = request.working_directory;
  auto code = std::error_code{};
  if (!folder.empty() && !std::filesystem::is_directory(folder, code))
    return error{errc::not_found, "the folder \"" + folder + "\" does not exist"};
  const auto& name = request.argv.front();
  auto program = find_program(name, search_path(request));
  if (!program)
    return program.error();
  const auto file = program->front() == '/' || folder.empty() ? *program : folder + '/' + *program;
  if (const auto number = refusal_of(file); number != 0)
    return start_error("cannot start \"" + name + "\"", number);
  return find_format_fault(file);
}

} // namespace superstep
