#include "troupe/transport/secret.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a secret is its text without surrounding spaces, and has a key for each purpose") {
  const std::string text(32, 's');
  const Secret secret(text);
  CHECK(secret == Secret(" " + text + "\r\n"));
  CHECK_FALSE(secret == Secret(std::string(31, 's') + "t"));
  CHECK(secret.key_for("a") == Secret(text).key_for("a"));
  CHECK(secret.key_for("a") != secret.key_for("b"));
  CHECK_THROWS_WITH(Secret(std::string(31, 's') + "\n"),
                    Contains("[secret]") && Contains("31 characters is too short"));
}

TEST_CASE("random secrets differ") {
  const auto one = random_secret_text();
  CHECK(one.size() == 64);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != random_secret_text());
}

TEST_CASE("a text of another process is printed without control characters, and cut") {
  CHECK(printable("run 7\\") == "run 7\\");
  CHECK(printable("\x1b[2J\n\x7f\x9b") == "\\x1b[2J\\x0a\\x7f\\x9b");
  CHECK(printable(std::string(300, 'a')) == std::string(256, 'a') + "...");
}
