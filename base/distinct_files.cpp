// SPDX-License-Identifier: Apache-2.0
// Detects paths that lead to the same file, before a program overwrites its own input.
#include <superstep/base/detail/distinct_files.hpp>

#include <filesystem>
#include <map>

#include <sys/stat.h>

namespace superstep {
namespace {

namespace fs = std::filesystem;

std::string identity_of(const struct stat& info) {
  return std::to_string(info.st_dev) + ':' + std::to_string(info.st_ino);
}

/// Follows the symbolic links at the end of a path to a file that does not exist yet. open(2) with
/// O_CREAT would create that file.
fs::path followed(fs::path path) {
  constexpr auto links_max = 40; // the limit of the Linux kernel
  for (auto i = 0; i < links_max; ++i) {
    auto failed = std::error_code{};
    const auto target = fs::read_symlink(path, failed);
    if (failed)
      break;
    path = path.parent_path() / target; // an absolute target replaces the whole path
  }
  return path;
}

/// Returns a key that is equal for all paths of one file; empty for devices, pipes and empty paths.
std::string identity_of(const std::string& path) {
  struct stat info {};
  if (path.empty())
    return {};
  if (::stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? identity_of(info) : std::string{};
  // The file does not exist yet. Its key consists of the folder's identity and the name that
  // open(2) would create.
  const auto file = followed(path);
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path{"."};
  if (::stat(folder.c_str(), &info) == 0)
    return identity_of(info) + '/' + file.filename().string();
  // The folder does not exist either, so only the path can be compared.
  auto failed = std::error_code{};
  const auto canonical = fs::weakly_canonical(file, failed);
  return failed ? file.string() : canonical.string();
}

} // namespace

result<void> check_distinct_files(std::span<const used_file> files) {
  using use = used_file::use;
  // Two reads of one file do not conflict. If the first use of a file is a read, the first write
  // conflicts with it. Thus it is enough to compare with the first use.
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
    return error{errc::invalid_argument, other.what + " and " + file.what + " are the same file (" +
                                             names +
                                             "), and it would be overwritten; name another file "
                                             "for one of them. Nothing was written"};
  }
  return {};
}

} // namespace superstep
