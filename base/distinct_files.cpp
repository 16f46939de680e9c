// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/distinct_files.hpp>

#include <filesystem>
#include <map>

#include <sys/stat.h>

namespace superstep {
namespace {

namespace fs = std::filesystem;

std::string identity_of(const struct stat& info) {
  return std::to_string(info.st_dev) + ':' + std::to_string(info.st_ino);
}

/// Where a path leads whose last symbolic links have no target: open(2) would create that file.
fs::path followed(fs::path path) {
  constexpr auto links_max = 40; // as the kernel
  for (auto i = 0; i < links_max; ++i) {
    auto failed = std::error_code{};
    const auto target = fs::read_symlink(path, failed);
    if (failed)
      break;
    path = path.parent_path() / target; // an absolute target replaces all of it
  }
  return path;
}

/// Equal for two paths if they lead to one file; empty for what is not compared.
std::string identity_of(const std::string& path) {
  struct stat info {};
  if (path.empty())
    return {};
  if (::stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? identity_of(info) : std::string{};
  const auto file = followed(path);
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path{"."};
  if (::stat(folder.c_str(), &info) == 0)
    return identity_of(info) + '/' + file.filename().string();
  auto failed = std::error_code{};
  const auto canonical = fs::weakly_canonical(file, failed);
  return failed ? file.string() : canonical.string();
}

} // namespace

result<void> check_distinct_files(std::span<const used_file> files) {
  using use = used_file::use;
  // A file that is written anywhere is compared with all others, so one of each kind is enough.
  auto seen = std::map<std::string, const used_file*>{};
  for (const auto& file : files) {
    const auto identity = identity_of(file.path);
    if (identity.empty())
      continue;
    const auto [place, is_new] = seen.emplace(identity, &file);
    const auto& other = *place->second;
    if (is_new || (file.how == use::read && other.how == use::read))
      continue;
    const auto names = file.path == other.path ? file.path : other.path + " and " + file.path;
    return error{errc::invalid_argument, other.what + " and " + file.what + " are one file (" +
                                             names +
                                             "), and it would be overwritten; name another file "
                                             "for one of them. Nothing was written"};
  }
  return {};
}

} // namespace superstep
