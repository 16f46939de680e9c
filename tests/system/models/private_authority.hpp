// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace superstep::test {

/// A private certificate authority and its certificate for 127.0.0.1, localhost and model.test,
/// created by openssl(1).
class private_authority {
public:
  private_authority()
      : folder_{std::filesystem::temp_directory_path() /
                ("superstep_ca_" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(folder_);
    const auto script =
        "cd '" + folder_.string() +
        "' && exec >/dev/null 2>&1 && "
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "
        "/CN=test-ca && "
        "openssl req -newkey rsa:2048 -nodes -keyout key.pem -out server.csr -subj /CN=localhost "
        "&& "
        "echo subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:model.test > ext && "
        "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem "
        "-days 2 -extfile ext";
    BOOST_REQUIRE(std::system(script.c_str()) == 0);
  }
  private_authority(const private_authority&) = delete;
  private_authority& operator=(const private_authority&) = delete;
  ~private_authority() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }

private:
  std::filesystem::path folder_;
};

} // namespace superstep::test
