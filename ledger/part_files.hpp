// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/file.hpp"
#include "ledger_db.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::detail {

/// The place of an output line in a part file, as the ledger stores it: `NAME OFFSET SIZE`.
struct part_place {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0; ///< without the newline
};
[[nodiscard]] std::string place_text(const part_place& place);
[[nodiscard]] std::optional<part_place> part_place_of(std::string_view text);

/// The files in which a worker stores output lines with `--parts`, one for each lease of a chunk:
/// part-<first row>-<fence>.jsonl. A file may contain lines that the ledger does not name, because
/// their commit was refused. Not synchronised.
class part_files {
public:
  /// @param job id of the job. The files of several jobs may be in one folder.
  part_files(std::string folder, std::string job)
      : folder_{std::move(folder)}, job_{std::move(job)} {}

  /// Appends a line to the file of a lease. Returns its place.
  [[nodiscard]] result<part_place> append(std::uint64_t first, std::uint32_t fence,
                                          std::string_view line);
  /// Syncs the files that have new lines. The places may be committed afterwards.
  [[nodiscard]] result<void> sync();

private:
  struct part {
    file opened;
    std::string name;
    std::uint64_t size = 0;
    bool is_new = true;
    bool is_changed = false;
  };

  std::string folder_;
  std::string job_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, part> parts_;
};

} // namespace superstep::detail
