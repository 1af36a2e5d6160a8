#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "troupe/transport/job/job.hpp"
#include "troupe/transport/secret.hpp"

namespace troupe {

/// The variable with the text of a job's secret.
inline constexpr const char* kSecretVariable = "TROUPE_SECRET";
/// The command that makes a file with a secret, for error texts.
inline constexpr const char* kMakeSecret = "`(umask 077; openssl rand -hex 32 > job.secret)`";

/// Returns the secret in the file at `path`, or else in the variable TROUPE_SECRET; nothing if `path` is empty and the
/// variable is not set. Throws Error if the file cannot be read, may be read by other users, or is no secret.
std::optional<Secret> given_secret(const std::string& path, const Environment& environment = process_environment());

/// How the ranks of a job come to its secret. Either it is given to every process, or all ranks are on one machine:
/// rank 0 then makes a secret and leaves it in a private folder of the user, and the other ranks find it there.
class JobSecret {
 public:
  /// Makes the secret at rank 0 if `given` is empty and the job has several ranks. Throws Error if the private folder
  /// cannot be made, or belongs to another user.
  JobSecret(const Job& job, std::optional<Secret> given);
  /// At rank 0: removes the file of publish(), unless another job has replaced it.
  ~JobSecret();
  JobSecret(const JobSecret&) = delete;
  JobSecret& operator=(const JobSecret&) = delete;

  /// At rank 0: leaves a secret that was not given in the private folder, in place of one that an earlier job has left.
  /// Call it once this rank listens at the rendezvous, so that no job replaces the secret of another running one.
  /// Throws Error if the file cannot be written.
  void publish();
  /// Returns the secret. At another rank than 0: nothing if rank 0 has not left it yet. A secret that was found may be
  /// that of an earlier job, which rank 0 replaces.
  std::optional<Secret> find() const;
  /// For ranks other than 0: whether rank 0 has left `secret` since this object was made, and so has listened since
  /// then.
  bool is_new(const Secret& secret) const { return !path_.empty() && secret != earlier_; }
  /// Returns the path of the secret in the private folder; empty if the secret is given.
  std::string path() const { return path_.string(); }

 private:
  std::optional<Secret> secret_;
  std::filesystem::path path_;
  std::string text_;               // the text of the secret, if rank 0 has made it
  std::optional<Secret> earlier_;  // the result of find() when this object was made
};

}  // namespace troupe
